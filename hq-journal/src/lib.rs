//! The journal of facts: append-only, checksummed, restored after a crash.
//!
//! [`Journal`] is the seam: batches of records go in, in order and fenced by the epoch; what is safe is told by a
//! callback; everything can be read again. [`FileJournal`] keeps it in a file, [`MemoryJournal`] in memory.
//!
//! # The files
//!
//! `FILE` is the active one. Once it is long it is *sealed*: it gets the name `FILE.<first record>`, and a new `FILE` begins.
//! A file is a header of 128 bytes, then frames, one per appended batch. Numbers are little-endian; `varint` is LEB128.
//!
//! | Bytes | Header |
//! |---|---|
//! | 8 | magic `89 48 51 4a 0d 0a 1a 0a` |
//! | 4 | version of the format: 2 |
//! | 8 | number of the first record of this file |
//! | 4 | epoch of the record before it, 0 at the very start |
//! | 8 | record before which numbers may be left out, as the file was condensed or repaired; 0: none may |
//! | 4 | CRC-32C of the 32 bytes before |
//! | 4 + 4 | pid and uid of who holds the file, no more than a notice; pid 0: it is sealed |
//! | 8 | bytes of the file that were known to be safe when this was written |
//! | 1 + 71 | length of the host's name, and the name |
//! | 4 | CRC-32C of the 88 bytes before; where it is wrong the notice counts as absent |
//!
//! | Bytes | Frame |
//! |---|---|
//! | 4 | length of the body |
//! | 4 | CRC-32C of the length and the body |
//! | varints | body: epoch, number of the first record, count of records, bytes before this frame that were synced together with it |
//! | rest | per record: varint (zigzag) of its tick less that of the one before, and its fact in MessagePack with names (the outer one: an upper-case letter first, 31 bytes at most) |
//!
//! Facts are self-describing, so that older and newer versions read them: unknown fields are skipped. Ticks and
//! numbers are outside of them, because MessagePack would need three times the room. Epochs never fall and record
//! numbers have no gap from frame to frame, so that a repeated or displaced block is found. The first format (neither
//! the record in the header, nor the safe bytes, nor the last number of the body) is read, and written anew when opened.
//!
//! A batch is in the file whole or not at all. Every prefix of what was appended loads: what follows the last whole frame is
//! moved to `FILE.bad`, if it can be what a crash left of a group that was never safe. Else it is damage, as frames follow
//! that were written after it was safe, or the header says so, or one bit makes it whole: then the journal is refused, and
//! stays as it is, for [`repair`].
//!
//! Another file takes a place by a rename, once it is safe. Whatever was done of sealing, condensing or repairing before a
//! crash, the old journal is found or the new one.

#![forbid(unsafe_code)]

mod condense;
mod error;
mod file;
mod holder;
mod journal;
mod memory;
pub mod storage;
mod urgency;

pub use condense::{Condense, CondenseError, Condensed, Condenser, Keep, OnCondensed};
pub use error::{AppendError, CloseError, OpenError, ReadError};
pub use file::{
    FileJournal, FileOptions, JournalView, Loss, Recovery, RepairError, Repaired, Salvage, TornTail, read_file, repair,
};
pub use holder::Holder;
pub use journal::{Durability, Journal, OnDurable, Records};
pub use memory::{MemoryJournal, MemoryStore};
pub use urgency::Urgency;
