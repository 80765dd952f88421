use std::path::PathBuf;

use hq_core::{CrashLimit, IdList, Quantity, ResourceEntry, RetryRule, Span};

use super::relations::Relations;
use crate::{
    args::PinArg,
    parse::{self, EnvVar, EnvVarParser, StdioArg, StdioParser, Sweep},
};

/// What can be said of a job and its tasks, on the command line and in `#HQ` lines.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// Name of the job [default: name of the program]
    #[arg(long, value_parser = parse::reader(parse::job_name))]
    pub(in crate::commands) name: Option<String>,
    /// With more failed tasks than that the rest is aborted
    #[arg(long, value_name = "N")]
    pub(in crate::commands) max_fails: Option<u32>,
    /// Run each task on that many whole workers of one group
    #[arg(long, value_name = "N", conflicts_with_all = ["cpus", "pin"])]
    pub(in crate::commands) nodes: Option<u32>,
    /// Cpus of each task: an amount, maybe a policy (compact, tight, scatter, compact!, tight!), or `all`
    ///
    /// [default: 1 compact]
    #[arg(long, value_name = "REQUEST", value_parser = parse::reader(parse::quantity))]
    pub(in crate::commands) cpus: Option<Quantity>,
    /// Another resource of each task, e.g. `gpus/nvidia=1`; may be repeated
    #[arg(long, value_name = "NAME=REQUEST", value_parser = parse::reader(parse::resource_entry))]
    pub(in crate::commands) resource: Vec<ResourceEntry>,
    /// Start tasks only where the worker still lives at least that long
    #[arg(long, value_name = "DURATION", value_parser = parse::reader(parse::span))]
    pub(in crate::commands) time_request: Option<Span>,
    /// Value of running a task, relative to others of its priority [default: 1]
    #[arg(long, value_name = "FACTOR", value_parser = parse::reader(parse::weight), allow_hyphen_values = true)]
    pub(in crate::commands) weight: Option<u32>,
    /// Keep each task on its cpus
    #[arg(long, value_name = "MODE")]
    pub(in crate::commands) pin: Option<PinArg>,
    /// Working directory of tasks [default: %{SUBMIT_DIR}]
    #[arg(long, value_name = "PATH")]
    pub(in crate::commands) cwd: Option<PathBuf>,
    /// File for standard output: `none`, PATH, `PATH:rm-if-finished` or `:rm-if-finished`
    ///
    /// [default: %{CWD}/job-%{JOB_ID}/%{TASK_ID}.stdout]
    #[arg(long, value_name = "WHERE", value_parser = StdioParser)]
    pub(in crate::commands) stdout: Option<StdioArg>,
    /// File for standard error, as --stdout
    ///
    /// [default: %{CWD}/job-%{JOB_ID}/%{TASK_ID}.stderr]
    #[arg(long, value_name = "WHERE", value_parser = StdioParser)]
    pub(in crate::commands) stderr: Option<StdioArg>,
    /// A variable of the tasks' environment; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = EnvVarParser)]
    pub(in crate::commands) env: Vec<EnvVar>,
    /// Make one task for each line of this file; it finds the line in the variable HQ_ENTRY
    #[arg(long, value_name = "FILE", conflicts_with = "from_json")]
    pub(in crate::commands) each_line: Option<PathBuf>,
    /// Make one task for each element of the array in this JSON file; it finds it in the variable HQ_ENTRY
    #[arg(long, value_name = "FILE")]
    pub(in crate::commands) from_json: Option<PathBuf>,
    /// Make one task for each of these ids, e.g. `1-100`, `1,5-20:5`; of entries, only those of these ids
    #[arg(long, value_name = "IDS", value_parser = parse::reader(parse::ids))]
    pub(in crate::commands) array: Option<IdList>,
    /// Make one task for each combination of values: `x=1,2,3`, `x=1..100:5`, `x=@FILE` (its lines); may be repeated
    ///
    /// A task finds its value in the variable HQ_SWEEP_x; %{SWEEP_x} stands for it in the command, --cwd, --stdout and
    /// --stderr. Ids are 0, 1, …; the last parameter changes fastest. With --array, only combinations of these ids.
    #[arg(long, value_name = "NAME=VALUES", value_parser = parse::reader(parse::sweep), conflicts_with_all = ["each_line", "from_json"])]
    pub(in crate::commands) sweep: Vec<Sweep>,
    /// Combine the first values of all --sweep, the second ones, …: as many of each
    #[arg(long, requires = "sweep")]
    pub(in crate::commands) zip: bool,
    /// Tasks of a larger priority go first [default: 0]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(in crate::commands) priority: Option<i32>,
    /// Kill a task after running that long
    #[arg(long, value_name = "DURATION", value_parser = parse::reader(parse::span))]
    pub(in crate::commands) time_limit: Option<Span>,
    /// Stream outputs into one file per worker in this directory; see `hq output-log`. What --stdout or --stderr name
    /// goes there as usual
    #[arg(long, value_name = "DIR")]
    pub(in crate::commands) stream: Option<PathBuf>,
    /// Outputs go to the client that submits.
    #[arg(skip)]
    pub(in crate::commands) live: bool,
    /// Give each task a temporary directory
    #[arg(long)]
    pub(in crate::commands) task_dir: bool,
    /// How often a task may lose its worker: a number, `never-restart` or `unlimited` [default: 5]
    #[arg(long, value_name = "LIMIT", value_parser = parse::reader(parse::crash_limit))]
    pub(in crate::commands) crash_limit: Option<CrashLimit>,
    /// Run a task again after ends of a kind: CAUSE[=CODES]:TIMES[:DELAY[..MAX]]; may be repeated, the first that fits counts
    ///
    /// CAUSE is `exit` (any exit code but 0, or `exit=75,100-110`), `signal`, `oom` (killed for want of memory; or also after
    /// exit codes, `oom=137`), `time-limit`, `start` (the worker had no process or descriptor left), `crash` (the worker was
    /// lost), `preempted` (it was stopped, or its allocation ended), or `any` (all of them but the last two). TIMES is a number
    /// or `unlimited`. The delay doubles each time, from DELAY up to MAX, less up to a quarter by chance [default: 1s..5m].
    #[arg(long, value_name = "RULE", value_parser = parse::reader(parse::retry_rule))]
    pub(in crate::commands) retry: Vec<RetryRule>,
    #[command(flatten)]
    pub(in crate::commands) relations: Relations,
}

impl Options {
    /// These, and from `lower` what is not given here. Lists are joined, `lower` first; where tasks come from is one thing.
    pub(super) fn over(self, lower: Self) -> Self {
        let names_entries = self.each_line.is_some() || self.from_json.is_some() || !self.sweep.is_empty();
        let (each_line, from_json, array, sweep, zip) = if names_entries || self.array.is_some() {
            (self.each_line, self.from_json, self.array, self.sweep, self.zip)
        } else {
            (lower.each_line, lower.from_json, lower.array, lower.sweep, lower.zip)
        };
        Self {
            name: self.name.or(lower.name),
            max_fails: self.max_fails.or(lower.max_fails),
            nodes: self.nodes.or(lower.nodes),
            cpus: self.cpus.or(lower.cpus),
            resource: [lower.resource, self.resource].concat(),
            time_request: self.time_request.or(lower.time_request),
            weight: self.weight.or(lower.weight),
            pin: self.pin.or(lower.pin),
            cwd: self.cwd.or(lower.cwd),
            stdout: self.stdout.or(lower.stdout),
            stderr: self.stderr.or(lower.stderr),
            // To override a variable is nothing to be warned of.
            env: lower
                .env
                .into_iter()
                .filter(|var| self.env.iter().all(|own| own.name != var.name))
                .chain(self.env.iter().cloned())
                .collect(),
            each_line,
            from_json,
            array,
            sweep,
            zip,
            priority: self.priority.or(lower.priority),
            time_limit: self.time_limit.or(lower.time_limit),
            stream: self.stream.or(lower.stream),
            live: self.live || lower.live,
            task_dir: self.task_dir || lower.task_dir,
            crash_limit: self.crash_limit.or(lower.crash_limit),
            // The first that fits counts, so that those that go before come first.
            retry: [self.retry, lower.retry].concat(),
            relations: self.relations.over(lower.relations),
        }
    }
}
