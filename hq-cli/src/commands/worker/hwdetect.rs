use hq_core::WorkerResources;

use crate::{
    context::Context,
    output::Mode,
    view::{resource_description, resource_summary, resources_json},
    worker::{DetectList, Search, find},
};

/// Options of `worker hwdetect`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq worker hwdetect\n  hq worker hwdetect --no-hyper-threading")]
pub(crate) struct Args {
    /// Of each physical core only one thread
    #[arg(long)]
    no_hyper_threading: bool,
}

/// Shows what a worker started here would offer.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<()> {
    let search = Search { list: DetectList::All, one_thread_per_core: args.no_hyper_threading, in_slurm: false };
    let resources = WorkerResources::new(find(&search, |_| false), vec![])?;
    match context.out.mode() {
        Mode::Cli => {
            context.out.line("Summary:")?;
            resource_summary(&resources, true).iter().try_for_each(|line| context.out.line(line))?;
            context.out.line("")?;
            context.out.line("Full Description:")?;
            resources.resources().iter().try_for_each(|def| context.out.line(&resource_description(def)))
        }
        Mode::Json => context.out.json(&resources_json(&resources)),
        Mode::Quiet => Ok(()),
    }
}
