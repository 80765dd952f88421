use std::ffi::OsString;

use clap::ValueEnum;

use super::{
    Options,
    on_notify::{OnNotify, on_notify},
};
use crate::{commands::outcome::FailExitCode, parse, way_back::Resume};

/// Options of `submit`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq submit echo 'Hello world'
  hq submit --array 1-100 --cpus 2 --name sweep ./simulate --fast
  hq submit --resource gpus/nvidia=0.5 --time-limit 1h --wait python3 train.py
  hq submit --each-line inputs.txt bash -c './analyse \"$HQ_ENTRY\"'
  hq submit --sweep lr=0.1,0.01 --sweep seed=1..5 ./train --rate %{SWEEP_lr}   # 10 tasks; also $HQ_SWEEP_seed
  hq submit --dependency afterok:12,13 ./merge
  hq submit --stdin python3 - < script.py
  hq submit --wait --output --array 1-3 hostname
  hq submit job.sh                     # options in lines `#HQ --cpus 4` of job.sh

Placeholders in --cwd, --stdout and --stderr (%{SWEEP_NAME} in the command as well):
  %{JOB_ID}  %{TASK_ID}  %{INSTANCE_ID}  %{SUBMIT_DIR}  %{CWD}  %{SERVER_UID}")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) options: Options,
    /// Submit to this open job
    #[arg(long, value_name = "ID")]
    pub(super) job: Option<u32>,
    /// Return when the job has ended
    #[arg(long)]
    pub(super) wait: bool,
    /// With --wait: print what tasks print, as they do. Nothing goes into files, unless --stdout, --stderr or --stream name
    /// some
    #[arg(long, requires = "wait")]
    pub(super) output: bool,
    /// As --wait, and show how far it is
    #[arg(long, conflicts_with = "wait")]
    pub(super) progress: bool,
    #[command(flatten)]
    pub(super) exit: FailExitCode,
    #[command(flatten)]
    pub(super) resume: Resume,
    /// With --wait or --progress: run this for each message of a task (`hq task notify`), which is its last argument
    #[arg(long, value_name = "COMMAND", value_parser = parse::reader(on_notify))]
    pub(super) on_notify: Option<OnNotify>,
    /// Read standard input to its end; each task gets it as its own
    #[arg(long)]
    pub(super) stdin: bool,
    /// Where lines `#HQ OPTIONS` are read from: the file that is submitted (auto: if it ends in `.sh`), or --stdin
    #[arg(long, value_name = "MODE", default_value = "auto")]
    pub(super) directives: DirectivesArg,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

/// Where directives are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DirectivesArg {
    /// From a program that ends in `.sh`.
    Auto,
    /// From the program.
    File,
    /// From what tasks get as their standard input.
    Stdin,
    /// Nothing is read.
    Off,
}
