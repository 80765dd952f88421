use std::path::PathBuf;

use hq_core::Span;

use super::{cluster::ClusterArg, input::FormatArg, run::Picture};
use crate::parse;

/// Options of `simulate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq simulate jobs.csv --cluster '4x cpus=32'
  hq simulate jobs.csv --cluster '4x cpus=2x16 gpus=[0,1]; cpus=64' --report picture.html
  hq simulate graph.json --cluster nodes.txt --order priority,fcfs --placement all
  gzip -dc KTH-SP2-1996-2.1-cln.swf.gz | hq simulate - --order fcfs --limit-jobs 5000

A list of jobs is CSV with a header; all columns but `run` may be missing:
  name,run,count,cpus,request,user,arrival,after
  prep,10m,1,4,,anne,0,
  train,2h,500,,\"cpus=8; gpus=0.5\",anne,0,prep
More columns: every, estimate, nodes, time-request, priority.

A cluster is groups of workers, a line or a `;` apart: how many, resources as for `hq worker start`,
and group=NAME, host=NAME, arrives=DURATION, time-limit=DURATION, min-utilization=SHARE.")]
pub(crate) struct Args {
    /// What is to run: a list of jobs, a log (SWF), a task graph, a workflow (WfCommons), or `-` for standard input
    #[arg(value_name = "FILE")]
    pub(super) input: PathBuf,
    /// Where: a description, e.g. `4x cpus=32 gpus=[0,1]`, or a file with one [default: the machine that a log names]
    #[arg(long, value_name = "CLUSTER", value_parser = parse::reader(ClusterArg::read))]
    pub(super) cluster: Option<ClusterArg>,
    /// Format of the input [default: as its beginning says]
    #[arg(long, value_name = "FORMAT")]
    pub(super) format: Option<FormatArg>,
    /// Which graph of a file with several
    #[arg(long, value_name = "NAME")]
    pub(super) graph: Option<String>,
    /// Who starts first: names of orders, or `all`; each is simulated
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "priority")]
    pub(super) order: Vec<String>,
    /// Who runs where: names of placements, or `all`; each is simulated
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "pack")]
    pub(super) placement: Vec<String>,
    /// Decides what happens first of what happens at one moment
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Only the first that arrive
    #[arg(long, value_name = "N")]
    pub(super) limit_jobs: Option<usize>,
    /// End then, even if something is left to do
    #[arg(long, value_name = "DURATION", value_parser = parse::reader(parse::positive_span))]
    pub(super) until: Option<Span>,
    /// Take estimates that are exactly right
    #[arg(long)]
    pub(super) perfect_estimates: bool,
    /// Give tasks priorities by the longest chain of tasks behind them
    #[arg(long)]
    pub(super) critical_path_first: bool,
    /// Write a picture of it: FILE.svg or FILE.html
    #[arg(long, value_name = "FILE", value_parser = parse::reader(Picture::read))]
    pub(super) report: Option<Picture>,
    /// Write what happened, a line for each event: the same for the same seed
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,
}
