use hq_core::Record;
use hq_scheduler::Scheduler;

use super::{Invariant, Step, What};

/// I14: at the end of each step, a core that only ever replayed the records is in the state of the live one.
#[derive(Debug, Default)]
pub struct Replay {
    shadow: Scheduler,
    changed: bool,
}

impl Replay {
    fn replay(&mut self, record: &Record) -> Result<(), String> {
        self.changed = true;
        self.shadow.replay(record).map_err(|error| format!("a record cannot be replayed: {error}: {record:?}"))
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
                if std::mem::take(&mut self.changed) && !self.shadow.same_state(core) {
                    return Err("a replay of the records gives another state".to_owned());
                }
                Ok(())
            }
            What::Over(core) if !self.shadow.same_state(core) => {
                Err("a replay of the records gives another state in the end".to_owned())
            }
            What::Restarted(records) => {
                self.shadow = Scheduler::new();
                records.iter().try_for_each(|record| self.replay(record))
            }
            _ => Ok(()),
        }
    }
}
