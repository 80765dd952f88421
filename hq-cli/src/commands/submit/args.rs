use std::{ffi::OsString, path::PathBuf};

use hq_core::{CrashLimit, IdList, Quantity, ResourceEntry, Span};

use crate::{
    args::PinArg,
    parse::{self, EnvVar, EnvVarParser, StdioArg, StdioParser},
};

/// Options of `submit`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq submit echo 'Hello world'
  hq submit --array 1-100 --cpus 2 --name sweep ./simulate --fast
  hq submit --resource gpus/nvidia=0.5 --time-limit 1h --wait python3 train.py

Placeholders in --cwd, --stdout and --stderr:
  %{JOB_ID}  %{TASK_ID}  %{INSTANCE_ID}  %{SUBMIT_DIR}  %{CWD}  %{SERVER_UID}")]
pub(crate) struct Args {
    /// Name of the job [default: name of the program]
    #[arg(long, value_parser = parse::reader(parse::job_name))]
    pub(super) name: Option<String>,
    /// With more failed tasks than that the rest is aborted
    #[arg(long, value_name = "N")]
    pub(super) max_fails: Option<u32>,
    /// Run each task on that many whole workers of one group
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with_all = ["cpus", "pin"], hide_default_value = true)]
    pub(super) nodes: u32,
    /// Cpus of each task: an amount, maybe a policy (compact, tight, scatter, compact!, tight!), or `all`
    ///
    /// [default: 1 compact]
    #[arg(long, value_name = "REQUEST", value_parser = parse::reader(parse::quantity))]
    pub(super) cpus: Option<Quantity>,
    /// Another resource of each task, e.g. `gpus/nvidia=1`; may be repeated
    #[arg(long, value_name = "NAME=REQUEST", value_parser = parse::reader(parse::resource_entry))]
    pub(super) resource: Vec<ResourceEntry>,
    /// Start tasks only where the worker still lives at least that long
    #[arg(long, value_name = "DURATION", default_value = "0ms", value_parser = parse::reader(parse::span), hide_default_value = true)]
    pub(super) time_request: Span,
    /// Value of running a task, relative to others of its priority
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = parse::reader(parse::weight), allow_hyphen_values = true)]
    pub(super) weight: u32,
    /// Keep each task on its cpus
    #[arg(long, value_name = "MODE")]
    pub(super) pin: Option<PinArg>,
    /// Working directory of tasks [default: %{SUBMIT_DIR}]
    #[arg(long, value_name = "PATH")]
    pub(super) cwd: Option<PathBuf>,
    /// File for standard output: `none`, PATH, `PATH:rm-if-finished` or `:rm-if-finished`
    ///
    /// [default: %{CWD}/job-%{JOB_ID}/%{TASK_ID}.stdout]
    #[arg(long, value_name = "WHERE", value_parser = StdioParser)]
    pub(super) stdout: Option<StdioArg>,
    /// File for standard error, as --stdout
    ///
    /// [default: %{CWD}/job-%{JOB_ID}/%{TASK_ID}.stderr]
    #[arg(long, value_name = "WHERE", value_parser = StdioParser)]
    pub(super) stderr: Option<StdioArg>,
    /// A variable of the tasks' environment; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = EnvVarParser)]
    pub(super) env: Vec<EnvVar>,
    /// Make one task for each of these ids, e.g. `1-100`, `1,5-20:5`
    #[arg(long, value_name = "IDS", value_parser = parse::reader(parse::ids))]
    pub(super) array: Option<IdList>,
    /// Tasks of a larger priority go first
    #[arg(long, value_name = "N", default_value_t = 0, allow_hyphen_values = true)]
    pub(super) priority: i32,
    /// Kill a task after running that long
    #[arg(long, value_name = "DURATION", value_parser = parse::reader(parse::span))]
    pub(super) time_limit: Option<Span>,
    /// Give each task a temporary directory
    #[arg(long)]
    pub(super) task_dir: bool,
    /// How often a task may lose its worker: a number, `never-restart` or `unlimited`
    #[arg(long, value_name = "LIMIT", default_value_t, value_parser = parse::reader(parse::crash_limit))]
    pub(super) crash_limit: CrashLimit,
    /// Submit to this open job
    #[arg(long, value_name = "ID")]
    pub(super) job: Option<u32>,
    /// Return when the job has ended
    #[arg(long)]
    pub(super) wait: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}
