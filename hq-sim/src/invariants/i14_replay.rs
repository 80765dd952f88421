use hq_core::{Record, Rng};
use hq_scheduler::{Condenser, Salvager, Scheduler};

use super::{Invariant, Step, What};

/// I14: at the end of each step, a core that only ever replayed the records is in the state of the live one; so is one that
/// now and then replayed what the records were boiled down to. One that also left out what was over agrees on what was not.
#[derive(Debug, Default)]
pub struct Replay {
    shadow: Scheduler,
    condensed: Condenser,
    pruned: Condenser,
    records: Vec<Record>,
    changed: bool,
    steps: u64,
}

/// Steps between two condensations: not a round number, so that lives are cut at many places.
const DISTANCE: u64 = 23;

impl Replay {
    fn replay(&mut self, record: &Record) -> Result<(), String> {
        self.changed = true;
        self.records.push(record.clone());
        let failed = |what: &str, error: String| format!("a record cannot be replayed {what}: {error}: {record:?}");
        self.shadow.replay(record).map_err(|error| failed("from the beginning", error))?;
        self.condensed.take(record).map_err(|error| failed("on a snapshot", error))?;
        self.pruned.take(record).map_err(|error| failed("on a pruned journal", error))
    }

    fn compare(&self, core: &Scheduler, when: &str) -> Result<(), String> {
        if !self.shadow.same_state(core) {
            return Err(format!("a replay of the records gives another state {when}"));
        }
        if !self.condensed.agrees_with(core) {
            return Err(format!("a replay of a snapshot and what follows gives another state {when}"));
        }
        Ok(())
    }

    /// Whatever part of the records is lost, the rest makes sense.
    fn salvage(&self) -> Result<(), String> {
        let all = self.records.len();
        let mut rng = Rng::new(all as u64);
        for _ in 0..all.min(4) {
            let from = rng.below(all as u64) as usize;
            let lost = 1 + rng.below(20) as usize;
            let (mut salvager, mut condenser) = (Salvager::new(), Condenser::new());
            for (i, record) in self.records.iter().enumerate() {
                let failed = |error| format!("without records {from} to {}: {error}", from + lost);
                if i == from {
                    condenser.take(&salvager.lose(lost as u64)?).map_err(failed)?;
                }
                if !(from..from + lost).contains(&i)
                    && let Some(kept) = salvager.take(record.clone()).map_err(failed)?
                {
                    condenser.take(&kept).map_err(failed)?;
                }
            }
            let mut again = Condenser::new();
            let records = condenser.records();
            let taken = records.iter().try_for_each(|record| again.take(record));
            taken.map_err(|error| format!("a snapshot without records {from} to {}: {error}", from + lost))?;
        }
        Ok(())
    }

    fn condense(&mut self, core: &Scheduler) -> Result<(), String> {
        self.pruned.drop_past();
        for condenser in [&mut self.condensed, &mut self.pruned] {
            let records = condenser.records();
            let mut fresh = Condenser::new();
            for record in &records {
                fresh.take(record).map_err(|error| format!("a snapshot contradicts itself: {error}: {record:?}"))?;
            }
            *condenser = fresh;
        }
        let mut pruned = Scheduler::new();
        self.pruned.records().iter().try_for_each(|record| pruned.replay(record))?;
        for job in core.jobs().filter(|job| !job.is_completed()) {
            let kept = pruned.job(job.id).map(|kept| (kept.counts, kept.is_open));
            if kept != Some((job.counts, job.is_open)) {
                return Err(format!("job {} is {kept:?} in a pruned journal, and {:?} live", job.id, job.counts));
            }
        }
        Ok(())
    }
}

impl Invariant for Replay {
    fn name(&self) -> &'static str {
        "I14 replay"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step.what {
            What::Fact(record) => self.replay(record),
            What::Settled(core) => {
                // What changes without a record would be seen by the next step with one.
                if std::mem::take(&mut self.changed) {
                    self.compare(core, "")?;
                    self.steps += 1;
                    if self.steps.is_multiple_of(DISTANCE) {
                        self.condense(core)?;
                        self.compare(core, "at once")?;
                    }
                }
                Ok(())
            }
            What::Over(core) => {
                self.salvage()?;
                self.compare(core, "in the end")
            }
            What::Restarted(records) => {
                self.salvage()?;
                (self.shadow, self.condensed, self.pruned, self.records) = Default::default();
                records.iter().try_for_each(|record| self.replay(record))
            }
            _ => Ok(()),
        }
    }
}
