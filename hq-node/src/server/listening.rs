use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hq_core::{JobId, TaskOutput, WorkerId};

use super::client_session::Waiting;

/// Chunks of a job that a worker may have on their way, until all who listen have taken them: what a server holds is
/// 128 KiB per worker and job that somebody listens to.
pub(super) const WINDOW: u32 = 8;

/// Who listens to what the programs of jobs print, and what is on its way to them.
///
/// Nothing is kept that all who listen have taken. Who takes nothing makes those who print wait: a worker gets room for
/// another chunk when one of its own has gone to all.
#[derive(Debug, Default)]
pub(super) struct Listening {
    jobs: BTreeMap<JobId, Heard>,
    /// Number of the latest session.
    sessions: u64,
    /// Jobs that there may be something to do for.
    news: BTreeSet<JobId>,
}

/// What is heard of a job.
#[derive(Debug, Default)]
struct Heard {
    /// Counts how often somebody began to listen, to any job, where nobody did: what was printed in an earlier one, or for
    /// its room, is nobody's.
    session: u64,
    ears: BTreeMap<Waiting, Ear>,
    /// Chunks that not all have taken, with who printed them.
    chunks: VecDeque<(WorkerId, TaskOutput)>,
    /// Number of the first of them.
    first: u64,
    /// How many of them are of each worker.
    of_worker: BTreeMap<WorkerId, u32>,
    /// What workers sent that nobody may hear: its room is free at once.
    unheard: BTreeMap<WorkerId, u32>,
    has_ended: bool,
}

/// Somebody who listens.
#[derive(Debug)]
struct Ear {
    /// Number of the chunk that it takes next.
    next: u64,
    /// Chunks that it may be sent.
    credit: u32,
}

/// What comes of a step.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Carried {
    /// To be told.
    pub(super) told: Vec<(Waiting, Vec<TaskOutput>)>,
    /// Those who have heard all there is; they listen no more.
    pub(super) over: Vec<Waiting>,
    /// Room that workers have again.
    pub(super) room: Vec<(WorkerId, JobId, u64, u32)>,
    /// Jobs that nobody listens to any more, with their last sessions.
    pub(super) quiet: Vec<(JobId, u64)>,
}

impl Listening {
    /// Somebody listens to a job from now on. For the first, the number of the session that begins: workers have to hear
    /// of it.
    pub(super) fn listen(&mut self, job: JobId, call: Waiting, credit: u32) -> Option<u64> {
        let heard = self.jobs.entry(job).or_default();
        let is_first = heard.ears.is_empty();
        if is_first {
            // Those who listened before may have left in this very step: nothing of theirs is left over.
            self.sessions += 1;
            *heard = Heard { session: self.sessions, has_ended: heard.has_ended, ..Heard::default() };
        }
        let next = heard.first + heard.chunks.len() as u64;
        heard.ears.insert(call, Ear { next, credit });
        self.news.insert(job);
        is_first.then_some(heard.session)
    }

    /// Somebody can take more.
    pub(super) fn credit(&mut self, job: JobId, call: Waiting, chunks: u32) {
        if let Some(ear) = self.jobs.get_mut(&job).and_then(|heard| heard.ears.get_mut(&call)) {
            ear.credit = ear.credit.saturating_add(chunks);
            self.news.insert(job);
        }
    }

    /// Somebody listens no more.
    pub(super) fn leave(&mut self, job: JobId, call: Waiting) {
        if let Some(heard) = self.jobs.get_mut(&job) {
            heard.ears.remove(&call);
            self.news.insert(job);
        }
    }

    /// A worker says what a program printed. What is more than it may send, of an earlier session, or nobody listens to,
    /// is dropped. None: what was printed is of no run of this worker; it takes no room.
    pub(super) fn printed(&mut self, job: JobId, worker: WorkerId, session: u64, output: Option<TaskOutput>) {
        let Some(heard) = self.jobs.get_mut(&job).filter(|heard| heard.session == session) else { return };
        self.news.insert(job);
        let Some(output) = output else {
            *heard.unheard.entry(worker).or_default() += 1;
            return;
        };
        let count = heard.of_worker.entry(worker).or_default();
        if *count < WINDOW {
            *count += 1;
            heard.chunks.push_back((worker, output));
        }
    }

    /// Nothing more will be printed.
    pub(super) fn ended(&mut self, job: JobId) {
        if let Some(heard) = self.jobs.get_mut(&job) {
            heard.has_ended = true;
            self.news.insert(job);
        }
    }

    /// How many chunks a worker may send of a job that has sent none that is not kept here.
    pub(super) fn room_of(&self, job: JobId, worker: WorkerId) -> u32 {
        let kept = self.jobs.get(&job).and_then(|heard| heard.of_worker.get(&worker)).copied().unwrap_or(0);
        WINDOW.saturating_sub(kept)
    }

    /// Jobs that somebody listens to, with their sessions.
    pub(super) fn jobs(&self) -> impl Iterator<Item = (JobId, u64)> {
        let heard = self.jobs.iter().filter(|(_, heard)| !heard.ears.is_empty());
        heard.map(|(job, heard)| (*job, heard.session))
    }

    /// Who listens.
    pub(super) fn calls(&self) -> impl Iterator<Item = Waiting> {
        self.jobs.values().flat_map(|heard| heard.ears.keys()).copied()
    }

    /// Hands out what can be.
    pub(super) fn carry(&mut self) -> Carried {
        let mut carried = Carried::default();
        for job in std::mem::take(&mut self.news) {
            let Some(heard) = self.jobs.get_mut(&job) else { continue };
            heard.tell(&mut carried.told);
            let (room, session) = (heard.forget(), heard.session);
            carried.room.extend(room.into_iter().map(|(worker, chunks)| (worker, job, session, chunks)));
            if heard.has_ended {
                let end = heard.first + heard.chunks.len() as u64;
                let through = heard.ears.extract_if(.., |_, ear| ear.next == end);
                carried.over.extend(through.map(|(call, _)| call));
            }
            if heard.ears.is_empty() {
                self.jobs.remove(&job);
                carried.quiet.push((job, session));
            }
        }
        carried
    }

    /// Whether nothing is kept for a link.
    #[cfg(test)]
    fn is_free_of(&self, link: hq_core::LinkId) -> bool {
        self.jobs.values().all(|heard| heard.ears.keys().all(|(of, _)| *of != link))
    }
}

impl Heard {
    fn tell(&mut self, told: &mut Vec<(Waiting, Vec<TaskOutput>)>) {
        let end = self.first + self.chunks.len() as u64;
        for (call, ear) in &mut self.ears {
            let count = (end - ear.next).min(u64::from(ear.credit));
            if count == 0 {
                continue;
            }
            let from = (ear.next - self.first) as usize;
            let outputs = self.chunks.range(from..from + count as usize).map(|(_, output)| output.clone()).collect();
            ear.next += count;
            ear.credit -= count as u32;
            told.push((*call, outputs));
        }
    }

    /// Drops what all have taken; says whose chunks that were.
    fn forget(&mut self) -> BTreeMap<WorkerId, u32> {
        let end = self.first + self.chunks.len() as u64;
        let needed = self.ears.values().map(|ear| ear.next).min().unwrap_or(end);
        let mut room = std::mem::take(&mut self.unheard);
        while self.first < needed
            && let Some((worker, _)) = self.chunks.pop_front()
        {
            self.first += 1;
            *room.entry(worker).or_default() += 1;
            if let Some(count) = self.of_worker.get_mut(&worker) {
                *count -= 1;
                if *count == 0 {
                    self.of_worker.remove(&worker);
                }
            }
        }
        room
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{Channel, Instance, LinkId, RequestId, TaskNumber};

    use super::*;

    const JOB: JobId = JobId(1);
    const ONE: Waiting = (LinkId(1), RequestId(7));
    const TWO: Waiting = (LinkId(2), RequestId(7));

    fn output(n: u64) -> TaskOutput {
        let (task, instance) = (TaskNumber(0), Instance(0));
        TaskOutput { task, instance, channel: Channel::Stdout, offset: n, data: b"x"[..].into() }
    }

    fn offsets(carried: &Carried) -> Vec<(u64, Vec<u64>)> {
        let told = carried.told.iter();
        told.map(|((link, _), outputs)| (link.0, outputs.iter().map(|output| output.offset).collect())).collect()
    }

    #[test]
    fn what_is_printed_goes_to_all_and_makes_room() {
        let mut listening = Listening::default();
        assert_eq!((listening.listen(JOB, ONE, 2), listening.listen(JOB, TWO, 5)), (Some(1), None));
        (0..4).for_each(|n| listening.printed(JOB, WorkerId(n % 2), 1, Some(output(n.into()))));
        let carried = listening.carry();
        assert_eq!(offsets(&carried), [(1, vec![0, 1]), (2, vec![0, 1, 2, 3])]);
        assert_eq!(carried.room, [(WorkerId(0), JOB, 1, 1), (WorkerId(1), JOB, 1, 1)], "not before the slowest has it");
        assert_eq!(listening.carry(), Carried::default());
        listening.credit(JOB, ONE, 9);
        let carried = listening.carry();
        assert_eq!(offsets(&carried), [(1, vec![2, 3])]);
        assert_eq!(carried.room, [(WorkerId(0), JOB, 1, 1), (WorkerId(1), JOB, 1, 1)]);
        // Who comes later hears what is printed later.
        let late = (LinkId(3), RequestId(1));
        listening.listen(JOB, late, 1);
        listening.printed(JOB, WorkerId(1), 1, Some(output(9)));
        assert_eq!(offsets(&listening.carry()), [(1, vec![9]), (2, vec![9]), (3, vec![9])]);
    }

    #[test]
    fn a_worker_that_sends_too_much_is_not_heard() {
        let mut listening = Listening::default();
        listening.listen(JOB, ONE, 0);
        (0..100).for_each(|n| listening.printed(JOB, WorkerId(1), 1, Some(output(n))));
        listening.printed(JOB, WorkerId(2), 1, Some(output(1000)));
        listening.printed(JobId(9), WorkerId(2), 1, Some(output(0)));
        listening.credit(JOB, ONE, u32::MAX);
        let expected: Vec<u64> = (0..u64::from(WINDOW)).chain([1000]).collect();
        let carried = listening.carry();
        assert_eq!(offsets(&carried), [(1, expected)]);
        assert_eq!(carried.room, [(WorkerId(1), JOB, 1, WINDOW), (WorkerId(2), JOB, 1, 1)]);
    }

    #[test]
    fn who_leaves_frees_what_it_held_up() {
        let mut listening = Listening::default();
        listening.listen(JOB, ONE, 0);
        listening.listen(JOB, TWO, 9);
        listening.printed(JOB, WorkerId(1), 1, Some(output(0)));
        assert_eq!(listening.carry().room, []);
        listening.leave(JOB, ONE);
        assert!(listening.is_free_of(ONE.0));
        assert_eq!(listening.carry().room, [(WorkerId(1), JOB, 1, 1)]);
        listening.printed(JOB, WorkerId(1), 1, Some(output(1)));
        listening.leave(JOB, TWO);
        let carried = listening.carry();
        assert_eq!((carried.quiet, carried.told, listening.jobs().count()), (vec![(JOB, 1)], vec![], 0));
        assert_eq!(listening.listen(JOB, TWO, 1), Some(2), "first again");
    }

    #[test]
    fn a_session_hears_nothing_of_those_before_and_keeps_its_window() {
        let mut listening = Listening::default();
        listening.listen(JOB, ONE, 0);
        (0..8).for_each(|n| listening.printed(JOB, WorkerId(1), 1, Some(output(n))));
        listening.leave(JOB, ONE);
        assert_eq!(listening.listen(JOB, TWO, 99), Some(2), "in one step with the end of the first");
        assert_eq!(listening.carry(), Carried::default());
        // What was on its way, and then the whole window.
        (8..16).for_each(|n| listening.printed(JOB, WorkerId(1), 1, Some(output(n))));
        (16..24).for_each(|n| listening.printed(JOB, WorkerId(1), 2, Some(output(n))));
        let carried = listening.carry();
        assert_eq!(offsets(&carried), [(2, (16..24).collect())]);
        assert_eq!(carried.room, [(WorkerId(1), JOB, 2, WINDOW)]);
        // What is no run of its worker takes no room.
        (0..20).for_each(|_| listening.printed(JOB, WorkerId(1), 2, None));
        listening.printed(JOB, WorkerId(1), 1, None);
        let carried = listening.carry();
        assert_eq!((offsets(&carried), carried.room), (vec![], vec![(WorkerId(1), JOB, 2, 20)]));
    }

    #[test]
    fn an_end_is_told_behind_all_that_was_printed() {
        let mut listening = Listening::default();
        listening.listen(JOB, ONE, 1);
        listening.listen(JOB, TWO, 9);
        (0..2).for_each(|n| listening.printed(JOB, WorkerId(1), 1, Some(output(n))));
        listening.ended(JOB);
        assert_eq!(listening.carry().over, [TWO]);
        assert_eq!(listening.carry().over, []);
        listening.credit(JOB, ONE, 1);
        let carried = listening.carry();
        assert_eq!((carried.over, carried.quiet), (vec![ONE], vec![(JOB, 1)]));
    }
}
