//! The journal in a file: `header` and `frame` are its format, `scan` finds out what is whole, `open` and `recover` make it
//! ready, `queue` and `commit` write, `read` reads, `look` reads what is in use.

mod commit;
mod frame;
mod header;
mod journal;
mod look;
mod open;
mod queue;
mod read;
mod recover;
mod scan;
mod varint;

pub use journal::{FileJournal, FileOptions};
pub use look::read_file;
pub use open::Recovery;
pub use recover::TornTail;
