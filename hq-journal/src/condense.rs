use hq_core::{Record, Seq};

/// Boils records down to fewer that come to the same. The journal keeps facts and does not know what they mean: whoever
/// opens it says how.
pub trait Condense: Send {
    /// Takes the next record; they come from the first one of the journal on.
    ///
    /// # Errors
    /// One line, where it contradicts those before; the journal stays as it is then.
    fn take(&mut self, seq: Seq, record: Record) -> Result<(), String>;

    /// What stands for all that were taken, in order. It is kept whole or not at all.
    fn finish(self: Box<Self>) -> Vec<Record>;
}

/// What a [`Condense`] is to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// All that can still be asked for.
    All,
    /// What is not over: not completed jobs, nor workers that are gone.
    Unfinished,
}

/// Makes a [`Condense`].
pub type Condenser = fn(Keep) -> Box<dyn Condense>;

/// What became of a journal that was condensed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condensed {
    /// Bytes in all its files before.
    pub before: u64,
    /// Bytes after.
    pub after: u64,
}

/// Why a journal was not condensed. It is as it was, and goes on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CondenseError {
    /// It was opened by somebody who did not say how.
    #[error("this journal cannot be made smaller")]
    NotKnown,
    /// Its records contradict each other.
    #[error("the journal cannot be made smaller: {0}")]
    History(String),
    /// The system refused something.
    #[error("the journal cannot be made smaller: {0}")]
    Io(String),
    /// It is being closed, or has failed.
    #[error("the journal ends")]
    Ending,
}

/// Hears what came of [`Journal::condense`](crate::Journal::condense), on another thread.
pub type OnCondensed = Box<dyn FnOnce(Result<Condensed, CondenseError>) + Send>;
