use std::{process::Command, time::Duration};

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use hq_core::{BatchJob, Span};
use serde_json::Value;
use tracing::warn;

/// A batch system that does not answer must not keep a worker from starting.
const ANSWER_MAX: Duration = Duration::from_secs(3);

/// The allocator of this machine; it tells its workers by the variable `HQ_ALLOCATION_ID`.
const LOCAL: &str = "Local";

/// Which batch system a worker lives in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ManagerArg {
    /// The one whose variables are set, if any.
    Detect,
    /// None.
    None,
    /// PBS.
    Pbs,
    /// Slurm.
    Slurm,
}

/// The batch job that this process belongs to, and how long it still has, if the batch system tells.
///
/// # Errors
/// When the batch system is named and its variables are not set.
pub(crate) async fn detect(manager: ManagerArg) -> anyhow::Result<Option<(BatchJob, Option<Span>)>> {
    let Some(job) = batch_job(manager, |name| std::env::var(name).ok())? else { return Ok(None) };
    if job.manager == LOCAL {
        return Ok(Some((job, None)));
    }
    let asked = job.clone();
    let answer = tokio::task::spawn_blocking(move || remaining(&asked));
    let why = match tokio::time::timeout(ANSWER_MAX, answer).await {
        Ok(Ok(Ok(remaining))) => return Ok(Some((job, Some(remaining)))),
        Ok(Ok(Err(error))) => format!("{error:#}"),
        Ok(Err(_)) | Err(_) => format!("no answer within {} s", ANSWER_MAX.as_secs()),
    };
    warn!(
        "The remaining time of {} job {} cannot be found out ({why}); no time limit is set, --time-limit sets one",
        job.manager, job.id
    );
    Ok(Some((job, None)))
}

fn batch_job(manager: ManagerArg, env: impl Fn(&str) -> Option<String>) -> anyhow::Result<Option<BatchJob>> {
    let job = |manager: &str, id| BatchJob { manager: manager.to_owned(), id };
    let pbs = || env("PBS_ENVIRONMENT").and(env("PBS_JOBID")).map(|id| job("PBS", id));
    let slurm = || env("SLURM_JOB_ID").or_else(|| env("SLURM_JOBID")).map(|id| job("Slurm", id));
    match manager {
        ManagerArg::None => Ok(None),
        // The engine's own allocator comes first: it may itself run inside a batch job.
        ManagerArg::Detect => Ok(env("HQ_ALLOCATION_ID").map(|id| job(LOCAL, id)).or_else(pbs).or_else(slurm)),
        ManagerArg::Pbs => match pbs() {
            Some(job) => Ok(Some(job)),
            None => bail!("this is no PBS job: the variables PBS_ENVIRONMENT and PBS_JOBID are not set"),
        },
        ManagerArg::Slurm => match slurm() {
            Some(job) => Ok(Some(job)),
            None => bail!("this is no Slurm job: the variable SLURM_JOB_ID is not set"),
        },
    }
}

/// Asks the batch system. Blocks as long as its program takes.
fn remaining(job: &BatchJob) -> anyhow::Result<Span> {
    let pbs = job.manager == "PBS";
    let (program, args) =
        if pbs { ("qstat", vec!["-f", &job.id, "-F", "json"]) } else { ("scontrol", vec!["show", "job", &job.id]) };
    let output = Command::new(program).args(args).stdin(std::process::Stdio::null()).output();
    let output = output.with_context(|| format!("{program} cannot be started"))?;
    if !output.status.success() {
        bail!("{program} ended with {}", output.status);
    }
    let read = if pbs {
        pbs_remaining(&output.stdout, &job.id)
    } else {
        slurm_remaining(&String::from_utf8_lossy(&output.stdout))
    };
    read.with_context(|| format!("{program} tells no time limit"))
}

fn pbs_remaining(answer: &[u8], id: &str) -> Option<Span> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let job = &answer["Jobs"][id];
    let limit = clock(job["Resource_List"]["walltime"].as_str()?)?;
    let used = job["resources_used"]["walltime"].as_str().map_or(Some(Span::ZERO), clock)?;
    Some(limit.less(used))
}

fn slurm_remaining(answer: &str) -> Option<Span> {
    let value = |key: &str| answer.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    Some(clock(value("TimeLimit")?)?.less(clock(value("RunTime")?)?))
}

/// `HH:MM:SS`, with days before it: `1-02:03:04`.
fn clock(text: &str) -> Option<Span> {
    let (days, clock) = text.split_once('-').unwrap_or(("0", text));
    let days = Span::secs(86_400).times(days.parse().ok()?);
    let rest = Span::parse(clock).ok()?;
    Some(Span(days.0.saturating_add(rest.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_found_by_their_variables() {
        const PBS: &[(&str, &str)] = &[("PBS_ENVIRONMENT", "x"), ("PBS_JOBID", "1.p")];
        const SLURM: &[(&str, &str)] = &[("SLURM_JOBID", "2")];
        const BOTH: &[(&str, &str)] = &[("PBS_ENVIRONMENT", "x"), ("PBS_JOBID", "1.p"), ("SLURM_JOB_ID", "2")];
        const OURS: &[(&str, &str)] = &[("SLURM_JOB_ID", "2"), ("HQ_ALLOCATION_ID", "a-1")];
        for (manager, env, expected) in [
            (ManagerArg::Detect, &[][..], Some(None)),
            (ManagerArg::Detect, PBS, Some(Some(("PBS", "1.p")))),
            (ManagerArg::Detect, SLURM, Some(Some(("Slurm", "2")))),
            (ManagerArg::Detect, BOTH, Some(Some(("PBS", "1.p")))),
            (ManagerArg::Detect, &PBS[1..], Some(None)),
            (ManagerArg::Detect, OURS, Some(Some(("Local", "a-1")))),
            (ManagerArg::None, BOTH, Some(None)),
            (ManagerArg::Slurm, BOTH, Some(Some(("Slurm", "2")))),
            (ManagerArg::Pbs, SLURM, None),
            (ManagerArg::Slurm, PBS, None),
        ] {
            let lookup = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            let job = batch_job(manager, lookup).ok();
            let job = job.as_ref().map(|job| job.as_ref().map(|job| (&*job.manager, &*job.id)));
            assert_eq!(job, expected, "{manager:?} {env:?}");
        }
    }

    #[test]
    fn answers_of_pbs() {
        let answer = |list: &str, used: &str| {
            format!(r#"{{"Jobs":{{"1.p":{{"Resource_List":{{{list}}},"resources_used":{{{used}}}}}}}}}"#)
        };
        for (answer, expected) in [
            (answer(r#""walltime":"01:12:34""#, r#""walltime":"00:13:45""#), Some("58m 49s")),
            (answer(r#""walltime":"00:10:00""#, ""), Some("10m")),
            (answer("", r#""walltime":"00:13:45""#), None),
            ("{}".to_owned(), None),
            ("no JSON".to_owned(), None),
        ] {
            let remaining = pbs_remaining(answer.as_bytes(), "1.p").map(|span| span.to_string());
            assert_eq!(remaining.as_deref(), expected, "{answer}");
        }
    }

    #[test]
    fn answers_of_slurm() {
        for (answer, expected) in [
            ("JobId=2\n   RunTime=00:01:34 TimeLimit=00:15:00 TimeMin=N/A", Some("13m 26s")),
            ("RunTime=00:00:00 TimeLimit=1-02:00:00", Some("1day 2h")),
            ("RunTime=00:00:10 TimeLimit=00:00:05", Some("0s")),
            ("RunTime=00:00:10 TimeLimit=UNLIMITED", None),
            ("", None),
        ] {
            let remaining = slurm_remaining(answer).map(|span| span.to_string());
            assert_eq!(remaining.as_deref(), expected, "{answer}");
        }
    }
}
