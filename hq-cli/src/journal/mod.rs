//! The event log: out of a journal file, and from a server.

mod feed;
mod file;
mod rebuilt;
pub(crate) mod report;

pub(crate) use feed::{Past, tell_missed, tell_past};
pub(crate) use file::FileLog;
