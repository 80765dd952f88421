use std::collections::{BTreeMap, VecDeque};

use hq_core::{Fact, JobId, JobTarget, Record, Seq, SubmitId, Tick, ToWorker};

/// Numbers the facts, gathers those of a step, and knows what is safe.
#[derive(Debug)]
pub(super) struct Ledger {
    /// Whether what is appended becomes safe only by word of the journal.
    journal: bool,
    /// The last number given.
    appended: Seq,
    /// The last number that has been handed to the shell.
    handed: Seq,
    /// Everything up to here is safe; without a journal not looked at.
    durable: Seq,
    /// Why nothing more can be made safe.
    failed: Option<String>,
    /// Facts since the last hand-over.
    step: Vec<Record>,
    /// Submits that are not safe yet: their tasks may not start.
    submits: BTreeMap<SubmitId, Seq>,
    /// Jobs whose beginning is not safe yet.
    jobs: BTreeMap<JobId, Seq>,
}

impl Ledger {
    /// Goes on after `last`, which is safe.
    pub(super) const fn new(journal: bool, last: Seq) -> Self {
        Self {
            journal,
            appended: last,
            handed: last,
            durable: last,
            failed: None,
            step: vec![],
            submits: BTreeMap::new(),
            jobs: BTreeMap::new(),
        }
    }

    /// The number that the next fact gets.
    pub(super) const fn next(&self) -> Seq {
        self.appended.next()
    }

    /// Adds a fact to the step.
    pub(super) fn record(&mut self, at: Tick, fact: Fact) {
        self.appended = self.appended.next();
        if self.journal {
            self.note_unsafe(&fact);
        }
        if self.failed.is_none() {
            self.step.push(Record { at, fact });
        }
    }

    fn note_unsafe(&mut self, fact: &Fact) {
        match fact {
            Fact::Submitted { job, base, submit } => {
                self.submits.insert(SubmitId(base.0), self.appended);
                if let JobTarget::New(_) = submit.job {
                    self.jobs.insert(*job, self.appended);
                }
            }
            Fact::JobOpened { job, .. } => _ = self.jobs.insert(*job, self.appended),
            _ => {}
        }
    }

    /// The step so far, to be appended as one; `None` where nothing happened. Nothing more after a failure.
    pub(super) fn take_step(&mut self) -> Option<(Seq, Vec<Record>)> {
        let records = std::mem::take(&mut self.step);
        let first = Seq(self.appended.0 + 1 - records.len() as u64);
        if records.is_empty() {
            return None;
        }
        self.handed = self.appended;
        Some((first, records))
    }

    /// Takes the journal's word; says whether more is safe now. What was never handed out cannot be safe, and what was
    /// refused at a failure stays refused.
    pub(super) fn confirm(&mut self, seq: Seq) -> bool {
        if !self.journal || self.failed.is_some() || seq <= self.durable || seq > self.handed {
            return false;
        }
        self.durable = seq;
        self.submits.retain(|_, at| *at > seq);
        self.jobs.retain(|_, at| *at > seq);
        true
    }

    /// Nothing more can be made safe; only the first reason counts.
    pub(super) fn fail(&mut self, reason: String) {
        self.failed.get_or_insert(reason);
        self.step.clear();
    }

    /// Why nothing more can be made safe.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// The first job that was refused since its beginning cannot be made safe any more; so were all after it.
    pub(super) fn first_refused(&self) -> Option<JobId> {
        self.failed.as_ref()?;
        self.jobs.keys().next().copied()
    }

    /// Whether a submit was refused since it cannot be made safe any more.
    pub(super) fn is_refused(&self, submit: SubmitId) -> bool {
        self.failed.is_some() && self.submits.contains_key(&submit)
    }

    /// Number of the last fact.
    pub(super) const fn appended(&self) -> Seq {
        self.appended
    }

    /// Everything up to here is safe.
    pub(super) const fn durable(&self) -> Seq {
        if self.journal { self.durable } else { self.appended }
    }

    /// Whether nothing waits for the journal.
    pub(super) fn is_settled(&self) -> bool {
        self.durable() == self.appended && self.step.is_empty()
    }

    /// What has to be safe before a worker may hear `message`: the submits whose tasks it brings. Zero: nothing.
    pub(super) fn barrier(&self, message: &ToWorker) -> Seq {
        if self.submits.is_empty() {
            return Seq(0);
        }
        let work = match message {
            ToWorker::Open(open) => &open.work,
            ToWorker::Extend { work, .. } => work,
            ToWorker::OpenLanes(lanes) => return self.submits.get(&lanes.submit).copied().unwrap_or_default(),
            _ => return Seq(0),
        };
        work.iter().filter_map(|work| self.submits.get(&work.submit)).max().copied().unwrap_or_default()
    }
}

/// Things in order, each of which waits until everything up to its number is safe. The order is kept.
#[derive(Debug)]
pub(super) struct Withheld<T>(VecDeque<(Seq, T)>);

impl<T> Default for Withheld<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Withheld<T> {
    /// Behind all others.
    pub(super) fn push(&mut self, after: Seq, item: T) {
        self.0.push_back((after, item));
    }

    /// The next one that need not wait any more.
    pub(super) fn pop(&mut self, durable: Seq) -> Option<T> {
        let ready = self.0.front().is_some_and(|(after, _)| *after <= durable);
        ready.then(|| self.0.pop_front())?.map(|(_, item)| item)
    }

    /// True where nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes out all, with what they wait for.
    pub(super) fn take_all(&mut self) -> VecDeque<(Seq, T)> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hq_core::{
        Blob, Epoch, GrantId, JobId, JobTarget, Ordinal, Parts, Profile, Request, Submit, TaskIds, WorkRun, idlist::Run,
    };

    use super::*;

    fn submitted(base: u64) -> Fact {
        let profile = Profile::new(Request::cpus(1).unwrap());
        let target = JobTarget::Attach(JobId(1));
        let submit = Submit::array(target, TaskIds::Next(1), "program", Blob::default(), profile);
        Fact::Submitted { job: JobId(1), base: Ordinal(base), submit: Arc::new(submit) }
    }

    fn extend(submit: u64) -> ToWorker {
        let run = WorkRun { first: Ordinal(submit), numbers: Run { start: 0, count: 1, step: 1 } };
        let work = hq_core::Work {
            submit: SubmitId(submit),
            time_limit: None,
            runs: vec![run],
            parts: Parts::default(),
            instances: vec![],
        };
        ToWorker::Extend { grant: GrantId { epoch: Epoch(1), n: 1 }, work: vec![work] }
    }

    #[test]
    fn steps_are_numbered_without_a_gap() {
        let mut ledger = Ledger::new(true, Seq(7));
        assert_eq!(ledger.take_step(), None);
        ledger.record(Tick(1), Fact::JobClosed { job: JobId(1) });
        ledger.record(Tick(1), Fact::JobClosed { job: JobId(2) });
        let (first, records) = ledger.take_step().unwrap();
        assert_eq!((first, records.len(), ledger.appended()), (Seq(8), 2, Seq(9)));
        ledger.record(Tick(2), Fact::JobClosed { job: JobId(3) });
        assert_eq!(ledger.take_step().unwrap().0, Seq(10));
    }

    #[test]
    fn only_what_was_handed_out_can_become_safe() {
        let mut ledger = Ledger::new(true, Seq(0));
        ledger.record(Tick(1), submitted(0));
        assert!(!ledger.confirm(Seq(1)), "not handed out yet");
        ledger.take_step();
        assert!(!ledger.confirm(Seq(2)), "never given");
        assert_eq!(ledger.durable(), Seq(0));
        assert!(ledger.confirm(Seq(1)));
        assert!(!ledger.confirm(Seq(1)), "stale");
        assert!(ledger.is_settled());
    }

    #[test]
    fn work_waits_for_its_submit_alone() {
        let mut ledger = Ledger::new(true, Seq(0));
        ledger.record(Tick(1), submitted(0));
        ledger.record(Tick(1), submitted(1));
        ledger.take_step();
        ledger.confirm(Seq(1));
        for (message, after) in [(extend(0), 0), (extend(1), 2), (extend(9), 0), (ToWorker::Heartbeat, 0)] {
            assert_eq!(ledger.barrier(&message), Seq(after), "{message:?}");
        }
        let mut without = Ledger::new(false, Seq(0));
        without.record(Tick(1), submitted(0));
        assert_eq!((without.barrier(&extend(0)), without.durable()), (Seq(0), Seq(1)));
    }

    #[test]
    fn a_failed_ledger_hands_out_nothing() {
        let mut ledger = Ledger::new(true, Seq(0));
        ledger.record(Tick(1), submitted(0));
        ledger.take_step();
        ledger.fail("disk full".to_owned());
        ledger.fail("later".to_owned());
        ledger.record(Tick(1), submitted(1));
        assert_eq!(ledger.take_step(), None);
        assert_eq!((ledger.failure(), ledger.is_settled()), (Some("disk full"), false));
        assert!(!ledger.confirm(Seq(1)), "too late");
    }

    #[test]
    fn what_is_withheld_keeps_its_order() {
        let mut withheld = Withheld::default();
        withheld.push(Seq(5), 'a');
        withheld.push(Seq(0), 'b');
        assert_eq!(withheld.pop(Seq(4)), None);
        assert_eq!((withheld.pop(Seq(5)), withheld.pop(Seq(5)), withheld.pop(Seq(5))), (Some('a'), Some('b'), None));
        assert!(withheld.is_empty());
    }
}
