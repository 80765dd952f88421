use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use hq_backend::{
    Allocation, AllocationDir, AllocationId, AllocationRequest, AllocationStatus, AllocatorBackend, BackendError,
    BackendErrorKind, BatchRequest, Capability, CommandError, CommandLine, CommandRunner, ProcessRunner, parse,
};

use crate::{
    accounting::{Accounting, unknown},
    refusal::{UNKNOWN_JOB, refusal},
    script::render,
    search,
    show::Shown,
};

/// Name of the backend.
pub(crate) const NAME: &str = "slurm";
/// Time for a question to be answered.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Time for the look before a cancel: the cancel is what matters.
const LOOK_MAX: Duration = Duration::from_secs(5);
/// Questions of one call at the same time.
const AT_ONCE: usize = 8;
/// Words that are warned of, at most.
const WARNED_MAX: usize = 64;

/// Batch jobs of Slurm, by its commands.
#[derive(Debug)]
pub struct SlurmBackend<R = ProcessRunner> {
    runner: R,
    accounting: Accounting,
    /// Words for states that were warned of.
    warned: Mutex<BTreeSet<String>>,
}

impl SlurmBackend {
    /// By the commands of this machine.
    pub fn new() -> Self {
        Self::with_runner(ProcessRunner::new())
    }
}

impl Default for SlurmBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: CommandRunner> SlurmBackend<R> {
    /// By commands that `runner` runs.
    pub fn with_runner(runner: R) -> Self {
        Self { runner, accounting: Accounting::default(), warned: Mutex::default() }
    }

    fn batch<'a>(
        &self,
        operation: &'static str,
        request: &'a AllocationRequest,
    ) -> Result<&'a BatchRequest, BackendError> {
        let refused = |message: &str| BackendError::new(BackendErrorKind::Unsupported, NAME, operation, message);
        if request.workers == 0 {
            return Err(refused("an allocation has one worker at least"));
        }
        request.batch.as_ref().ok_or_else(|| refused("a batch job needs a directory and a name"))
    }

    async fn show(&self, allocation: &Allocation, limit: Duration) -> Result<Option<String>, BackendError> {
        let line = CommandLine::new("scontrol", ["show", "job", &allocation.id.0]);
        let line = line.in_dir(allocation.directory.clone()).in_plain_words().within(limit);
        match self.runner.run(&line).await {
            Ok(output) if output.is_success() => Ok(Some(output.out().into_owned())),
            Ok(output) if output.err().contains(UNKNOWN_JOB) => Ok(None),
            outcome => Err(refusal("status", "scontrol", outcome)),
        }
    }

    async fn status_of(&self, allocation: &Allocation) -> Result<AllocationStatus, BackendError> {
        let Some(answer) = self.show(allocation, ANSWER_MAX).await? else {
            let end = self.accounting.end(&self.runner, allocation).await;
            return Ok(end.unwrap_or_else(|| unknown("Slurm does not know it")));
        };
        let shown = Shown::read(&answer, &allocation.id.0);
        let Some(status) = shown.status() else {
            let message = format!("`scontrol show job {}` names no state", allocation.id);
            return Err(BackendError::new(BackendErrorKind::Unexpected, NAME, "status", message));
        };
        if !shown.is_of(allocation.directory.as_deref()) {
            return Ok(unknown("Slurm lost it, and has given its id to another job"));
        }
        if let AllocationStatus::Unclear { state } = &status {
            self.warn_once(state);
        }
        Ok(status)
    }

    /// Its status, unless the controller was found to be away: then it is not asked again and again.
    async fn ask(
        &self,
        allocation: &Allocation,
        away: &Mutex<Option<BackendError>>,
    ) -> Result<AllocationStatus, BackendError> {
        if let Some(error) = away.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            return Err(error);
        }
        let result = self.status_of(allocation).await;
        if let Err(error) = &result
            && matches!(error.kind, BackendErrorKind::Unavailable | BackendErrorKind::Missing)
        {
            *away.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
        }
        result
    }

    fn warn_once(&self, state: &str) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        let word: String = state.chars().take(64).collect();
        if warned.len() < WARNED_MAX && warned.insert(word.clone()) {
            tracing::warn!("Slurm says that a job is {word:?}, which is not known here; it is kept");
        }
    }
}

#[async_trait]
impl<R: CommandRunner> AllocatorBackend for SlurmBackend<R> {
    fn name(&self) -> &str {
        NAME
    }

    fn capability(&self) -> Capability {
        Capability { workers_max: u32::MAX, time_limit: true, find: true, validate: true, batch: true }
    }

    async fn submit(&self, request: &AllocationRequest) -> Result<AllocationId, BackendError> {
        let files = |e: hq_backend::DirectoryError| {
            BackendError::new(BackendErrorKind::Files, NAME, "submit", e.to_string()).with_source(e)
        };
        let batch = self.batch("submit", request)?;
        // Before anything is written.
        let text = render(request, batch, &AllocationDir::open(&batch.directory))?;
        let dir = AllocationDir::create(&batch.directory).map_err(files)?;
        let script = dir.write_script(&text).map_err(files)?;
        let line = CommandLine::new("sbatch", [script]).in_dir(Some(batch.directory.clone()));
        let outcome = self.runner.run(&line).await;
        // What has a number has been submitted, however the command ended.
        let said = match &outcome {
            Ok(output) | Err(CommandError::TimedOut { output, .. }) => submitted(&output.out()),
            Err(CommandError::Start(_)) => None,
        };
        let Some(id) = said else { return Err(refusal("submit", "sbatch", outcome)) };
        if let Err(e) = dir.write_id(&id) {
            // It is there all the same, and is found by its directory.
            tracing::warn!("the id of Slurm job {id} is not written down: {e}");
        }
        Ok(id)
    }

    async fn status(&self, allocations: &[Allocation]) -> Vec<Result<AllocationStatus, BackendError>> {
        let away = Mutex::default();
        let calls: Vec<_> = allocations.iter().map(|allocation| self.ask(allocation, &away)).collect();
        stream::iter(calls).buffered(AT_ONCE).collect().await
    }

    async fn cancel(&self, allocation: &Allocation) -> Result<(), BackendError> {
        if allocation.directory.is_some()
            && let Ok(Some(answer)) = self.show(allocation, LOOK_MAX).await
            && !Shown::read(&answer, &allocation.id.0).is_of(allocation.directory.as_deref())
        {
            tracing::warn!("Slurm job {} is not ours any more and is left alone", allocation.id);
            return Ok(());
        }
        let line = CommandLine::new("scancel", [&*allocation.id.0]).in_dir(allocation.directory.clone());
        match self.runner.run(&line.within(ANSWER_MAX)).await {
            Ok(output) if output.is_success() || output.err().contains(UNKNOWN_JOB) => Ok(()),
            outcome => Err(refusal("cancel", "scancel", outcome)),
        }
    }

    async fn find(&self, request: &AllocationRequest) -> Result<Option<AllocationId>, BackendError> {
        match &request.batch {
            Some(batch) => search::find(&self.runner, &self.accounting, batch).await,
            None => Ok(None),
        }
    }

    async fn validate(&self, request: &AllocationRequest) -> Result<Option<String>, BackendError> {
        let batch = self.batch("validate", request)?;
        let text = render(request, batch, &AllocationDir::open(&batch.directory))?;
        let mut line = CommandLine::new("sbatch", ["--test-only"]);
        line.stdin = text.into_bytes();
        match self.runner.run(&line).await {
            Ok(output) if output.is_success() => {
                let said = output.err().lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned);
                Ok(said.map(|said| said.strip_prefix("sbatch: ").unwrap_or(&said).to_owned()))
            }
            outcome => Err(refusal("validate", "sbatch", outcome)),
        }
    }
}

/// The id in the answer of `sbatch`: behind `Submitted batch job`, whatever is printed before it, or alone on a line
/// where the user asked for that.
pub(crate) fn submitted(answer: &str) -> Option<AllocationId> {
    const START: &str = "submitted batch job";
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-');
    let is_id = |word: &&str| word.len() <= 64 && !word.starts_with('-') && word.chars().all(is_good);
    let id = |word: &str| AllocationId(word.to_owned());
    let mut lines = answer.lines().map(str::trim);
    let told = lines.clone().find(|line| line.get(..START.len()).is_some_and(|it| it.eq_ignore_ascii_case(START)));
    match told {
        Some(line) => line.split_whitespace().nth(3).filter(is_id).map(id),
        None => {
            let last = lines.rfind(|line| !line.is_empty())?;
            let number = last.split_once(';').map_or(last, |(number, _)| number);
            (parse::job_of(number) == Some(number)).then(|| id(number))
        }
    }
}
