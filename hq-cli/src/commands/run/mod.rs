//! `run`: one command with many arguments, as GNU parallel writes it.

mod args;
mod ends;
mod follow;
mod halt;
mod joblog;
mod line;
mod plan;
mod print;
mod replace;
mod resync;
mod start;

pub(crate) use args::Args;
pub(crate) use joblog::parse as joblog_line;
pub(crate) use start::run;
