use std::collections::BTreeMap;

use hq_core::{Fact, GrantId, JobTarget, PastRuns, Record, Submit, TaskIds, TaskState, Tick, WorkerId};

use crate::state::{Effects, State};

/// Keeps a past sound of which some records are lost: what means nothing without them is left out.
///
/// After the first loss workers and lanes are not followed any more; the ends of their tasks are kept, and all else that
/// users did with what is known.
#[derive(Debug, Default)]
pub struct Salvager {
    state: State,
    /// Worker and variant of each lane that was told of.
    lanes: BTreeMap<GrantId, (WorkerId, u8)>,
    has_lost: bool,
    last: Tick,
}

impl Salvager {
    /// Of nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// So many records are lost here; what is to be in their place.
    ///
    /// # Errors
    /// One line; it does not happen.
    pub fn lose(&mut self, count: u64) -> Result<Record, String> {
        self.has_lost = true;
        let record = Record { at: self.last, fact: Fact::RecordsLost { count } };
        self.apply(&record)?;
        Ok(record)
    }

    /// What is to be kept of the next record.
    ///
    /// # Errors
    /// One line, where it contradicts those before in a way that no loss explains.
    pub fn take(&mut self, record: Record) -> Result<Option<Record>, String> {
        self.last = self.last.max(record.at);
        match &record.fact {
            Fact::GrantOpened { grant, workers, variant, .. } => {
                self.lanes.insert(*grant, (workers.first().copied().unwrap_or_default(), *variant));
            }
            Fact::GrantsOpened(lanes) => {
                self.lanes.extend(lanes.iter().map(|lane| (lane.grant, (lane.worker, lane.variant))));
            }
            _ => {}
        }
        let Record { at, fact } = record;
        let fact = if self.has_lost { self.sound(fact) } else { Some(fact) };
        let Some(fact) = fact else { return Ok(None) };
        let record = Record { at, fact };
        self.apply(&record)?;
        Ok(Some(record))
    }

    fn apply(&mut self, record: &Record) -> Result<(), String> {
        self.state.apply(record, &mut Effects::default())
    }

    /// A fact that is true without what was lost.
    fn sound(&self, fact: Fact) -> Option<Fact> {
        match fact {
            Fact::TasksFinished { grant, ends } => {
                let (worker, variant) = self.lanes.get(&grant).copied().unwrap_or_default();
                let runs = PastRuns::new(ends.iter());
                Some(Fact::TasksRan { worker, variant, state: TaskState::Finished, runs })
            }
            Fact::TaskFailed { task, start, error, .. } => {
                let is_known = self.state.submit_of(task).is_some();
                is_known.then_some(Fact::TaskFailed { grant: None, task, start, error })
            }
            Fact::TaskRetried { task, start, rule, until, error, .. } => {
                let is_known = self.state.submit_of(task).is_some();
                is_known.then_some(Fact::TaskRetried { grant: None, task, start, rule, until, error })
            }
            Fact::Submitted { job, base, submit } => {
                let is_sound = base.0 >= self.state.next_ordinal && self.is_sound(job, &submit);
                is_sound.then_some(Fact::Submitted { job, base, submit })
            }
            Fact::JobClosed { job } | Fact::JobBound { job } | Fact::JobCanceled { job, .. }
                if !self.state.jobs.contains_key(&job) =>
            {
                None
            }
            Fact::WorkerJoined { .. }
            | Fact::WorkerLost { .. }
            | Fact::GrantOpened { .. }
            | Fact::GrantsOpened(_)
            | Fact::GrantExtended { .. }
            | Fact::GrantReturned { .. }
            | Fact::GrantClosed { .. }
            | Fact::TaskStarted { .. }
            | Fact::TaskKilled { .. }
            | Fact::SessionGiven { .. }
            | Fact::WorkerAway { .. }
            | Fact::WorkerReturned { .. }
            | Fact::WorkerOverview { .. } => None,
            other => Some(other),
        }
    }

    /// Whether the job is there, and all that its tasks wait for.
    fn is_sound(&self, job: hq_core::JobId, submit: &Submit) -> bool {
        if let JobTarget::New(_) = submit.job {
            return true;
        }
        let TaskIds::Given(ids) = &submit.ids else { return false };
        let known =
            |number: hq_core::TaskNumber| ids.index_of(number.0).is_some() || self.state.find(job, number).is_some();
        let deps = || (0..ids.len()).flat_map(|i| submit.deps.of(i));
        self.state.jobs.contains_key(&job) && (submit.deps.is_empty() || deps().all(|(on, _)| known(on)))
    }
}
