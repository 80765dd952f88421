use anyhow::bail;
use hq_core::{JobState, Selector};
use serde_json::json;
use tracing::warn;

use crate::{context::Context, output::Mode, parse};

/// Options of `job status`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq job status last
  hq job status --snakemake 17

Snakemake (executor cluster-generic; the command that cancels has to be one word):
  printf '#!/bin/sh\\nexec hq job cancel \"$@\"\\n' >hq-cancel && chmod +x hq-cancel
  ln -s \"$(command -v hq)\" hq-smk-submit                # called by that name, it prints the id alone
  snakemake --executor cluster-generic \\
    --cluster-generic-submit-cmd './hq-smk-submit --cpus {threads}' \\
    --cluster-generic-status-cmd 'hq job status --snakemake' \\
    --cluster-generic-cancel-cmd ./hq-cancel")]
pub(crate) struct Args {
    /// Which job: `last`, an id, or what `hq submit` printed: `Job submitted successfully, job ID: 1`
    #[arg(value_name = "JOB", value_parser = parse::reader(parse::submitted_job))]
    job: Selector,
    /// Say exactly `running`, `success` or `failed`, as Snakemake's status command has to
    #[arg(long)]
    snakemake: bool,
}

/// Tells the state of a job in one word.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let job = server.jobs(args.job.clone()).await?.into_iter().next();
    if args.snakemake {
        if job.is_none() {
            // Snakemake knows no word for that, and takes any other exit code for a reason to ask again for ever.
            warn!("Job {} not found", args.job);
        }
        return context.out.line(for_snakemake(job.map(|job| job.state())));
    }
    let Some(job) = job else { bail!("Job {} not found", args.job) };
    match context.out.mode() {
        Mode::Cli | Mode::Quiet => context.out.line(job.state().label()),
        Mode::Json => context.out.json(&json!({ "id": job.id, "state": job.state().label().to_lowercase() })),
    }
}

/// The word that Snakemake has for a state; a job that is not there will never succeed.
const fn for_snakemake(state: Option<JobState>) -> &'static str {
    match state {
        Some(JobState::Running | JobState::Waiting | JobState::Opened) => "running",
        Some(JobState::Finished) => "success",
        Some(JobState::Failed | JobState::Aborted | JobState::Canceled) | None => "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_snakemake() {
        for (state, expected) in [
            (Some(JobState::Running), "running"),
            (Some(JobState::Waiting), "running"),
            (Some(JobState::Opened), "running"),
            (Some(JobState::Finished), "success"),
            (Some(JobState::Failed), "failed"),
            (Some(JobState::Aborted), "failed"),
            (Some(JobState::Canceled), "failed"),
            (None, "failed"),
        ] {
            assert_eq!(for_snakemake(state), expected, "{state:?}");
        }
    }
}
