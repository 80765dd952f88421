//! Commands about the server.

mod debug_dump;
mod generate_access;
mod group;
mod info;
mod start;
mod stop;
mod wait;

pub(crate) use group::Command;
