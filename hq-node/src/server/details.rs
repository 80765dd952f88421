//! Jobs with all they are made of, piece by piece: an answer is bounded in its bytes, and the work for it in the tasks that are
//! looked at.

use std::{collections::BTreeMap, sync::Arc};

use hq_core::{
    Delayed, DetailPage, DetailPart, DetailPlace, IdList, JobDetail, JobId, Ordinal, OrdinalRange, Submit, SubmitInfo,
    TaskDelay, TaskIds, TaskInfo, TaskNumber, TaskState, Tick, WorkerId, idlist::Run,
};
use hq_scheduler::{
    Scheduler,
    view::{JobView, TaskPiece},
};

use super::{book::join, render::job_info, wall::Wall};

/// Tasks, and runs of tasks, that are looked at for one answer.
const ENTRIES_MAX: usize = 1 << 16;
/// About as many bytes are in an answer. A larger submit comes alone.
pub(super) const BYTES_MAX: usize = 4 << 20;

/// What an answer is made of.
pub(super) struct Details<'a> {
    pub(super) scheduler: &'a Scheduler,
    pub(super) wall: &'a Wall,
    pub(super) server_uid: &'a str,
    pub(super) part: &'a DetailPart,
}

type Submits<'a> = [(Ordinal, &'a Arc<Submit>, Tick)];

impl Details<'_> {
    /// As much as there is room for of these jobs, which are in the order of their ids; `view` looks one up.
    pub(super) fn page<'a>(
        &self,
        jobs: impl Iterator<Item = JobId>,
        view: impl Fn(JobId) -> Option<JobView<'a>>,
    ) -> DetailPage {
        let from = self.part.from;
        let (mut room, mut entries) = (BYTES_MAX, ENTRIES_MAX);
        let mut page = DetailPage { jobs: vec![], next: None };
        for job in jobs.filter(|job| *job >= from.job) {
            let place = if job == from.job { from } else { DetailPlace { job, ..DetailPlace::default() } };
            if room == 0 || entries == 0 {
                page.next = Some(place);
                break;
            }
            let Some(view) = view(job) else { continue };
            let (detail, next) = self.piece(&view, place, &mut room, &mut entries);
            page.jobs.push(detail);
            if next.is_some() {
                page.next = next;
                break;
            }
        }
        page
    }

    fn piece(
        &self,
        view: &JobView<'_>,
        from: DetailPlace,
        room: &mut usize,
        entries: &mut usize,
    ) -> (JobDetail, Option<DetailPlace>) {
        let mut detail = JobDetail {
            info: job_info(view, self.wall),
            submits: vec![],
            tasks: vec![],
            rest: vec![],
            workers: vec![],
            server_uid: self.server_uid.to_owned(),
            delayed: self.scheduler.delayed(view.id).map(|(tasks, next)| Delayed { tasks, next: self.wall.of(next) }),
        };
        take(room, 128 + view.spec.name.len());
        let mut next = from;
        for (_, submit, at) in view.submits.iter().skip(from.submits as usize) {
            let weight = weight(submit, self.part.bodies);
            if weight > *room && !(detail.submits.is_empty() && *room > BYTES_MAX / 2) {
                return (detail, Some(next));
            }
            take(room, weight);
            detail.submits.push(SubmitInfo { submitted: self.wall.of(*at), submit: shown(submit, self.part.bodies) });
            next.submits = next.submits.saturating_add(1);
        }
        let rest = self.tasks(view, from.task.max(self.part.first), &mut detail, room, entries);
        (detail, rest.map(|task| DetailPlace { task, ..next }))
    }

    /// Adds tasks from number `from` on; says where they go on.
    fn tasks(
        &self,
        view: &JobView<'_>,
        from: TaskNumber,
        detail: &mut JobDetail,
        room: &mut usize,
        entries: &mut usize,
    ) -> Option<TaskNumber> {
        let (found, mut next) = self.look(&view.submits, from, *entries);
        *entries = entries.saturating_sub(found.len().max(1));
        let is_wanted = |state: TaskState| self.part.states.is_empty() || self.part.states.contains(&state);
        let mut rest: Vec<(TaskState, Run)> = Vec::new();
        for entry in found {
            if *room == 0 {
                next = Some(entry.number);
                break;
            }
            match entry.what {
                What::Recorded(task) => {
                    let info = task_info(self.scheduler, task, TaskNumber(entry.number), self.wall);
                    let info = info.filter(|info| is_wanted(info.state));
                    take(room, info.as_ref().map_or(0, |info| 32 + weight_of_texts(info)));
                    detail.tasks.extend(info);
                }
                What::Bare(state, run) if is_wanted(state) => {
                    take(room, 16);
                    rest.push((state, run));
                }
                What::Bare(..) => {}
            }
        }
        let end = next.map_or(u32::MAX, |next| next.saturating_sub(1));
        for state in [TaskState::Waiting, TaskState::Canceled, TaskState::Aborted] {
            let runs = rest.iter().filter(|(other, _)| *other == state);
            let runs = join(runs.filter_map(|(_, run)| run.within(from.0, end)));
            if !runs.is_empty() {
                detail.rest.push((state, IdList::from(runs)));
            }
        }
        let ids = detail.tasks.iter().flat_map(|task| task.workers.iter().copied());
        let name = |id: WorkerId| self.scheduler.worker(id).map(|worker| (id, worker.config.hostname.clone()));
        let workers: BTreeMap<WorkerId, String> = unique(ids).filter_map(name).collect();
        detail.workers = workers.into_iter().collect();
        next.map(TaskNumber)
    }

    /// At most `max` entries by number, and the number from which there are more.
    fn look(&self, submits: &Submits<'_>, from: TaskNumber, max: usize) -> (Vec<Entry>, Option<u32>) {
        let mut lots: Vec<Lot> = submits.iter().flat_map(|(base, submit, _)| lots(*base, submit)).collect();
        lots.retain_mut(|lot| lot.cut(from.0, self.part.last.0));
        lots.sort_by_key(|lot| lot.run.start);
        // The smallest numbers win, and what is larger than enough of them is not looked at.
        let (mut found, mut bound) = (Vec::new(), None::<u32>);
        for lot in lots {
            if bound.is_some_and(|bound| lot.run.start > bound) {
                break;
            }
            let pieces = self.scheduler.task_pieces(lot.base, lot.range()).map(|piece| lot.entry(piece));
            let small = pieces.take_while(|entry| bound.is_none_or(|bound| entry.number <= bound));
            found.extend(small.take(max + 1));
            if found.len() > 2 * max {
                found.select_nth_unstable_by_key(max, |entry: &Entry| entry.number);
                found.truncate(max + 1);
                bound = found.last().map(|entry| entry.number);
            }
        }
        found.sort_by_key(|entry| entry.number);
        let next = found.get(max).map(|entry| entry.number);
        found.truncate(max);
        (found, next)
    }
}

fn take(room: &mut usize, bytes: usize) {
    *room = room.saturating_sub(bytes);
}

/// A task with a record, or a run of tasks without, and its first number.
#[derive(Clone, Copy, Debug)]
struct Entry {
    number: u32,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Recorded(Ordinal),
    Bare(TaskState, Run),
}

/// Tasks of a submit whose numbers are one run.
#[derive(Clone, Copy, Debug)]
struct Lot {
    base: Ordinal,
    run: Run,
    first: Ordinal,
}

impl Lot {
    /// Leaves the numbers from `first` to `last`; says whether there are any.
    fn cut(&mut self, first: u32, last: u32) -> bool {
        let Some(run) = self.run.within(first, last) else { return false };
        let skipped = u64::from(run.start - self.run.start) / u64::from(self.run.step.max(1));
        *self = Self { run, first: self.first.plus(skipped), ..*self };
        true
    }

    fn range(&self) -> OrdinalRange {
        OrdinalRange::new(self.first, self.run.count.into())
    }

    fn entry(&self, piece: TaskPiece) -> Entry {
        let number = |task: Ordinal| self.run.start + (task.0 - self.first.0) as u32 * self.run.step;
        match piece {
            TaskPiece::Recorded(task) => Entry { number: number(task), what: What::Recorded(task) },
            TaskPiece::Bare(state, range) => {
                let run = Run { start: number(range.start), count: range.len as u32, step: self.run.step };
                Entry { number: run.start, what: What::Bare(state, run) }
            }
        }
    }
}

fn lots(base: Ordinal, submit: &Submit) -> impl Iterator<Item = Lot> {
    let runs = match &submit.ids {
        TaskIds::Given(ids) => ids.runs(),
        TaskIds::Next(_) => &[],
    };
    let mut first = base;
    runs.iter().map(move |run| {
        let lot = Lot { base, run: *run, first };
        first = first.plus(run.count.into());
        lot
    })
}

fn unique(ids: impl Iterator<Item = WorkerId>) -> impl Iterator<Item = WorkerId> {
    ids.collect::<std::collections::BTreeSet<_>>().into_iter()
}

fn task_info(scheduler: &Scheduler, task: Ordinal, number: TaskNumber, wall: &Wall) -> Option<TaskInfo> {
    let view = scheduler.task(task)?;
    Some(TaskInfo {
        number,
        state: view.state,
        instance: view.instance,
        variant: view.variant,
        started: view.started.map(|at| wall.of(at)),
        ended: view.ended.map(|at| wall.of(at)),
        error: view.error.map(str::to_owned),
        delay: view.delay.map(|delay| TaskDelay {
            until: wall.of(delay.until),
            retries: delay.retries,
            error: delay.error.to_owned(),
        }),
        workers: view.workers,
    })
}

fn weight_of_texts(info: &TaskInfo) -> usize {
    let delay = info.delay.as_ref().map_or(0, |delay| 16 + delay.error.len());
    info.error.as_ref().map_or(0, String::len) + delay
}

/// About as many bytes are in a submit that is shown.
fn weight(submit: &Submit, bodies: bool) -> usize {
    let bodies = if bodies { submit.parts.weight() } else { submit.parts.get(0).len() };
    submit.weight() - submit.parts.weight() + bodies
}

fn shown(submit: &Arc<Submit>, bodies: bool) -> Arc<Submit> {
    if bodies || submit.parts.len() < 2 {
        return Arc::clone(submit);
    }
    // Field by field, as the parts are what must not be copied; the first tells what the tasks are like.
    let Submit { job, ids, kind, shared, parts: _, profiles, profile_of, deps, owner, after } = &**submit;
    Arc::new(Submit {
        job: job.clone(),
        ids: ids.clone(),
        kind: kind.clone(),
        shared: shared.clone(),
        parts: submit.parts.slice(0, 1),
        profiles: profiles.clone(),
        profile_of: profile_of.clone(),
        deps: deps.clone(),
        owner: owner.clone(),
        after: after.clone(),
    })
}

#[cfg(test)]
mod tests {
    use hq_core::{Blob, JobTarget, Parts, Profile, Request};

    use super::*;

    fn submit(ids: &str) -> Arc<Submit> {
        let profile = Profile::new(Request::cpus(1).unwrap());
        let ids = TaskIds::Given(IdList::parse(ids).unwrap());
        Arc::new(Submit::array(JobTarget::Attach(JobId(1)), ids, "program", Blob::default(), profile))
    }

    #[test]
    fn bodies_are_left_out_unless_asked_for() {
        let mut with = (*submit("0-1")).clone();
        with.parts = Parts::new(["a", "b"]).unwrap();
        let with = Arc::new(with);
        assert_eq!(shown(&with, false).parts, Parts::new(["a"]).unwrap());
        assert_eq!(shown(&with, true), with);
        assert_eq!(weight(&with, true) - weight(&with, false), with.parts.weight() - 1);
    }

    #[test]
    fn lots_are_cut_by_number() {
        let submit = submit("10-30:5,3");
        let mut all: Vec<Lot> = lots(Ordinal(100), &submit).collect();
        all.retain_mut(|lot| lot.cut(12, 25));
        let [lot] = all[..] else { panic!("{all:?}") };
        assert_eq!((lot.run, lot.range()), (Run { start: 15, count: 3, step: 5 }, OrdinalRange::new(Ordinal(101), 3)));
        let bare = TaskPiece::Bare(TaskState::Waiting, OrdinalRange::new(Ordinal(102), 2));
        assert_eq!(lot.entry(bare).number, 20);
    }
}
