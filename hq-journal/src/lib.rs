//! The journal of facts: append-only, checksummed, restored after a crash.
//!
//! [`Journal`] is the seam: batches of records go in, in order and fenced by the epoch; what is safe is told by a
//! callback; everything can be read again. [`FileJournal`] keeps it in a file, [`MemoryJournal`] in memory.
//!
//! # The file
//!
//! A header of 128 bytes, then frames, one per appended batch. Numbers are little-endian; `varint` is LEB128.
//!
//! | Bytes | Header |
//! |---|---|
//! | 8 | magic `89 48 51 4a 0d 0a 1a 0a` |
//! | 4 | version of the format: 1 |
//! | 8 | number of the first record of this file |
//! | 4 | epoch of the record before it, 0 at the very start |
//! | 4 | CRC-32C of the 24 bytes before |
//! | 4 + 4 + 1 + 87 | pid, uid, length of the host's name and the name of who holds the file; no more than a notice |
//! | 4 | CRC-32C of the 96 bytes before; where it is wrong the holder counts as unknown |
//!
//! | Bytes | Frame |
//! |---|---|
//! | 4 | length of the body |
//! | 4 | CRC-32C of the length and the body |
//! | varints | body: epoch, number of the first record, count of records |
//! | rest | per record: varint (zigzag) of its tick less that of the one before, and its fact in MessagePack with names (the outer one: an upper-case letter first, 31 bytes at most) |
//!
//! Facts are self-describing, so that older and newer versions read them: unknown fields are skipped. Ticks and
//! numbers are outside of them, because MessagePack would need three times the room. Epochs never fall and record
//! numbers have no gap from frame to frame, so that a repeated or displaced block is found.
//!
//! A batch is in the file whole or not at all. Every prefix of a file loads: what follows the last whole frame is moved
//! to `FILE.bad`. Damage with whole frames after it is no torn tail: the file is refused, and stays as it is.

#![forbid(unsafe_code)]

mod error;
mod file;
mod holder;
mod journal;
mod memory;
mod urgency;

pub use error::{AppendError, CloseError, OpenError, ReadError};
pub use file::{FileJournal, FileOptions, Recovery, TornTail, read_file};
pub use holder::Holder;
pub use journal::{Durability, Journal, OnDurable, Records};
pub use memory::{MemoryJournal, MemoryStore};
pub use urgency::Urgency;
