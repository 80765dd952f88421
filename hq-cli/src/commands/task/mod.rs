//! Commands about tasks.

mod group;
mod list;

pub(crate) use group::Command;
