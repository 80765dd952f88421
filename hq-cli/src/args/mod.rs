//! Global options and the parser put together.

mod global;
mod parser;
mod secrets;
mod values;

pub(crate) use global::{GlobalArgs, ModeArg};
pub(crate) use parser::{command, parse};
pub(crate) use secrets::ShowSecrets;
pub(crate) use values::{Channel, JobStateArg, PinArg, TaskStateArg};
