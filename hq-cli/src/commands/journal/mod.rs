//! Commands about the journal and its events.

mod export;
mod filter;
mod flush;
mod group;
mod prune;
mod repair;
mod replay;
mod report;
mod stream;

pub(crate) use filter::Filter;
pub(crate) use group::Command;
