use std::sync::Arc;

use hq_core::{Epoch, Record, Seq};

use crate::{AppendError, CloseError, Keep, OnCondensed, ReadError, Urgency};

/// Where facts are kept, in order.
///
/// One writer at a time: who appends with a later epoch shuts out those with an earlier one.
pub trait Journal: Send {
    /// Takes one batch, the facts of one step; it will be kept whole or not at all.
    ///
    /// The first record has the number `first_seq`, which must be the next one; the numbers start from 1. `epoch` is that
    /// of the last append, or a later one. No records: nothing happens, but the two are checked.
    ///
    /// Never waits for the disk, but for one case: where more is queued than the journal allows itself, it waits until
    /// there is room again, so that memory stays bounded.
    ///
    /// # Errors
    /// The batch is not in the journal and never will be. [`AppendError::Failed`] stays so for good.
    fn append(&mut self, epoch: Epoch, first_seq: Seq, records: &[Record], urgency: Urgency)
    -> Result<(), AppendError>;

    /// Number of the last record that is safe; 0 where none is.
    fn durable(&self) -> Seq;

    /// The records from number `from` on, as far as they are safe at the time of the call. Does not disturb appends, and
    /// may be taken to another thread.
    ///
    /// The first error is the last item.
    fn read(&self, from: Seq) -> Records;

    /// Allows the journal to drop the records before number `before`. It drops what it can drop cheaply, maybe nothing.
    fn retire(&mut self, before: Seq);

    /// Makes the journal smaller, beside all that goes on: fewer records come to stand for those that are safe now. Numbers
    /// stay what they are. `done` hears when it is so.
    fn condense(&mut self, keep: Keep, done: OnCondensed);

    /// Makes safe what was appended, then lets go of the journal: another one may open it.
    ///
    /// # Errors
    /// Where not everything could be made safe.
    fn close(self: Box<Self>) -> Result<(), CloseError>;
}

/// Records with their numbers, in order.
pub type Records = Box<dyn Iterator<Item = Result<(Seq, Record), ReadError>> + Send>;

/// What a journal says of its own accord.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Every record up to this number is safe. The numbers grow.
    UpTo(Seq),
    /// Something went wrong that costs no safety.
    Trouble(String),
    /// Nothing more can be made safe, for this reason. Said once, and nothing after it.
    Failed(String),
    /// The same, since somebody else has the journal now: what it says is that one's to act on, and whoever had it has to end
    /// without another word.
    TakenOver(String),
}

/// Hears about [`Durability`], on a thread of the journal or within an append. It must return soon, and must not call the
/// journal.
pub type OnDurable = Arc<dyn Fn(Durability) + Send + Sync>;
