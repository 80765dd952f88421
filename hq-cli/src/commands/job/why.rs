use hq_client::CallError;
use hq_core::{Explanation, JobDetail, Selector, TaskNumber, TaskState};
use serde_json::json;
use tracing::error;

use crate::{
    context::Context,
    output::Mode,
    parse,
    server::{Server, missing},
    view::{explanation_json, why},
};

/// Options of `job why`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  hq job why last\n  hq job why 1-3\n\nFor one task in all details: hq task explain JOB TASK"
)]
pub(crate) struct Args {
    /// Which jobs: `last`, `all` or ids
    #[arg(value_parser = parse::reader(parse::jobs))]
    selector: Selector,
}

/// Says why jobs wait: of each, why its first waiting task does.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let jobs = server.job_details(args.selector.clone(), false).await?;
    let found: Vec<u32> = jobs.iter().map(|job| job.info.id.0).collect();
    for id in missing(&args.selector, &found) {
        error!("Job {id} not found");
    }
    let mut documents = Vec::new();
    for job in &jobs {
        let explained = first_waiting(&server, job).await?;
        match (context.out.mode(), explained) {
            (Mode::Cli, Some((task, explained))) => {
                why(job, task, &explained).iter().try_for_each(|line| context.out.line(line))?;
            }
            (Mode::Cli, None) => context.out.line(&format!("No task of job {} waits.", job.info.id))?,
            (Mode::Json, explained) => documents.push(match explained {
                Some((task, explained)) => {
                    let mut document = explanation_json(job.info.id, task, &explained);
                    document["why"] = why(job, task, &explained).into();
                    document
                }
                None => json!({ "task_id": { "job_id": job.info.id, "job_task_id": null }, "why": [] }),
            }),
            (Mode::Quiet, _) => {}
        }
    }
    if context.out.mode() == Mode::Json { context.out.json(&documents) } else { Ok(()) }
}

/// The first task of the job that waits, and why; nothing where none does, or where it does no more.
pub(super) async fn first_waiting(
    server: &Server,
    job: &JobDetail,
) -> Result<Option<(TaskNumber, Explanation)>, CallError> {
    let again = job.tasks.iter().filter(|task| task.state == TaskState::Waiting).map(|task| task.number);
    let never = job.rest.iter().filter(|(state, _)| *state == TaskState::Waiting);
    let never = never.filter_map(|(_, ids)| ids.runs().iter().map(|run| run.start).min()).map(TaskNumber);
    let Some(task) = again.chain(never).min() else { return Ok(None) };
    match server.explain(job.info.id, task).await {
        Ok(explained) => Ok(Some((task, explained))),
        Err(CallError::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
