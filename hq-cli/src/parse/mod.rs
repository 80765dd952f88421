//! Small languages of option values that `hq-core` does not have, and readers of options for clap.

mod caret;
mod coupling;
mod crash_limit;
mod dependency;
mod directives;
mod env;
mod reader;
mod selector;
mod stdio;
mod sweep;
mod values;

pub(crate) use caret::{ids_place, text_error};
pub(crate) use coupling::coupling;
pub(crate) use crash_limit::crash_limit;
pub(crate) use dependency::dependency;
pub(crate) use directives::{Directives, HEAD_MAX};
pub(crate) use env::{EnvVar, EnvVarParser};
pub(crate) use reader::reader;
pub(crate) use selector::{job, jobs, jobs_without_all, one_of, submitted_job};
pub(crate) use stdio::{StdioArg, StdioParser};
pub(crate) use sweep::{Sweep, sweep};
pub(crate) use values::{
    cpus_definition, human_span, ids, job_name, min_utilization, party, positive_span, quantity, reason,
    resource_definition, resource_entry, retry_rule, span, weight,
};
