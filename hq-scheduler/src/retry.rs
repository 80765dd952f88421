//! What becomes of a task after a run that did not end well. Decided here once, and told by a fact: no replay decides again.

use hq_core::{
    CrashLimit, Fact, FailCause, GrantId, LossReason, Ordinal, Outcome, RetryRule, RetryTimes, Rng, TaskState, Tick,
};

use crate::{
    Scheduler,
    state::{Bereft, Effects},
};

/// What the rules of a task say.
enum Verdict {
    /// No rule is for this end.
    NoRule,
    /// It is run again, by the rule of that number.
    Again { rule: u8, until: Tick },
    /// It is not run again; why not, where that is not plain.
    Final(Option<String>),
}

impl Scheduler {
    /// The fact that follows from a run of a lane that did not end well.
    pub(crate) fn after_failure(
        &self,
        now: Tick,
        grant: GrantId,
        task: Ordinal,
        start: Tick,
        outcome: &Outcome,
    ) -> Fact {
        let (cause, error) = match outcome {
            // Of its own end a worker knows nothing.
            Outcome::FailedOf(failure) => match failure.cause {
                FailCause::Crash | FailCause::Preempted => (FailCause::Other, failure.error.clone()),
                cause => (cause, failure.error.clone()),
            },
            Outcome::Failed(error) => (FailCause::Other, error.clone()),
            Outcome::Killed | Outcome::Finished => (FailCause::Other, "The task was killed by its worker.".to_owned()),
        };
        let (grant, start) = (Some(grant), Some(start));
        match self.judge(now, task, cause) {
            Verdict::Again { rule, until } => Fact::TaskRetried { grant, task, start, rule, until, error },
            Verdict::Final(why) => Fact::TaskFailed { grant, task, start, error: with_reason(error, why) },
            Verdict::NoRule => Fact::TaskFailed { grant, task, start, error },
        }
    }

    /// What follows for a task from the loss of the worker that ran it: it waits already.
    pub(crate) fn check_loss(&mut self, now: Tick, bereft: Bereft, fx: &mut Effects) {
        let Bereft { task, reason, is_known } = bereft;
        if self.state.task_state(task) != Some(TaskState::Waiting) {
            return;
        }
        if let Some(error) = self.quarantine(task) {
            return self.emit(now, Fact::TaskFailed { grant: None, task, start: None, error }, fx);
        }
        let (cause, error) = match reason {
            // That is nobody's fault, and how often it happens says nothing of the task.
            LossReason::ServerEnded => return,
            reason if reason.is_crash() => (FailCause::Crash, "The task was running on a worker that was lost."),
            // Nothing was taken from what has not begun; a worker that leaves tells before what has.
            _ if !is_known => return,
            _ => (FailCause::Preempted, "The task was running on a worker that was stopped or taken away."),
        };
        let error = error.to_owned();
        let fact = match self.judge(now, task, cause) {
            Verdict::NoRule => return,
            Verdict::Again { rule, until } => Fact::TaskRetried { grant: None, task, start: None, rule, until, error },
            Verdict::Final(why) => Fact::TaskFailed { grant: None, task, start: None, error: with_reason(error, why) },
        };
        self.emit(now, fact, fx);
    }

    /// Why a task whose worker was lost must not be run again, whatever its rules.
    fn quarantine(&self, task: Ordinal) -> Option<String> {
        let (base, submit) = self.state.submit_of(task)?;
        let known = self.state.records.crashes(task);
        let crashes = known.map_or(0, |known| known.count);
        match submit.submit.profile(task.0 - base.0).crash_limit {
            CrashLimit::NeverRestart => Some(
                "The task was running on a worker that was lost, and it must not be restarted (never-restart)."
                    .to_owned(),
            ),
            CrashLimit::Limit(limit) if crashes >= limit => {
                let mut error = format!(
                    "The task was running on a lost worker {crashes} times, which is its crash limit ({limit})."
                );
                let lost = known.map(|known| &known.lost[..]).unwrap_or_default();
                if lost.len() > 1 {
                    let workers: Vec<String> = lost.iter().map(ToString::to_string).collect();
                    let more = if usize::from(crashes) > lost.len() { ", …" } else { "" };
                    error += &format!(
                        " It is quarantined, as it may be what ends workers: those lost were {}{more}.",
                        workers.join(", ")
                    );
                }
                Some(error)
            }
            CrashLimit::Limit(_) | CrashLimit::Unlimited => None,
        }
    }

    fn judge(&self, now: Tick, task: Ordinal, cause: FailCause) -> Verdict {
        let Some((base, submit)) = self.state.submit_of(task) else { return Verdict::NoRule };
        let profile = submit.submit.profile(task.0 - base.0);
        let Some((number, rule)) = RetryRule::find(&profile.retry, cause) else { return Verdict::NoRule };
        let used = self.state.records.retries.used(task, number);
        if rule.times.allows(used) {
            let mut rng = self.chance(task, number, used);
            return Verdict::Again {
                rule: number,
                until: now.after(rule.backoff.wait(used.saturating_add(1), &mut rng)),
            };
        }
        let why = (rule.times != RetryTimes::Limit(0)).then(|| match number {
            RetryRule::BUILT_IN => format!("It was tried again {}, as often as it can be.", times(used)),
            _ => format!("It was retried {}, as often as its rule `{rule}` allows.", times(used)),
        });
        Verdict::Final(why)
    }

    /// Chance that is the same for the same server, task, rule and repetition.
    fn chance(&self, task: Ordinal, rule: u8, used: u32) -> Rng {
        let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let bytes = self.state.server_uid.bytes().chain(task.0.to_le_bytes()).chain([rule]);
        Rng::new(bytes.chain(used.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325, fnv))
    }

    /// Tasks whose delay is over wait for room like all others.
    pub(crate) fn end_delays(&mut self, now: Tick) {
        if self.state.records.retries.next().is_none_or(|next| next > now) {
            return;
        }
        let tasks = self.state.records.retries.due(now).iter().collect();
        let mut fx = Effects::default();
        self.emit(now, Fact::RetriesDue { tasks }, &mut fx);
        self.settle(now, fx);
    }
}

fn times(n: u32) -> String {
    if n == 1 { "once".to_owned() } else { format!("{n} times") }
}

fn with_reason(mut error: String, why: Option<String>) -> String {
    if let Some(why) = why {
        if !error.ends_with('\n') {
            error.push('\n');
        }
        error += &why;
    }
    error
}
