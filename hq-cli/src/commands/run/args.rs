use std::{ffi::OsString, path::PathBuf};

use clap::Arg;

use super::halt::{Halt, halt};
use crate::{
    commands::{outcome::FailExitCode, submit::Options},
    parse,
    way_back::Resume,
};

/// Options of `run`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq run gzip {} ::: *.log
  hq run --cpus 2 --bar 'convert {} {.}.png' ::: *.jpg
  hq run ./simulate --rate {1} --seed {2} ::: 0.1 0.01 ::: 1 2 3     # all 6 combinations
  hq run cp {1} {2} ::: a b :::+ x y                                # a x, b y
  hq run --joblog log --resume ./step {} :::: inputs.txt            # lines of a file; without ::: those of stdin
  hq run --dry-run echo {#} {/.} ::: dir/a.txt

In the command, which a shell runs:
  {}    the arguments          {.}   without extension    {/}   without directory
  {//}  its directory          {/.}  both                 {#}   number of the task, from 1
  {2}   the second argument; also {2.} {2/} {2//} {2/.}
Without any of them the arguments are put behind the command.

What tasks print is printed when they end. Files that they print to lie in a directory beside the working directory
until then, so that this has to be shared with the workers; or name files with --stdout and --stderr.", mut_args = own_words)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) options: Options,
    /// Show on standard error how far it is, and how long it still takes
    #[arg(long)]
    pub(super) bar: bool,
    /// Write a line for each task that ended: Seq, Host, Starttime, JobRuntime, Send, Receive, Exitval, Signal, Command
    #[arg(long, value_name = "FILE")]
    pub(super) joblog: Option<PathBuf>,
    /// Leave out what --joblog says has run
    #[arg(long, requires = "joblog")]
    pub(super) resume: bool,
    /// Leave out what --joblog says has run well
    #[arg(long, requires = "joblog")]
    pub(super) resume_failed: bool,
    /// Run a task that fails again at once, N times in all; short for `--retry any:N-1:0s`, behind other rules
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536), hide_default_value = true)]
    pub(super) retries: u32,
    /// Stop when so many tasks have failed, finished or ended: `now,fail=1`, `now,success=3`, `now,done=10%`; with `soon`
    /// in place of `now`, tasks that run go on to their ends, and no more are started
    #[arg(long, value_name = "WHEN", value_parser = parse::reader(halt))]
    pub(super) halt: Option<Halt>,
    /// Print in the order of the arguments
    #[arg(long, short = 'k')]
    pub(super) keep_order: bool,
    /// Print the commands, and submit nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// The shell that runs the command [default: $SHELL if it is one like sh, else /bin/sh]
    #[arg(long, value_name = "PATH")]
    pub(super) shell: Option<PathBuf>,
    /// Has no effect: how many tasks run at a time follows from what workers have
    #[arg(long, short = 'j', value_name = "N")]
    jobs: Option<String>,
    #[command(flatten)]
    pub(super) exit: FailExitCode,
    #[command(flatten)]
    pub(super) reconnect: Resume,
    /// The command, `:::`, and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

/// Options of `submit` that mean nothing here are not shown, others are with what is true here.
fn own_words(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "array" | "each_line" | "from_json" | "sweep" | "zip" => arg.hide(true),
        "name" => arg.help("Name of the job [default: run]"),
        "stdout" | "stderr" => {
            let own = format!(
                "File for standard {}: `none`, PATH, `PATH:rm-if-finished`, or `:rm-if-finished` for \
                 %{{CWD}}/job-%{{JOB_ID}}/%{{TASK_ID}}.{} [default: it is printed here, and kept nowhere]",
                if arg.get_id() == "stdout" { "output" } else { "error" },
                arg.get_id()
            );
            arg.help(own).long_help(None::<&str>)
        }
        _ => arg,
    }
}

#[cfg(test)]
mod tests {
    use clap::Args as _;

    use super::*;
    use crate::commands::run::start::refused;

    #[test]
    fn what_is_refused_is_not_shown() {
        let shown = Args::augment_args(clap::Command::new("run"));
        let hidden: Vec<&str> =
            shown.get_arguments().filter(|arg| arg.is_hide_set()).filter_map(Arg::get_long).collect();
        let all = Options { zip: true, ..Options::default() };
        let names: Vec<&str> = refused(&all).map(|(_, name)| name.trim_start_matches("--")).collect();
        assert_eq!(hidden, names);
    }
}
