//! Global options and the parser put together.

mod global;
mod parser;
mod values;

pub(crate) use global::GlobalArgs;
pub(crate) use parser::parse;
pub(crate) use values::{Channel, JobStateArg, PinArg, TaskStateArg};
