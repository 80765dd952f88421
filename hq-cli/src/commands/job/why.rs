use hq_client::CallError;
use hq_core::{DetailPart, Explanation, JobId, Selector, TaskNumber, TaskState};
use serde_json::json;
use tracing::error;

use crate::{
    context::Context,
    output::Mode,
    parse,
    server::{Server, missing},
    view::{TaskFilter, explanation_json, task_rows, why},
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
    let found: Vec<u32> = server.jobs(args.selector.clone()).await?.iter().map(|job| job.id.0).collect();
    for id in missing(&args.selector, &found) {
        error!("Job {id} not found");
    }
    let mut documents = Vec::new();
    for id in found {
        let none = DetailPart { first: TaskNumber(1), last: TaskNumber(0), ..DetailPart::default() };
        let Some(piece) = server.job_details(JobId(id), none).next().await? else { continue };
        let job = &piece.detail;
        let explained = first_waiting(&server, job.info.id).await?;
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
pub(super) async fn first_waiting(server: &Server, job: JobId) -> Result<Option<(TaskNumber, Explanation)>, CallError> {
    let filter = TaskFilter { ids: None, states: vec![TaskState::Waiting] };
    let mut details = server.job_details(job, filter.part(false));
    let mut first = None;
    while let (None, Some(piece)) = (first, details.next().await?) {
        first = task_rows(&piece.detail, &filter).next().map(|row| row.number);
    }
    let Some(task) = first else { return Ok(None) };
    match server.explain(job, task).await {
        Ok(explained) => Ok(Some((task, explained))),
        Err(CallError::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
