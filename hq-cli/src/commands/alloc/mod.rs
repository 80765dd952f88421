//! `hq alloc`: queues that ask batch systems for machines.

mod add;
mod group;
mod info;
mod list;
mod log;
mod spec;
mod switch;

pub(crate) use group::Command;
