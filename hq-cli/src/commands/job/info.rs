use hq_core::{DetailPart, IdList, Selector};

use super::why::reasons;
use crate::{
    args::ShowSecrets,
    context::Context,
    output::{Mode, now},
    parse,
    server::{Server, missing},
    view::{JobOutline, Programs, TaskFilter, begin_job_json, job_details, job_failures, task_json, task_rows},
};

/// Options of `job info`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq job info last\n  hq job info 1-3 --output-mode=json")]
pub(crate) struct Args {
    /// Which jobs: `last`, `all` or ids
    #[arg(value_parser = parse::reader(parse::jobs))]
    selector: Selector,
    #[command(flatten)]
    secrets: ShowSecrets,
}

/// Shows jobs with all details.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let mode = context.out.mode();
    let server = context.server().await?;
    let found: Vec<u32> = server.jobs(args.selector.clone()).await?.iter().map(|job| job.id.0).collect();
    for id in missing(&args.selector, &found) {
        context.out.error(&format!("Job {id} not found"));
    }
    let jobs = Selector::Ids(IdList::from_numbers(found.iter().copied())?);
    match mode {
        Mode::Cli => print(&server, jobs, args.secrets, context).await,
        Mode::Json => {
            let mut details = server.details(jobs, DetailPart::whole(true));
            let mut json = context.out.json_stream()?;
            json.array()?;
            while let Some(piece) = details.next().await? {
                let detail = args.secrets.shown(piece.detail);
                if piece.is_first {
                    begin_job_json(&detail, &mut json)?;
                }
                let programs = Programs::new(&detail);
                for row in task_rows(&detail, &TaskFilter::default()) {
                    json.value(&task_json(&programs, &row))?;
                }
                if piece.is_last {
                    json.close()?;
                    json.close()?;
                }
            }
            json.end()
        }
        Mode::Quiet => Ok(()),
    }
}

async fn print(server: &Server, jobs: Selector, secrets: ShowSecrets, context: &mut Context) -> anyhow::Result<()> {
    let mut details = server.details(jobs, DetailPart::default());
    let mut job: Option<JobOutline> = None;
    while let Some(piece) = details.next().await? {
        let detail = secrets.shown(piece.detail);
        match &mut job {
            Some(job) if !piece.is_first => job.add(detail),
            _ => job = Some(JobOutline::new(detail)),
        }
        if !piece.is_last {
            continue;
        }
        let Some(job) = job.take() else { continue };
        context.out.table(&job_details(&job, now()))?;
        if let Some((table, line)) = job_failures(&job) {
            context.out.table(&table)?;
            context.out.line(&line)?;
        }
        // Readers of tables pass over lines that have no bar.
        for line in reasons(server, &job.detail).await? {
            context.out.line(&line.replace('|', "\\u{7c}"))?;
        }
    }
    Ok(())
}
