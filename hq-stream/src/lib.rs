//! Files of streamed output: a worker writes what many tasks print into one file, readers take it apart again.
//!
//! A *stream directory* holds one file per worker, `<12 letters and digits>.hqs`. [`StreamFile`] writes one,
//! [`StreamDir`] reads all of a directory.
//!
//! # Format
//!
//! All numbers are little-endian.
//!
//! | Part | Bytes |
//! |---|---|
//! | file | `hqstrm01`, then frames |
//! | frame | marker `F5 'h' 'q' FA`, salt (4), length of the body (4), CRC-32C of salt, length and body (4), body |
//! | body of a head | `0`, worker (4), server uid |
//! | body of a chunk | `1`, channel (1), time (8), job (4), task (4), instance (4), offset in the channel (8), bytes |
//! | body of an end | `2`, time (8), job (4), task (4), instance (4), bytes of stdout (8), bytes of stderr (8) |
//!
//! The salt is one per file, by chance: frames that a task prints (it may well print such a file) are not taken for ours. A head is
//! written at the beginning, again from time to time, and by whoever goes on with the file. Times are milliseconds
//! since 1970 (UTC).
//!
//! # Damage
//! A frame counts if its checksum is right; where one is not, the reader goes on at the next marker. So a file that is
//! cut, overwritten or mixed up loses just the frames that are hit. That something is missing shows in the offsets of
//! chunks and in the sizes that an end names.

#![forbid(unsafe_code)]

mod bytes;
mod copy;
mod dir;
mod error;
mod extents;
mod file;
mod frame;
mod index;
mod merge;
mod scan;
mod source;
mod summary;

pub use dir::{StreamDir, StreamInfo};
pub use error::StreamError;
pub use file::{Bookmark, Probe, StreamFile};
pub use frame::{Chunk, DATA_MAX, End, Frame, Head};
pub use merge::Merged;
pub use scan::{Damage, Scan};
pub use source::ReadAt;
pub use summary::Summary;
