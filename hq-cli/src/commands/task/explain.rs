use anyhow::bail;
use hq_client::CallError;
use hq_core::{Explanation, JobId, Refusal, Selector, TaskNumber};

use crate::{
    context::Context,
    output::Mode,
    parse,
    server::Server,
    view::{explanation, explanation_json},
};

/// Options of `task explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq task explain last 0\n  hq task explain 3 17")]
pub(crate) struct Args {
    /// Which job: `last` or an id
    #[arg(value_name = "JOB", value_parser = parse::reader(parse::job))]
    job: Selector,
    /// Which of its tasks
    #[arg(value_name = "TASK")]
    task: u32,
}

/// Shows what a task waits for, and what each worker has of what it needs.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let Some(job) = server.find_job(&args.job).await? else { bail!("Job not found") };
    let task = TaskNumber(args.task);
    let explained = explain(&server, job, task).await?;
    match context.out.mode() {
        Mode::Cli => {
            let (lines, table) = explanation(job, task, &explained);
            lines.iter().try_for_each(|line| context.out.line(line))?;
            table.map_or(Ok(()), |table| context.out.table(&table))
        }
        Mode::Json => context.out.json(&explanation_json(job, task, &explained)),
        Mode::Quiet => Ok(()),
    }
}

async fn explain(server: &Server, job: JobId, task: TaskNumber) -> anyhow::Result<Explanation> {
    match server.explain(job, task).await {
        Ok(explained) => Ok(explained),
        Err(CallError::Refused(Refusal::NoJob(_))) => bail!("Job not found"),
        Err(CallError::Refused(Refusal::NoTask(..))) => bail!("Task {task} not found"),
        Err(CallError::Refused(Refusal::TaskEnded(..))) => {
            bail!("Explain command works only for tasks in WAITING or RUNNING state")
        }
        Err(error) => Err(error.into()),
    }
}
