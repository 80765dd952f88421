use hq_core::{Fact, FromWorker, LossReason, Record, Rng, ToWorker};

/// A fault that no sound engine has, put in between its parts: to show that the invariants find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// A lane is given to a second worker as well.
    DoubleAssignment,
    /// The answer to a recall is lost, and the link is not.
    LostRecallAnswer,
    /// The word to go on after a failure is lost.
    LostGoOn,
    /// Tasks count as given back, and their worker starts them all the same.
    StartAfterCancel,
    /// A restored server does not know which losses were crashes.
    ForgottenCrashes,
    /// What was safe is not there after a restart.
    LostAppend,
    /// Nobody waits for the disk.
    EarlyAnswers,
    /// A run that is to be stopped goes on for ever.
    DeafToStop,
    /// A lane that both sides agreed on is not kept by the worker that came back.
    LostAdoption,
    /// A run is begun twice.
    DoubleStart,
    /// A restored server does not know how often tasks were run again, nor how long they are to wait.
    ForgottenRetries,
}

impl Planted {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::DoubleAssignment,
        Self::LostRecallAnswer,
        Self::LostGoOn,
        Self::StartAfterCancel,
        Self::ForgottenCrashes,
        Self::LostAppend,
        Self::EarlyAnswers,
        Self::DeafToStop,
        Self::LostAdoption,
        Self::DoubleStart,
        Self::ForgottenRetries,
    ];

    /// What a new life of the server reads.
    pub(crate) fn history(self, mut record: Record) -> Record {
        if self == Self::ForgottenCrashes
            && let Fact::WorkerLost { reason, .. } = &mut record.fact
        {
            *reason = LossReason::Stopped;
        }
        if self == Self::ForgottenRetries
            && let Fact::TaskRetried { rule, until, .. } = &mut record.fact
        {
            (*rule, *until) = (u8::MAX - 1, record.at);
        }
        record
    }

    /// What becomes of a word to a worker; what is answered in its name comes second.
    pub(crate) fn down(self, message: ToWorker, rng: &mut Rng) -> (Option<ToWorker>, Option<FromWorker>) {
        match (self, message) {
            (Self::LostGoOn, ToWorker::GoOn { .. }) => (None, None),
            (Self::StartAfterCancel, ToWorker::Recall { grant, n, tasks }) => {
                (None, Some(FromWorker::Recalled { grant, n, tasks }))
            }
            (Self::LostAdoption, ToWorker::Resumed(mut resumed)) => {
                if !resumed.kept.is_empty() {
                    let lost = rng.below(resumed.kept.len() as u64);
                    resumed.kept.remove(lost as usize);
                }
                (Some(ToWorker::Resumed(resumed)), None)
            }
            (_, message) => (Some(message), None),
        }
    }

    /// Whether a worker's word gets through.
    pub(crate) const fn up(self, message: &FromWorker) -> bool {
        !matches!((self, message), (Self::LostRecallAnswer, FromWorker::Recalled { .. }))
    }
}
