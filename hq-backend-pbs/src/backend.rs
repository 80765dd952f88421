use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use hq_backend::{
    Allocation, AllocationDir, AllocationId, AllocationRequest, AllocationStatus, AllocatorBackend, BackendError,
    BackendErrorKind, BatchRequest, Capability, CommandError, CommandLine, CommandOutput, CommandRunner, ProcessRunner,
    parse,
};

use crate::{
    question::{ask_all, ask_one, describe},
    refusal::{is_over, is_unknown, refusal},
    script::render,
};

/// Name of the backend.
pub(crate) const NAME: &str = "pbs";
/// Time for a question to be answered.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Jobs that one command asks about at most.
const AT_ONCE: usize = 128;
/// Commands of one call at the same time.
const COMMANDS: usize = 4;
/// Jobs of one name that are looked at, the latest ones.
const NAMESAKES_MAX: usize = 64;
/// Words that are warned of, at most.
const WARNED_MAX: usize = 64;
/// A job that is about to end cannot be deleted.
const ENDING: i32 = 168;

/// Batch jobs of PBS, by its commands.
#[derive(Debug)]
pub struct PbsBackend<R = ProcessRunner> {
    runner: R,
    /// Words for states that were warned of.
    warned: Mutex<BTreeSet<String>>,
}

impl PbsBackend {
    /// By the commands of this machine.
    pub fn new() -> Self {
        Self::with_runner(ProcessRunner::new())
    }
}

impl Default for PbsBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: CommandRunner> PbsBackend<R> {
    /// By commands that `runner` runs.
    pub fn with_runner(runner: R) -> Self {
        Self { runner, warned: Mutex::default() }
    }

    /// Answers for some allocations: by one command for all, and one for each that it says nothing of.
    async fn ask(&self, allocations: &[Allocation]) -> Vec<Result<AllocationStatus, BackendError>> {
        let told = ask_all(&self.runner, allocations).await;
        let missing: Vec<&Allocation> =
            allocations.iter().zip(&told).filter(|(_, answer)| answer.is_none()).map(|(it, _)| it).collect();
        let calls: Vec<_> = missing.into_iter().map(|allocation| ask_one(&self.runner, allocation)).collect();
        let mut asked = stream::iter(calls).buffered(COMMANDS).collect::<Vec<_>>().await.into_iter();
        let no_answer = || Err(BackendError::new(BackendErrorKind::Unexpected, NAME, "status", "there is no answer"));
        told.into_iter().map(|answer| answer.or_else(|| asked.next()).unwrap_or_else(no_answer)).collect()
    }

    fn warn_once(&self, state: &str) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let word: String = state.chars().take(64).collect();
        if warned.len() < WARNED_MAX && warned.insert(word.clone()) {
            tracing::warn!("PBS says that a job is {word:?}, which is not known here; it is kept");
        }
    }

    async fn find_by_name(&self, batch: &BatchRequest) -> Result<Option<AllocationId>, BackendError> {
        let line = CommandLine::new("qselect", ["-x", "-N", batch.name.as_str()]).in_plain_words().within(ANSWER_MAX);
        let answer = match self.runner.run(&line).await {
            Ok(output) if output.is_success() => output.out().into_owned(),
            outcome => return Err(refusal("find", "qselect", outcome)),
        };
        let ids: Vec<&str> = answer.lines().map(str::trim).filter(|id| parse::pbs_job_of(id).is_some()).collect();
        let latest = ids.iter().rev().take(NAMESAKES_MAX).copied();
        let calls: Vec<_> = latest.map(|id| self.is_in(id, batch)).collect();
        let mut answers = stream::iter(calls).buffered(COMMANDS);
        while let Some(answer) = answers.next().await {
            if let Some(id) = answer? {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// The id, if its job is of this directory.
    async fn is_in(&self, id: &str, batch: &BatchRequest) -> Result<Option<AllocationId>, BackendError> {
        let job = describe(&self.runner, id, None).await?;
        let is_ours = job.is_ok_and(|job| job.is_of(&batch.directory));
        Ok(is_ours.then(|| AllocationId(id.to_owned())))
    }
}

#[async_trait]
impl<R: CommandRunner> AllocatorBackend for PbsBackend<R> {
    fn name(&self) -> &str {
        NAME
    }

    fn capability(&self) -> Capability {
        Capability { workers_max: u32::MAX, time_limit: true, find: true, validate: false, batch: true }
    }

    async fn submit(&self, request: &AllocationRequest) -> Result<AllocationId, BackendError> {
        let refused = |message: &str| BackendError::new(BackendErrorKind::Unsupported, NAME, "submit", message);
        let files = |e: hq_backend::DirectoryError| {
            BackendError::new(BackendErrorKind::Files, NAME, "submit", e.to_string()).with_source(e)
        };
        if request.workers == 0 {
            return Err(refused("an allocation has one worker at least"));
        }
        let batch = request.batch.as_ref().ok_or_else(|| refused("a batch job needs a directory and a name"))?;
        // Before anything is written.
        let text = render(request, batch, &AllocationDir::open(&batch.directory))?;
        let dir = AllocationDir::create(&batch.directory).map_err(files)?;
        let script = dir.write_script(&text).map_err(files)?;
        let outcome = self.runner.run(&CommandLine::new("qsub", [script]).in_dir(Some(batch.directory.clone()))).await;
        let said = match &outcome {
            Ok(output) => submitted(&output.out(), output.is_success()),
            Err(CommandError::TimedOut { output, .. }) => submitted(&output.out(), false),
            Err(CommandError::Start(_)) => None,
        };
        let Some(id) = said else { return Err(refusal("submit", "qsub", outcome)) };
        if let Err(e) = dir.write_id(&id) {
            // It is there all the same, and is found by its directory.
            tracing::warn!("the id of PBS job {id} is not written down: {e}");
        }
        Ok(id)
    }

    async fn status(&self, allocations: &[Allocation]) -> Vec<Result<AllocationStatus, BackendError>> {
        let mut all = Vec::with_capacity(allocations.len());
        for part in allocations.chunks(AT_ONCE) {
            all.extend(self.ask(part).await);
        }
        for answer in &all {
            if let Ok(AllocationStatus::Unclear { state }) = answer {
                self.warn_once(state);
            }
        }
        all
    }

    async fn cancel(&self, allocation: &Allocation) -> Result<(), BackendError> {
        let line = CommandLine::new("qdel", [&*allocation.id.0]).in_dir(allocation.directory.clone());
        match self.runner.run(&line.within(ANSWER_MAX)).await {
            Ok(output) if is_cancelled(&output) => Ok(()),
            outcome => Err(refusal("cancel", "qdel", outcome)),
        }
    }

    async fn find(&self, request: &AllocationRequest) -> Result<Option<AllocationId>, BackendError> {
        let Some(batch) = &request.batch else { return Ok(None) };
        match AllocationDir::open(&batch.directory).read_id() {
            Some(id) => Ok(Some(id)),
            None => self.find_by_name(batch).await,
        }
    }
}

/// Whether `qdel` did its work, or there was nothing to do.
pub(crate) fn is_cancelled(output: &CommandOutput) -> bool {
    output.is_success() || output.code == Some(ENDING) || is_unknown(output) || is_over(output)
}

/// The id in the answer of `qsub`: all of it, or its last line where something is printed before. Of a command that
/// failed only what cannot be anything else counts.
pub(crate) fn submitted(answer: &str, is_success: bool) -> Option<AllocationId> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || "._-[]".contains(c);
    let is_id = |word: &str| (1..=256).contains(&word.len()) && !word.starts_with('-') && word.chars().all(is_good);
    let last = answer.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    // A single word of a message is no id.
    let is_alone = answer.trim() == last || last.bytes().any(|b| b.is_ascii_digit());
    let is_whole = is_success && is_alone && is_id(last);
    let is_certain = last.contains('.') && parse::pbs_job_of(last).as_deref() == Some(last);
    (is_whole || is_certain).then(|| AllocationId(last.to_owned()))
}
