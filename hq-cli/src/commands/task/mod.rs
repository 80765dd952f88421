//! Commands about tasks.

mod explain;
mod group;
mod info;
mod list;
mod notify;

pub(crate) use group::Command;
