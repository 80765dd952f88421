//! `output-log`: what is in a stream directory. Asks no server.

mod cat;
mod export;
mod group;
mod json_text;
mod show;
mod summary;

pub(crate) use group::Args;
