//! Commands about workers.

mod group;
mod info;
mod list;
mod start;
mod stop;
mod wait;

pub(crate) use group::Command;
