//! Job definition files in TOML: what they say, checked, as tasks. Pure: errors name line and column.

mod error;
mod graph;
mod order;
mod pieces;
mod profiles;
mod raw;
mod tasks;
mod values;

pub(crate) use error::FileError;
pub(crate) use tasks::parse;
