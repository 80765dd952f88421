use hq_core::{Fact, GrantId};

use super::{Freshness, Invariant, Step, What};
use crate::hostile::is_whim;

/// I5: what comes over a link that is gone, or from a worker that was given up, causes no fact; no fact of a run names a grant
/// of an earlier boot, but for those whose worker came back with them.
#[derive(Debug, Default)]
pub struct StaleMessages {
    hears_old: bool,
}

impl Invariant for StaleMessages {
    fn name(&self) -> &'static str {
        "I5 stale messages"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step.what {
            What::Hears(_, freshness) => self.hears_old = freshness == Freshness::Old,
            What::Settled(_) | What::Restarted(_) => self.hears_old = false,
            What::Fact(record) => {
                if self.hears_old && !is_whim(step.model, &record.fact) {
                    return Err(format!("a message from the past caused {:?}", record.fact));
                }
                if let Some(grant) = grant_of(&record.fact).filter(|grant| grant.epoch != step.model.epoch)
                    && !step.model.adopted.contains(&grant)
                {
                    return Err(format!("in boot {} something happens in grant {grant}", step.model.epoch));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

const fn grant_of(fact: &Fact) -> Option<GrantId> {
    match fact {
        Fact::GrantOpened { grant, .. }
        | Fact::GrantExtended { grant, .. }
        | Fact::GrantReturned { grant, .. }
        | Fact::GrantClosed { grant }
        | Fact::TaskStarted { grant, .. }
        | Fact::TasksFinished { grant, .. }
        | Fact::TaskKilled { grant, .. } => Some(*grant),
        Fact::TaskFailed { grant, .. } | Fact::TaskRetried { grant, .. } => *grant,
        _ => None,
    }
}
