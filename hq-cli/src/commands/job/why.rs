use hq_client::CallError;
use hq_core::{DetailPart, Explanation, IdList, JobDetail, JobId, Selector, TaskNumber, TaskState};
use serde_json::json;

use crate::{
    context::Context,
    output::Mode,
    parse,
    server::{Server, missing},
    view::{TaskFilter, awaited_jobs, explanation_json, task_rows, why, why_aborted},
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
        context.out.error(&format!("Job {id} not found"));
    }
    let mut documents = Vec::new();
    for id in found {
        let none = DetailPart { first: TaskNumber(1), last: TaskNumber(0), ..DetailPart::default() };
        let Some(piece) = server.job_details(JobId(id), none).next().await? else { continue };
        let job = &piece.detail;
        let explained = first_waiting(&server, job.info.id).await?;
        let aborted = if explained.is_none() { first_aborted(&server, job).await? } else { None };
        match (context.out.mode(), explained) {
            (Mode::Cli, Some((task, explained))) => {
                why(job, task, &explained).iter().try_for_each(|line| context.out.line(line))?;
            }
            (Mode::Cli, None) => {
                context.out.line(&format!("No task of job {} waits.", job.info.id))?;
                aborted.map_or(Ok(()), |line| context.out.line(&line))?;
            }
            (Mode::Json, explained) => documents.push(match explained {
                Some((task, explained)) => {
                    let mut document = explanation_json(job.info.id, task, &explained);
                    document["why"] = why(job, task, &explained).into();
                    document
                }
                None => {
                    let why: Vec<String> = aborted.into_iter().collect();
                    json!({ "task_id": { "job_id": job.info.id, "job_task_id": null }, "why": why })
                }
            }),
            (Mode::Quiet, _) => {}
        }
    }
    if context.out.mode() == Mode::Json { context.out.json(&documents) } else { Ok(()) }
}

/// What people want to know of a job next: why its first waiting task waits or, where none does, why tasks were aborted.
pub(super) async fn reasons(server: &Server, job: &JobDetail) -> Result<Vec<String>, CallError> {
    let explained = if job.info.counts.waiting > 0 { first_waiting(server, job.info.id).await? } else { None };
    Ok(match explained {
        Some((task, explained)) => why(job, task, &explained),
        None => first_aborted(server, job).await?.into_iter().collect(),
    })
}

async fn first_aborted(server: &Server, job: &JobDetail) -> Result<Option<String>, CallError> {
    if job.info.counts.aborted == 0 {
        return Ok(None);
    }
    let Some(task) = first_in(server, job.info.id, TaskState::Aborted).await? else { return Ok(None) };
    let awaited = IdList::from_numbers(awaited_jobs(job)).unwrap_or_default();
    let awaited = if awaited.is_empty() { vec![] } else { server.jobs(Selector::Ids(awaited)).await? };
    Ok(why_aborted(job, task, &awaited))
}

/// The first task of the job that waits, and why; nothing where none does, or where it does no more.
pub(crate) async fn first_waiting(server: &Server, job: JobId) -> Result<Option<(TaskNumber, Explanation)>, CallError> {
    let Some(task) = first_in(server, job, TaskState::Waiting).await? else { return Ok(None) };
    match server.explain(job, task).await {
        Ok(explained) => Ok(Some((task, explained))),
        Err(CallError::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The first task of the job in that state.
async fn first_in(server: &Server, job: JobId, state: TaskState) -> Result<Option<TaskNumber>, CallError> {
    let filter = TaskFilter { ids: None, states: vec![state] };
    let mut details = server.job_details(job, filter.part(false));
    while let Some(piece) = details.next().await? {
        if let Some(row) = task_rows(&piece.detail, &filter).next() {
            return Ok(Some(row.number));
        }
    }
    Ok(None)
}
