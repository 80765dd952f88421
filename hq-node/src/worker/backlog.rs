use std::{collections::VecDeque, mem, sync::Arc};

use hq_core::{Instance, Ordinal, OrdinalRange, Parts, RangeSet, Span, SubmitBody, TaskNumber, Work, WorkRun};

const NO_BODY: &str =
    "the server never sent the body of this task to its worker; please report this as a defect of the server";
const BAD_PARTS: &str =
    "the bodies sent with this task and its neighbours are damaged; please report this as a defect of the server";
const BAD_NUMBER: &str =
    "the number sent for this task is past the largest one; please report this as a defect of the server";

/// Runs of ordinals remembered beyond those that wait, to recognise doubled messages.
const REMEMBERED_RUNS_MAX: usize = 4096;

/// Tasks of a lane that have not started, in order. Memory and cost follow the number of runs, not of tasks.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// None of them is without pieces.
    batches: VecDeque<Batch>,
    /// What waits here or has started, so that no message can make a task start twice.
    given: RangeSet,
}

/// The next task to be run.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) number: TaskNumber,
    pub(super) instance: Instance,
    pub(super) body: Arc<SubmitBody>,
    pub(super) part: Vec<u8>,
    pub(super) time_limit: Option<Span>,
}

/// What is left of a [`Work`].
#[derive(Debug)]
struct Batch {
    /// Or why none of its tasks can be run.
    body: Result<Arc<SubmitBody>, &'static str>,
    time_limit: Option<Span>,
    parts: Parts,
    /// Sorted by ordinal.
    instances: Vec<(Ordinal, Instance)>,
    pieces: VecDeque<Piece>,
}

/// What is left of a [`WorkRun`], or a part of that.
#[derive(Clone, Copy, Debug)]
struct Piece {
    tasks: OrdinalRange,
    /// Of the first task. Wider than a task number, because the peer may send nonsense.
    number: u64,
    step: u32,
    /// Index of the first task's part in its batch.
    part: u64,
}

impl Piece {
    fn new(run: &WorkRun, part: u64) -> Self {
        Self {
            tasks: OrdinalRange::new(run.first, u64::from(run.numbers.count)),
            number: u64::from(run.numbers.start),
            step: run.numbers.step,
            part,
        }
    }

    /// The same for `tasks`, which lie inside.
    fn cut(self, tasks: OrdinalRange) -> Self {
        let skipped = tasks.start.0 - self.tasks.start.0;
        Self { tasks, number: self.number + skipped * u64::from(self.step), step: self.step, part: self.part + skipped }
    }

    fn after_first(self) -> Self {
        self.cut(OrdinalRange::new(Ordinal(self.tasks.start.0 + 1), self.tasks.len - 1))
    }
}

impl Batch {
    fn task(&self, piece: Piece) -> Result<Task, &'static str> {
        let body = self.body.clone()?;
        let number = u32::try_from(piece.number).map_err(|_| BAD_NUMBER)?;
        let instance = self
            .instances
            .binary_search_by_key(&piece.tasks.start, |(task, _)| *task)
            .map_or(Instance(0), |found| self.instances[found].1);
        Ok(Task {
            number: TaskNumber(number),
            instance,
            body,
            part: self.parts.get(piece.part).to_vec(),
            time_limit: self.time_limit,
        })
    }
}

impl Backlog {
    /// Appends the tasks of `work` that were not given before and have not been given back since.
    ///
    /// `body` is what `work.submit` names; `running` is the lane's task that runs now.
    pub(super) fn push(&mut self, work: Work, body: Option<Arc<SubmitBody>>, running: Option<Ordinal>) {
        let total: u64 = work.runs.iter().map(|run| u64::from(run.numbers.count)).sum();
        let parts_fit = work.parts.is_empty() || (work.parts.len() == total && work.parts.is_sound());
        let body = if parts_fit { body.ok_or(NO_BODY) } else { Err(BAD_PARTS) };
        let mut pieces = VecDeque::new();
        let mut part = 0;
        for run in &work.runs {
            let piece = Piece::new(run, part);
            part += piece.tasks.len;
            // Ordinals past the last one name nothing that a report could speak of.
            if piece.tasks.start.0.checked_add(piece.tasks.len).is_some() {
                self.push_new(piece, &mut pieces);
            }
        }
        if pieces.is_empty() {
            return;
        }
        let mut instances = work.instances;
        instances.sort_unstable();
        self.batches.push_back(Batch { body, time_limit: work.time_limit, parts: work.parts, instances, pieces });
        self.forget_ended(running);
    }

    fn push_new(&mut self, piece: Piece, pieces: &mut VecDeque<Piece>) {
        if piece.tasks.len == 0 {
            return;
        }
        let doubled = self.given.intersect(piece.tasks);
        if doubled.is_empty() {
            pieces.push_back(piece);
        } else {
            let mut fresh = RangeSet::from_iter([piece.tasks]);
            for range in doubled {
                fresh.remove(range);
            }
            pieces.extend(fresh.iter().map(|tasks| piece.cut(tasks)));
        }
        self.given.insert(piece.tasks);
    }

    /// Keeps `given` within a bound on lanes that live long and get scattered ordinals.
    fn forget_ended(&mut self, running: Option<Ordinal>) {
        if self.given.run_count() <= REMEMBERED_RUNS_MAX {
            return;
        }
        let waiting = || self.batches.iter().flat_map(|batch| &batch.pieces).map(|piece| piece.tasks);
        if self.given.run_count() > REMEMBERED_RUNS_MAX + 2 * waiting().count() {
            self.given = waiting().chain(running.map(OrdinalRange::one)).collect();
        }
    }

    /// Takes the first task out; an error says why it cannot be run.
    pub(super) fn pop(&mut self) -> Option<(Ordinal, Result<Task, &'static str>)> {
        let batch = self.batches.front_mut()?;
        let piece = batch.pieces.pop_front()?;
        let task = batch.task(piece);
        let rest = piece.after_first();
        if rest.tasks.len > 0 {
            batch.pieces.push_front(rest);
        } else if batch.pieces.is_empty() {
            self.batches.pop_front();
        }
        Some((piece.tasks.start, task))
    }

    /// Takes out those of `wanted` that are here, and says which they were.
    pub(super) fn recall(&mut self, wanted: &[OrdinalRange]) -> Vec<OrdinalRange> {
        let wanted: RangeSet = wanted.iter().copied().collect();
        let mut back = RangeSet::new();
        for batch in &mut self.batches {
            for piece in mem::take(&mut batch.pieces) {
                let mut kept = RangeSet::from_iter([piece.tasks]);
                for hit in wanted.intersect(piece.tasks) {
                    kept.remove(hit);
                    back.insert(hit);
                }
                batch.pieces.extend(kept.iter().map(|tasks| piece.cut(tasks)));
            }
        }
        self.batches.retain(|batch| !batch.pieces.is_empty());
        for range in back.iter() {
            self.given.remove(range);
        }
        back.iter().collect()
    }

    /// Keeps of what waits only what is in `tasks`. What has ended here may come again: the server may know nothing of it,
    /// and no message from before can be doubled any more.
    pub(super) fn keep(&mut self, tasks: &[OrdinalRange], running: Option<Ordinal>) {
        let mut rest: RangeSet = self.ranges().into_iter().collect();
        for range in tasks {
            rest.remove(*range);
        }
        let rest: Vec<OrdinalRange> = rest.iter().collect();
        self.recall(&rest);
        self.given = self.ranges().into_iter().chain(running.map(OrdinalRange::one)).collect();
    }

    /// What waits.
    pub(super) fn ranges(&self) -> Vec<OrdinalRange> {
        let pieces = self.batches.iter().flat_map(|batch| &batch.pieces);
        pieces.map(|piece| piece.tasks).collect::<RangeSet>().iter().collect()
    }

    /// Drops everything that waits.
    pub(super) fn clear(&mut self) {
        self.batches.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }
}
