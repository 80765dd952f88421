use std::path::PathBuf;

use hq_backend::{
    Allocation, AllocationEnd, AllocationStatus, BackendError, BackendErrorKind, CommandLine, CommandOutput,
    CommandRunner, EndCause,
};

use crate::{
    backend::{ANSWER_MAX, NAME},
    job::{Job, Jobs},
    refusal::{is_away, is_over, is_unknown, refusal},
};

type Status = Result<AllocationStatus, BackendError>;

/// What one command says of several jobs: an answer for each, or none for those that have to be asked for alone.
pub(crate) async fn ask_all(runner: &dyn CommandRunner, allocations: &[Allocation]) -> Vec<Option<Status>> {
    let all = |error: &BackendError| allocations.iter().map(|_| Some(Err(error.clone()))).collect();
    let ids = allocations.iter().flat_map(|allocation| ["-f", &allocation.id.0]);
    let dir = allocations.first().and_then(|allocation| allocation.directory.clone());
    let outcome = runner.run(&qstat(ids.chain(["-F", "json", "-x"]), dir)).await;
    let output = match outcome {
        Ok(output) if !is_away(&output) => output,
        outcome => return all(&refusal("status", "qstat", outcome)),
    };
    let jobs = Jobs::read(&output.out());
    if jobs.is_none() && !output.is_success() && !is_unknown(&output) && !is_over(&output) {
        // It failed as a whole, and would fail for each.
        return all(&refusal("status", "qstat", Ok(output)));
    }
    let jobs = jobs.unwrap_or_default();
    allocations.iter().map(|allocation| jobs.get(&allocation.id.0).and_then(Job::status).map(Ok)).collect()
}

/// The status of one job, asked for alone.
pub(crate) async fn ask_one(runner: &dyn CommandRunner, allocation: &Allocation) -> Status {
    match describe(runner, &allocation.id.0, allocation.directory.clone()).await? {
        Ok(job) => job.status().ok_or_else(|| {
            let message = format!("`qstat -f {}` names no state", allocation.id);
            BackendError::new(BackendErrorKind::Unexpected, NAME, "status", message)
        }),
        Err(why) => Ok(AllocationStatus::Ended(AllocationEnd {
            cause: EndCause::Unknown,
            error: Some(why.to_owned()),
            started: None,
            ended: None,
            may_return: false,
        })),
    }
}

/// All that PBS says of one job, or why there is no such job any more.
///
/// # Errors
/// Nothing is known.
pub(crate) async fn describe(
    runner: &dyn CommandRunner,
    id: &str,
    dir: Option<PathBuf>,
) -> Result<Result<Job, &'static str>, BackendError> {
    let outcome = runner.run(&qstat(["-f", id, "-F", "json", "-x"], dir.clone())).await;
    let output = reached(outcome)?;
    let jobs = Jobs::read(&output.out());
    if let Some(job) = jobs.as_ref().and_then(|jobs| jobs.get(id)).filter(|job| job.status().is_some()) {
        return Ok(Ok(job.clone()));
    }
    if let Some(why) = gone(&output, jobs.is_some()) {
        return Ok(Err(why));
    }
    // What the JSON was broken by is not in the way of the few lines that matter.
    let outcome = runner.run(&qstat(["-f", "-x", id], dir)).await;
    let output = reached(outcome)?;
    match Job::of_text(&output.out()) {
        Some(job) => Ok(Ok(job)),
        None if is_unknown(&output) => Ok(Err(UNKNOWN)),
        None if is_over(&output) => Ok(Err(OVER)),
        None if output.is_success() => {
            let message = format!("`qstat -f {id}` makes no sense");
            Err(BackendError::new(BackendErrorKind::Unexpected, NAME, "status", message))
        }
        None => Err(refusal("status", "qstat", Ok(output))),
    }
}

const UNKNOWN: &str = "PBS does not know it";
const OVER: &str = "it has ended, and PBS keeps no history";

fn gone(output: &CommandOutput, is_json: bool) -> Option<&'static str> {
    if is_unknown(output) {
        return Some(UNKNOWN);
    }
    // A whole answer without the job; half of one is asked for again.
    is_json.then(|| if is_over(output) { OVER } else { UNKNOWN })
}

fn reached(outcome: Result<CommandOutput, hq_backend::CommandError>) -> Result<CommandOutput, BackendError> {
    match outcome {
        Ok(output) if !is_away(&output) => Ok(output),
        outcome => Err(refusal("status", "qstat", outcome)),
    }
}

fn qstat<'a>(args: impl IntoIterator<Item = &'a str>, dir: Option<PathBuf>) -> CommandLine {
    CommandLine::new("qstat", args).in_dir(dir).in_plain_words().within(ANSWER_MAX)
}
