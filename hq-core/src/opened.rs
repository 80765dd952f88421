//! Lanes that are opened together: as columns, so that each costs a few bytes and no allocation of its own.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    Allocation, Fact, GrantId, Instance, Open, Ordinal, OrdinalRange, Parts, Record, Request, RunId, Span, SubmitId,
    ToWorker, Work, WorkRun, WorkerId,
};

/// Lanes of one class that were opened in one go, each with one task: what as many [`Fact::GrantOpened`] say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedLanes {
    /// Name of the first one; the others are numbered on from there.
    #[serde(rename = "g")]
    pub first: GrantId,
    /// Whose lane each is.
    #[serde(rename = "w")]
    pub workers: Vec<WorkerId>,
    /// What lanes got, each only once: the variant granted, and the exact indices.
    #[serde(rename = "a")]
    pub shapes: Vec<(u8, Arc<Allocation>)>,
    /// Of each lane, which of these.
    #[serde(rename = "s")]
    pub shape_of: Vec<u32>,
    /// The tasks in order, one for each lane.
    #[serde(rename = "t")]
    pub tasks: Vec<OrdinalRange>,
}

/// One of these lanes.
#[derive(Clone, Copy, Debug)]
pub struct OpenedLane<'a> {
    /// Its name.
    pub grant: GrantId,
    /// Whose it is.
    pub worker: WorkerId,
    /// The variant granted.
    pub variant: u8,
    /// The exact indices.
    pub allocation: &'a Arc<Allocation>,
    /// Its first task.
    pub task: Ordinal,
}

impl OpenedLanes {
    /// Whether the columns are of one length, and no name is beyond the last one.
    pub fn is_sound(&self) -> bool {
        let lanes = self.workers.len();
        let tasks = self.tasks.iter().try_fold(0u64, |sum, range| sum.checked_add(range.len));
        let has_names = u32::try_from(lanes).is_ok_and(|n| n > 0 && self.first.n.checked_add(n - 1).is_some());
        let has_shapes = self.shape_of.iter().all(|shape| (*shape as usize) < self.shapes.len());
        has_names && has_shapes && self.shape_of.len() == lanes && tasks == Some(lanes as u64)
    }

    /// Which lanes each worker has, by their place among all: in order of workers, then of lanes.
    pub fn by_worker(&self) -> Vec<(WorkerId, usize)> {
        WorkerId::sorted(&self.workers)
    }

    /// The lanes in order; stops early where the columns are not [sound](Self::is_sound).
    pub fn iter(&self) -> impl Iterator<Item = OpenedLane<'_>> {
        let tasks = self.tasks.iter().flat_map(|range| range.iter());
        let names = self.first.n..=u32::MAX;
        names.zip(&self.workers).zip(&self.shape_of).zip(tasks).map_while(|(((n, worker), shape), task)| {
            let (variant, allocation) = self.shapes.get(*shape as usize)?;
            let grant = GrantId { n, ..self.first };
            Some(OpenedLane { grant, worker: *worker, variant: *variant, allocation, task })
        })
    }
}

impl WorkerId {
    /// Workers in order, each with its places among `workers`, in order too.
    pub fn sorted(workers: &[Self]) -> Vec<(Self, usize)> {
        let places = || workers.iter().copied().zip(0..);
        let first = workers.iter().map(|worker| worker.0).min().unwrap_or(0);
        let span = workers.iter().map(|worker| worker.0 - first).max().unwrap_or(0) as usize + 1;
        if span > 2 * workers.len() {
            let mut sorted: Vec<(Self, usize)> = places().collect();
            sorted.sort_unstable();
            return sorted;
        }
        // Nearly always ids lie close together: where each worker begins is counted.
        let mut next = vec![0; span + 1];
        workers.iter().for_each(|worker| next[(worker.0 - first) as usize + 1] += 1);
        (1..=span).for_each(|at| next[at] += next[at - 1]);
        let mut sorted = vec![(Self(0), 0); workers.len()];
        for (worker, place) in places() {
            let at = &mut next[(worker.0 - first) as usize];
            sorted[*at] = (worker, place);
            *at += 1;
        }
        sorted
    }
}

impl Fact {
    /// The same, lane by lane: for who wants to look at one at a time.
    pub fn singly(self) -> impl Iterator<Item = Self> {
        let (lanes, other) = match self {
            Self::GrantsOpened(lanes) => (Some(lanes), None),
            other => (None, Some(other)),
        };
        let single = |lane: OpenedLane<'_>| Self::GrantOpened {
            grant: lane.grant,
            workers: vec![lane.worker],
            class: None,
            variant: lane.variant,
            allocation: Arc::clone(lane.allocation),
            tasks: vec![OrdinalRange::one(lane.task)],
        };
        let singles = lanes.map(|lanes| lanes.iter().map(single).collect::<Vec<_>>());
        singles.into_iter().flatten().chain(other)
    }
}

impl Record {
    /// The same, lane by lane.
    pub fn singly(&self) -> impl Iterator<Item = Self> {
        let at = self.at;
        self.fact.clone().singly().map(move |fact| Self { at, fact })
    }
}

/// New lanes of one class and variant on one worker, each with one task of the same submit, which has no part of its own of
/// the body: what as many [`Open`]s say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenLanes {
    /// The request that is granted.
    pub request: Arc<Request>,
    /// Which of the class's variants it is.
    pub variant: u8,
    /// How many variants the class has.
    pub variants: u8,
    /// No task may start later than that after receipt, less a margin.
    pub not_after: Option<Span>,
    /// Whose body the tasks have.
    pub submit: SubmitId,
    /// A task is killed after running that long.
    pub time_limit: Option<Span>,
    /// Instances of those tasks that are not run for the first time.
    pub instances: Vec<(Ordinal, Instance)>,
    /// The lanes.
    pub lanes: Vec<OpenLane>,
}

/// One of these lanes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenLane {
    /// Its name.
    pub grant: GrantId,
    /// The indices its tasks use.
    pub allocation: Arc<Allocation>,
    /// Its task, and its number.
    pub run: WorkRun,
}

impl OpenLanes {
    /// The same, lane by lane.
    pub fn singly(self) -> impl Iterator<Item = Open> {
        let Self { request, variant, variants, not_after, submit, time_limit, instances, lanes } = self;
        lanes.into_iter().map(move |OpenLane { grant, allocation, run }| {
            let instances = instances.iter().filter(|(task, _)| *task == run.first).copied().collect();
            let work = Work { submit, time_limit, runs: vec![run], parts: Parts::default(), instances };
            let request = Arc::clone(&request);
            Open { grant, request, variant, variants, allocation, hosts: vec![], work: vec![work], not_after }
        })
    }
}

impl ToWorker {
    /// The same, lane by lane.
    pub fn singly(self) -> impl Iterator<Item = Self> {
        let (lanes, runs, other) = match self {
            Self::OpenLanes(lanes) => (Some(lanes), vec![], None),
            Self::KillAll { runs } => (None, runs, None),
            other => (None, vec![], Some(other)),
        };
        let opens = lanes.into_iter().flat_map(|lanes| lanes.singly()).map(|open| Self::Open(Box::new(open)));
        let kills = runs.into_iter().map(|RunId { task, grant }| Self::Kill { grant, task });
        opens.chain(kills).chain(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Epoch;

    fn lanes() -> OpenedLanes {
        OpenedLanes {
            first: GrantId { epoch: Epoch(2), n: 7 },
            workers: vec![WorkerId(1), WorkerId(2), WorkerId(1)],
            shapes: vec![(0, Arc::default()), (1, Arc::default())],
            shape_of: vec![0, 1, 0],
            tasks: vec![OrdinalRange::new(Ordinal(10), 2), OrdinalRange::one(Ordinal(20))],
        }
    }

    #[test]
    fn workers_are_sorted_however_far_apart() {
        for workers in [vec![], vec![3], vec![5, 6, 5, 7, 6, 5], vec![9, u32::MAX, 0, 9, 0], vec![8, 7, 6]] {
            let workers: Vec<WorkerId> = workers.into_iter().map(WorkerId).collect();
            let mut expected: Vec<(WorkerId, usize)> = workers.iter().copied().zip(0..).collect();
            expected.sort_unstable();
            assert_eq!(WorkerId::sorted(&workers), expected);
        }
    }

    #[test]
    fn columns_are_lanes() {
        let rows: Vec<(u32, u32, u8, u64)> =
            lanes().iter().map(|lane| (lane.grant.n, lane.worker.0, lane.variant, lane.task.0)).collect();
        assert_eq!(rows, [(7, 1, 0, 10), (8, 2, 1, 11), (9, 1, 0, 20)]);
        assert!(lanes().is_sound());
        let singles: Vec<Fact> = Fact::GrantsOpened(Box::new(lanes())).singly().collect();
        let expected = Fact::GrantOpened {
            grant: GrantId { epoch: Epoch(2), n: 9 },
            workers: vec![WorkerId(1)],
            class: None,
            variant: 0,
            allocation: Arc::default(),
            tasks: vec![OrdinalRange::one(Ordinal(20))],
        };
        assert_eq!((singles.len(), &singles[2]), (3, &expected));
        assert_eq!(Fact::FlushWanted.singly().collect::<Vec<_>>(), [Fact::FlushWanted]);
    }

    #[test]
    fn damaged_columns_are_found_and_do_no_harm() {
        type Damage = (&'static str, fn(&mut OpenedLanes));
        let damage: [Damage; 6] = [
            ("no lane", |lanes| {
                *lanes = OpenedLanes { workers: vec![], shape_of: vec![], tasks: vec![], ..lanes.clone() }
            }),
            ("a shape too few", |lanes| _ = lanes.shape_of.pop()),
            ("a worker too few", |lanes| _ = lanes.workers.pop()),
            ("an unknown shape", |lanes| lanes.shape_of[1] = 2),
            ("tasks without end", |lanes| lanes.tasks[0].len = u64::MAX),
            ("no names left", |lanes| lanes.first.n = u32::MAX - 1),
        ];
        for (what, damage) in damage {
            let mut lanes = lanes();
            damage(&mut lanes);
            assert!(!lanes.is_sound(), "{what}");
            assert!(lanes.iter().count() <= 3, "{what}");
        }
    }
}
