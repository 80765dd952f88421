use std::collections::{BTreeMap, BTreeSet};

use hq_core::{
    Epoch, Fact, FailCause, FromWorker, GrantId, Instance, Ordinal, Outcome, Record, Report, RetryOn, RetryRule, Tick,
};

use super::{Invariant, Step, What};
use crate::model::{Model, ModelTask, each};

/// I31: a task is run again by a rule that is for how its run ended, and no more often than that allows; it is not granted
/// before its delay is over, which is as long as the rule says; none that has a retry left is told to have failed; and no run
/// begins twice. Counts and delays outlive a restart.
#[derive(Debug, Default)]
pub struct Retries {
    used: BTreeMap<(Ordinal, u8), u32>,
    /// How runs ended, as far as it was heard.
    heard: BTreeMap<(GrantId, Ordinal), FailCause>,
    begun: BTreeSet<(Epoch, Ordinal, Instance)>,
}

impl Invariant for Retries {
    fn name(&self) -> &'static str {
        "I31 retries"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step.what {
            What::Hears(FromWorker::Report(report), _) => self.hear(report),
            What::Hears(FromWorker::Resume(resume), _) => resume.reports.iter().for_each(|report| self.hear(report)),
            What::Fact(record) => {
                self.check(record, step.model)?;
                self.apply(record);
            }
            What::Restarted(records) => {
                self.used.clear();
                records.iter().for_each(|record| self.apply(record));
            }
            What::Started(_, order) => {
                let run = (order.run.grant.epoch, order.run.task, order.instance);
                if !self.begun.insert(run) {
                    return Err(format!("instance {} of task {} begins twice", order.instance, order.run.task));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Retries {
    fn hear(&mut self, report: &Report) {
        for lane in &report.lanes {
            for end in &lane.ended {
                let cause = match &end.outcome {
                    Outcome::Finished => continue,
                    Outcome::FailedOf(failure) => match failure.cause {
                        FailCause::Crash | FailCause::Preempted => FailCause::Other,
                        cause => cause,
                    },
                    Outcome::Failed(_) | Outcome::Killed => FailCause::Other,
                };
                self.heard.insert((lane.grant, end.task), cause);
            }
        }
    }

    fn apply(&mut self, record: &Record) {
        if let Fact::TaskRetried { task, rule, .. } = &record.fact {
            *self.used.entry((*task, *rule)).or_default() += 1;
        }
    }

    fn used(&self, task: Ordinal, rule: u8) -> u32 {
        self.used.get(&(task, rule)).copied().unwrap_or(0)
    }

    fn check(&self, record: &Record, model: &Model) -> Result<(), String> {
        match &record.fact {
            Fact::TaskRetried { grant, task: id, rule, until, .. } => {
                let Some(task) = model.tasks.get(id) else { return Err(format!("task {id} is retried and unknown")) };
                let known = rule_of(task, *rule).ok_or_else(|| format!("task {id} has no rule {rule}"))?;
                let used = self.used(*id, *rule);
                if !known.times.allows(used) {
                    return Err(format!("task {id} is retried by `{known}`, which was used {used} times"));
                }
                if let Some(grant) = grant {
                    let cause = self.heard.get(&(*grant, *id)).copied();
                    if cause.is_none_or(|cause| !known.on.is_for(cause)) {
                        return Err(format!("task {id} is retried by `{known}` after {cause:?}"));
                    }
                } else if !matches!(known.on, RetryOn::Crash | RetryOn::Preempted) {
                    return Err(format!("task {id} lost its worker and is retried by `{known}`"));
                }
                check_delay(*id, &known, used, record.at, *until)
            }
            Fact::RetriesDue { tasks } => {
                for id in each(tasks) {
                    let until = model.tasks.get(&id).and_then(|task| task.until);
                    if until.is_none_or(|until| until > record.at) {
                        return Err(format!("task {id} is due at {}, and was to wait until {until:?}", record.at.0));
                    }
                }
                Ok(())
            }
            Fact::GrantOpened { tasks, .. } | Fact::GrantExtended { tasks, .. } => {
                let waits = |id: &Ordinal| model.tasks.get(id).is_some_and(|task| task.until.is_some());
                match each(tasks).find(waits) {
                    Some(id) => Err(format!("task {id} is granted before its delay is over")),
                    None => Ok(()),
                }
            }
            Fact::TaskFailed { grant: Some(grant), task: id, .. } => {
                let cause = self.heard.get(&(*grant, *id)).copied().unwrap_or(FailCause::Other);
                let Some(task) = model.tasks.get(id) else { return Ok(()) };
                match RetryRule::find(&task.profile().retry, cause) {
                    Some((number, rule)) if rule.times.allows(self.used(*id, number)) => {
                        Err(format!("task {id} fails after {cause:?} with retries of `{rule}` left"))
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

fn rule_of(task: &ModelTask, number: u8) -> Option<RetryRule> {
    match number {
        RetryRule::BUILT_IN => Some(RetryRule::built_in()),
        number => task.profile().retry.get(usize::from(number)).cloned(),
    }
}

fn check_delay(id: Ordinal, rule: &RetryRule, used: u32, at: Tick, until: Tick) -> Result<(), String> {
    let whole = (0..used).fold(rule.backoff.first, |span, _| span.times(2));
    let whole = whole.min(rule.backoff.max.max(rule.backoff.first));
    let wait = until.since(at);
    if wait > whole || wait.0 < whole.0 - whole.0 / 4 {
        return Err(format!("task {id} waits for {wait}, by `{rule}` for the {used}. time before"));
    }
    Ok(())
}
