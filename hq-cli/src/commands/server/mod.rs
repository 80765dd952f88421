//! Commands about the server.

mod group;
mod info;
mod start;
mod stop;
mod wait;

pub(crate) use group::Command;
