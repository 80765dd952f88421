use clap::Subcommand;

use super::{
    about::{completion, doc, man},
    alloc, dashboard, job, journal, output_log, run, server, simulate, submit, task, worker,
};
use crate::context::Context;

/// Run tasks on many machines: a server, its workers, and the jobs that are submitted to it.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The server: start, stop, look at
    #[command(subcommand, arg_required_else_help = true)]
    Server(server::Command),
    /// Jobs: submit, list, look at, wait for, cancel
    #[command(subcommand, arg_required_else_help = true)]
    Job(job::Command),
    /// List the tasks of jobs, and how each ended
    #[command(subcommand, arg_required_else_help = true)]
    Task(task::Command),
    /// Submit a program as a job (the same as `hq job submit`)
    Submit(Box<submit::Args>),
    /// Run one command with many arguments, as GNU parallel does, and wait for all
    Run(Box<run::Args>),
    /// Workers: start, stop, list, look at, wait for
    #[command(subcommand, arg_required_else_help = true)]
    Worker(worker::Command),
    /// Queues that ask batch systems for workers as tasks need them
    #[command(subcommand, arg_required_else_help = true)]
    Alloc(alloc::Command),
    /// The journal: print its events, follow them
    #[command(subcommand, arg_required_else_help = true)]
    Journal(journal::Command),
    /// Streamed outputs: print, count, export
    OutputLog(output_log::Args),
    /// Show what runs, on the whole terminal
    Dashboard(dashboard::Args),
    /// How would it run? Jobs, a cluster and policies in virtual time
    Simulate(simulate::Args),
    /// Where is the manual?
    Doc(doc::Args),
    /// Print what a shell needs to complete words
    GenerateCompletion(completion::Args),
    /// Write manual pages
    GenerateMan(man::Args),
}

impl Command {
    /// Whether it serves others until it is told to end.
    pub(crate) const fn is_daemon(&self) -> bool {
        matches!(self, Self::Server(server::Command::Start(_)) | Self::Worker(worker::Command::Start(_)))
    }

    /// Does it.
    ///
    /// # Errors
    /// What ends the program with exit code 1.
    pub(crate) async fn run(self, context: &mut Context) -> anyhow::Result<()> {
        match self {
            Self::Server(command) => command.run(context).await,
            Self::Job(command) => command.run(context).await,
            Self::Task(command) => command.run(context).await,
            Self::Run(args) => run::run(*args, context).await,
            Self::Submit(args) => submit::run(*args, context).await,
            Self::Worker(command) => command.run(context).await,
            Self::Alloc(command) => command.run(context).await,
            Self::Journal(command) => command.run(context).await,
            Self::OutputLog(args) => args.run(context),
            Self::Dashboard(args) => dashboard::run(args, context).await,
            Self::Simulate(args) => simulate::run(args, context).await,
            Self::Doc(args) => doc::run(&args, context),
            Self::GenerateCompletion(args) => completion::run(&args, context),
            Self::GenerateMan(args) => man::run(&args, context),
        }
    }
}
