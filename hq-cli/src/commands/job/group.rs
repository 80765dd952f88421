use clap::Subcommand;

use super::{
    cancel, cat, close, forget, info, list, open, progress, rerun, status, submit_file, summary, task_ids, wait, why,
};
use crate::commands::submit;
use crate::context::Context;

/// Commands about jobs.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List jobs
    List(list::Args),
    /// Count jobs by state
    Summary(summary::Args),
    /// Show jobs with all details
    Info(info::Args),
    /// Submit a program as a job (the same as `hq submit`)
    Submit(Box<submit::Args>),
    /// Submit tasks that a file describes
    SubmitFile(submit_file::Args),
    /// Submit the failed tasks of a job once more
    Rerun(rerun::Args),
    /// Wait until jobs have ended
    Wait(wait::Args),
    /// Show how far jobs are until they have ended
    Progress(progress::Args),
    /// Tell the state of a job in one word
    Status(status::Args),
    /// Say why the tasks of jobs wait
    Why(why::Args),
    /// Print outputs of tasks
    Cat(cat::Args),
    /// Cancel jobs
    Cancel(cancel::Args),
    /// Drop ended jobs from the books
    Forget(forget::Args),
    /// Print numbers of tasks
    TaskIds(task_ids::Args),
    /// Open a job that tasks can be submitted to one after another
    Open(open::Args),
    /// Close open jobs
    Close(close::Args),
}

impl Command {
    /// Does it.
    pub(crate) async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        match self {
            Self::List(args) => list::run(args, context).await,
            Self::Summary(args) => summary::run(args, context).await,
            Self::Info(args) => info::run(args, context).await,
            Self::Submit(args) => submit::run(*args, context).await,
            Self::SubmitFile(args) => submit_file::run(args, context).await,
            Self::Rerun(args) => rerun::run(args, context).await,
            Self::Wait(args) => wait::run(args, context).await,
            Self::Progress(args) => progress::run(args, context).await,
            Self::Status(args) => status::run(args, context).await,
            Self::Why(args) => why::run(args, context).await,
            Self::Cat(args) => cat::run(args, context).await,
            Self::Cancel(args) => cancel::run(args, context).await,
            Self::Forget(args) => forget::run(args, context).await,
            Self::TaskIds(args) => task_ids::run(args, context).await,
            Self::Open(args) => open::run(args, context).await,
            Self::Close(args) => close::run(args, context).await,
        }
    }
}
