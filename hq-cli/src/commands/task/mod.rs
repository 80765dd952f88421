//! Commands about tasks.

mod explain;
mod group;
mod info;
mod list;

pub(crate) use group::Command;
