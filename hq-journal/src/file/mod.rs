//! The journal in files: `header` and `frame` are the format, `scan` and `flip` find out what is whole, `segment` which files
//! belong together; `open` and `recover` make them ready, `names` says who may change which file has which name, `queue` and `commit` write, `condense` makes less of them, `read`
//! reads, `look` reads what is in use, `repair` saves what can be saved.

mod commit;
mod condense;
mod flip;
mod frame;
mod fresh;
mod header;
mod journal;
mod look;
mod names;
mod open;
mod queue;
mod read;
mod recover;
mod repair;
mod scan;
mod segment;
mod varint;

pub use journal::{FileJournal, FileOptions};
pub use look::{JournalView, read_file};
pub use open::Recovery;
pub use recover::TornTail;
pub use repair::{Loss, RepairError, Repaired, Salvage, repair};
