use std::{collections::BTreeMap, sync::Arc};

use hq_core::{Fact, IdList, JobId, JobTarget, Ordinal, OrdinalRange, Submit, TaskIds, TaskNumber, idlist::Run};

/// Jobs as the facts tell of them, one by one: which tasks belong to which, and when the last one ended.
///
/// The scheduler is ahead by the facts that are not drained yet; waits and events need the state at each fact.
#[derive(Clone, Debug, Default)]
pub(super) struct JobBook {
    /// By ordinal of the first task.
    submits: BTreeMap<u64, (JobId, Arc<Submit>)>,
    jobs: BTreeMap<JobId, Track>,
}

#[derive(Clone, Debug, Default)]
struct Track {
    is_open: bool,
    /// Tasks that have not ended.
    left: u64,
    /// First ordinals of its submits.
    bases: Vec<u64>,
    /// Its completion has been told.
    told: bool,
}

/// Tasks of a range that belong to one submit.
#[derive(Debug)]
pub(super) struct Piece<'a> {
    pub(super) job: JobId,
    submit: &'a Submit,
    /// Index of the first one in the submit.
    from: u64,
    pub(super) len: u64,
}

impl Piece<'_> {
    /// Their numbers.
    pub(super) fn numbers(&self) -> Vec<Run> {
        match &self.submit.ids {
            TaskIds::Given(ids) => ids.slice(self.from, self.len),
            TaskIds::Next(_) => vec![],
        }
    }
}

impl JobBook {
    /// Applies a fact. Jobs with no task left because of it, and those that were closed or forgotten without one, are
    /// put into `settled`.
    pub(super) fn apply(&mut self, fact: &Fact, settled: &mut Vec<JobId>) {
        match fact {
            Fact::JobOpened { job, .. } => {
                self.jobs.insert(*job, Track { is_open: true, ..Track::default() });
            }
            Fact::Submitted { job, base, submit } => self.add(*job, *base, submit, settled),
            Fact::JobClosed { job } => {
                if let Some(track) = self.jobs.get_mut(job) {
                    track.is_open = false;
                    if track.left == 0 {
                        settled.push(*job);
                    }
                }
            }
            Fact::JobForgotten { job } => {
                let track = self.jobs.remove(job).unwrap_or_default();
                for base in track.bases {
                    self.submits.remove(&base);
                }
                settled.push(*job);
            }
            Fact::TasksFinished { ends, .. } => self.end(&ends.tasks, settled),
            Fact::TaskFailed { task, .. } => self.end(&[OrdinalRange::one(*task)], settled),
            Fact::TasksCanceled { tasks } | Fact::TasksAborted { tasks } => self.end(tasks, settled),
            Fact::TasksRan { state, runs, .. } if state.is_end() => {
                let ranges: Vec<_> = runs.ranges().collect();
                self.end(&ranges, settled);
            }
            _ => {}
        }
    }

    fn add(&mut self, job: JobId, base: Ordinal, submit: &Arc<Submit>, settled: &mut Vec<JobId>) {
        let track = self.jobs.entry(job).or_default();
        if let JobTarget::New(_) = submit.job {
            track.is_open = false;
        }
        let count = submit.ids.count();
        if count > 0 {
            track.left = track.left.saturating_add(count);
            track.bases.push(base.0);
            self.submits.insert(base.0, (job, Arc::clone(submit)));
        } else if track.left == 0 {
            settled.push(job);
        }
    }

    fn end(&mut self, tasks: &[OrdinalRange], settled: &mut Vec<JobId>) {
        for range in tasks {
            let mut rest = *range;
            while let Some(piece) = self.piece(&mut rest) {
                let (job, len) = (piece.job, piece.len);
                let Some(track) = self.jobs.get_mut(&job) else { continue };
                let before = track.left;
                track.left = before.saturating_sub(len);
                if before > 0 && track.left == 0 {
                    settled.push(job);
                }
            }
        }
    }

    /// The first part of `rest` that belongs to one submit, and takes it off; parts of forgotten jobs are left out.
    pub(super) fn piece(&self, rest: &mut OrdinalRange) -> Option<Piece<'_>> {
        while rest.len > 0 {
            let (start, end) = (rest.start.0, rest.end().0);
            let inside =
                self.submits.range(..=start).next_back().filter(|(base, (_, s))| start - *base < s.ids.count());
            let Some((base, (job, submit))) = inside else {
                let next = self.submits.range(start..end).next().map_or(end, |(base, _)| *base);
                *rest = OrdinalRange::new(Ordinal(next), end - next);
                continue;
            };
            let from = start - base;
            let len = (submit.ids.count() - from).min(end - start);
            *rest = OrdinalRange::new(Ordinal(start + len), end - start - len);
            return Some(Piece { job: *job, submit, from, len });
        }
        None
    }

    /// Numbers of `tasks` by job, in the order of their ordinals.
    pub(super) fn numbers(&self, tasks: &[OrdinalRange]) -> Vec<(JobId, IdList)> {
        let mut jobs: BTreeMap<JobId, Vec<Run>> = BTreeMap::new();
        for range in tasks {
            let mut rest = *range;
            while let Some(piece) = self.piece(&mut rest) {
                jobs.entry(piece.job).or_default().extend(piece.numbers());
            }
        }
        jobs.into_iter().map(|(job, runs)| (job, IdList::from(join(runs)))).collect()
    }

    /// Job and number of a task; `None` once its job is forgotten.
    pub(super) fn locate(&self, task: Ordinal) -> Option<(JobId, TaskNumber)> {
        let (base, (job, submit)) = self.submits.range(..=task.0).next_back()?;
        match &submit.ids {
            TaskIds::Given(ids) => ids.get(task.0 - base).map(|number| (*job, TaskNumber(number))),
            TaskIds::Next(_) => None,
        }
    }

    /// Whether no task of the job is left; and, if asked for, that no more can come. True for what does not exist.
    pub(super) fn has_ended(&self, job: JobId, until_closed: bool) -> bool {
        self.jobs.get(&job).is_none_or(|track| track.left == 0 && !(until_closed && track.is_open))
    }

    /// Whether the job is completed and that has not been asked before.
    pub(super) fn completes_now(&mut self, job: JobId) -> bool {
        match self.jobs.get_mut(&job) {
            Some(track) if track.left == 0 && !track.is_open => !std::mem::replace(&mut track.told, true),
            _ => false,
        }
    }
}

/// Consecutive runs of consecutive numbers as one.
pub(super) fn join(runs: impl IntoIterator<Item = Run>) -> Vec<Run> {
    let mut joined: Vec<Run> = Vec::new();
    for run in runs {
        match joined.last_mut() {
            Some(last) if follows(*last, run) => {
                last.count += run.count;
                last.step = 1;
            }
            _ => joined.push(run),
        }
    }
    joined
}

fn follows(last: Run, run: Run) -> bool {
    let dense = |run: Run| run.step == 1 || run.count == 1;
    dense(last)
        && dense(run)
        && last.start.checked_add(last.count) == Some(run.start)
        && last.count.checked_add(run.count).is_some()
}

#[cfg(test)]
mod tests {
    use hq_core::{Blob, End, Ends, Epoch, GrantId, JobSpec, Profile, Request, Tick};

    use super::*;

    fn submitted(job: u32, base: u64, ids: &str, is_new: bool) -> Fact {
        let target = if is_new { JobTarget::New(JobSpec::default()) } else { JobTarget::Attach(JobId(job)) };
        let ids = TaskIds::Given(IdList::parse(ids).unwrap());
        let profile = Profile::new(Request::cpus(1).unwrap());
        let submit = Submit::array(target, ids, "program", Blob::default(), profile);
        Fact::Submitted { job: JobId(job), base: Ordinal(base), submit: Arc::new(submit) }
    }

    fn finished(tasks: impl IntoIterator<Item = u64>) -> Fact {
        let ends = tasks.into_iter().map(|t| End { task: Ordinal(t), start: Tick(1), end: Tick(2) });
        Fact::TasksFinished { grant: GrantId { epoch: Epoch(1), n: 1 }, ends: Ends::new(ends) }
    }

    fn apply(book: &mut JobBook, fact: &Fact) -> Vec<u32> {
        let mut settled = vec![];
        book.apply(fact, &mut settled);
        settled.into_iter().map(|job| job.0).collect()
    }

    #[test]
    fn a_range_over_several_submits_falls_into_its_jobs() {
        let mut book = JobBook::default();
        apply(&mut book, &submitted(1, 0, "10-12", true));
        apply(&mut book, &submitted(2, 3, "5,3", true));
        apply(&mut book, &submitted(3, 5, "0-8:4", true));
        let numbers = book.numbers(&[OrdinalRange::new(Ordinal(1), 5)]);
        let shown: Vec<String> = numbers.iter().map(|(job, ids)| format!("{job}:{ids}")).collect();
        assert_eq!(shown, ["1:11-12", "2:5,3", "3:0"]);
        assert_eq!(book.locate(Ordinal(6)), Some((JobId(3), TaskNumber(4))));
        assert_eq!(book.locate(Ordinal(8)), None);
        assert_eq!(apply(&mut book, &finished(0..4)), [1]);
        assert_eq!(apply(&mut book, &finished([4, 5, 6, 7])), [2, 3]);
        apply(&mut book, &Fact::JobForgotten { job: JobId(2) });
        let without = book.numbers(&[OrdinalRange::new(Ordinal(0), 100)]);
        assert_eq!(without.iter().map(|(job, ids)| (job.0, ids.len())).collect::<Vec<_>>(), [(1, 3), (3, 3)]);
    }

    #[test]
    fn completion_is_told_once_and_only_of_closed_jobs() {
        let mut book = JobBook::default();
        apply(&mut book, &Fact::JobOpened { job: JobId(1), spec: JobSpec::default() });
        assert!(book.has_ended(JobId(1), false) && !book.has_ended(JobId(1), true));
        apply(&mut book, &submitted(1, 0, "0-1", false));
        assert!(!book.has_ended(JobId(1), false));
        assert_eq!(apply(&mut book, &finished(0..2)), [1]);
        assert!(!book.completes_now(JobId(1)), "it is open");
        assert_eq!(apply(&mut book, &Fact::JobClosed { job: JobId(1) }), [1]);
        assert!(book.completes_now(JobId(1)) && !book.completes_now(JobId(1)));
        assert!(book.has_ended(JobId(9), true), "what does not exist holds nobody up");
    }

    #[test]
    fn runs_are_joined_only_where_they_touch() {
        let run = |start, count, step| Run { start, count, step };
        let joined = join([run(0, 2, 1), run(2, 1, 7), run(3, 2, 2), run(9, 1, 1)]);
        assert_eq!(joined, [run(0, 3, 1), run(3, 2, 2), run(9, 1, 1)]);
        assert_eq!(join([run(u32::MAX, 1, 1), run(0, 1, 1)]).len(), 2);
    }
}
