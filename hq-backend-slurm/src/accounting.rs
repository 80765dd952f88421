use std::sync::atomic::{AtomicBool, Ordering};

use hq_backend::{
    Allocation, AllocationEnd, AllocationId, AllocationStatus, BatchRequest, CommandLine, CommandRunner, EndCause,
    parse::timestamp,
};

use crate::{
    show::belongs,
    state::{SlurmState, slurm_state},
};

/// Between fields; it occurs in none of them.
pub(crate) const SEPARATOR: char = '\x1f';

/// What `sacct` knows, where there is a `slurmdbd`.
#[derive(Debug, Default)]
pub(crate) struct Accounting {
    is_off: AtomicBool,
}

struct Row<'a> {
    id: &'a str,
    state: &'a str,
    start: &'a str,
    end: &'a str,
    dir: &'a str,
}

impl Accounting {
    /// How a job ended that the controller does not know any more. None where accounting does not know it either, or
    /// still believes that it lives: the controller is right then, and has lost it.
    pub(crate) async fn end(&self, runner: &dyn CommandRunner, allocation: &Allocation) -> Option<AllocationStatus> {
        let answer = self.ask(runner, &[format!("--jobs={}", allocation.id)]).await?;
        let row = rows(&answer).find(|row| row.id == allocation.id.0)?;
        if allocation.directory.as_ref().is_some_and(|directory| !belongs(directory, Some(row.dir), None)) {
            return None;
        }
        let (SlurmState::Ended(cause) | SlurmState::MayReturn(cause)) = slurm_state(row.state) else { return None };
        let error = cause.is_failure().then(|| row.state.to_owned());
        let (started, ended) = (timestamp(row.start), timestamp(row.end));
        Some(AllocationStatus::Ended(AllocationEnd { cause, error, started, ended, may_return: false }))
    }

    /// The job that was submitted from this directory under this name.
    pub(crate) async fn find(&self, runner: &dyn CommandRunner, batch: &BatchRequest) -> Option<AllocationId> {
        let args = [format!("--name={}", batch.name), "--starttime=now-7days".to_owned()];
        let answer = self.ask(runner, &args).await?;
        let is_meant = |row: &Row<'_>| !row.dir.is_empty() && belongs(&batch.directory, Some(row.dir), None);
        rows(&answer).filter(is_meant).last().map(|row| AllocationId(row.id.to_owned()))
    }

    /// Without accounting nothing is asked again.
    async fn ask(&self, runner: &dyn CommandRunner, args: &[String]) -> Option<String> {
        if self.is_off.load(Ordering::Relaxed) {
            return None;
        }
        let fixed = ["--noheader", "--parsable2", "--allocations", "--format=JobIDRaw,State,Start,End,WorkDir"];
        let delimiter = format!("--delimiter={SEPARATOR}");
        let all = fixed.iter().map(|arg| (*arg).to_owned()).chain([delimiter]).chain(args.iter().cloned());
        match runner.run(&CommandLine::new("sacct", all).in_plain_words()).await {
            Ok(output) if output.is_success() => Some(output.out().into_owned()),
            Ok(output) => {
                self.is_off.fetch_or(output.err().contains("accounting storage is disabled"), Ordering::Relaxed);
                None
            }
            Err(_) => None,
        }
    }
}

fn rows(answer: &str) -> impl Iterator<Item = Row<'_>> {
    answer.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(SEPARATOR).collect();
        let [id, state, start, end, dir] = fields[..] else { return None };
        let is_job = !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit());
        is_job.then_some(Row { id, state, start, end, dir })
    })
}

/// What is left of a job that nobody knows.
pub(crate) fn unknown(why: &str) -> AllocationStatus {
    AllocationStatus::Ended(AllocationEnd {
        cause: EndCause::Unknown,
        error: Some(why.to_owned()),
        started: None,
        ended: None,
        may_return: false,
    })
}
