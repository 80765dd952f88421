use std::{ffi::OsStr, fmt, future::Future, os::unix::ffi::OsStrExt, path::Path, time::Duration};

use hq_core::{
    Blob, CrashLimit, DepKind, OnClose, Pin, Profile, ProgramSpec, Request, RequestError, RetryRule, Stdio, TaskNumber,
    Variants,
};
use hq_worker::TaskContext;
use serde::Serialize;

use crate::function::{Recipe, TaskResult, asynchronous, blocking};

/// A task: what it does, what it needs, what it waits for.
///
/// It needs one cpu where nothing else is said.
#[derive(Clone, Debug)]
pub struct Task<B = Body> {
    pub(super) body: B,
    pub(super) profile: Profile,
    pub(super) deps: Vec<(TaskNumber, DepKind)>,
}

/// What a task does.
#[derive(Clone)]
pub struct Body(pub(super) Kind);

/// Runs a program.
#[derive(Clone, Debug)]
pub struct Program(ProgramSpec);

#[derive(Clone)]
pub(super) enum Kind {
    Program(Box<ProgramSpec>),
    Closure(Recipe),
    Named { name: String, args: Result<Vec<u8>, String> },
}

impl Task {
    /// Calls a closure of this process. It may block, and should look at
    /// [`is_stopped`](TaskContext::is_stopped) now and then if it takes long.
    ///
    /// A panic fails the task. After a restart from the journal the task fails: the closure is gone.
    pub fn call<F, R>(function: F) -> Self
    where
        F: Fn(&TaskContext) -> R + Send + Sync + 'static,
        R: TaskResult,
    {
        Self::new(Kind::Closure(blocking(function)))
    }

    /// The same with an async function, which must not block. It is dropped when the task is cancelled.
    pub fn call_async<F, Fut>(function: F) -> Self
    where
        F: Fn(TaskContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: TaskResult> + Send + 'static,
    {
        Self::new(Kind::Closure(asynchronous(function)))
    }

    /// Calls a function that is [registered](crate::EngineBuilder::register) under that name, with these arguments.
    /// It survives a restart from the journal.
    pub fn named(name: impl Into<String>, args: &impl Serialize) -> Self {
        let args = serde_json::to_vec(args).map_err(|e| e.to_string());
        Self::new(Kind::Named { name: name.into(), args })
    }

    const fn with_body(body: Kind, profile: Profile, deps: Vec<(TaskNumber, DepKind)>) -> Self {
        Self { body: Body(body), profile, deps }
    }

    fn new(body: Kind) -> Self {
        Self::with_body(body, one_cpu(), vec![])
    }
}

impl Task<Program> {
    /// Runs a program. It reads nothing, its outputs go nowhere, and it starts in the current directory of this
    /// process, where nothing else is said.
    pub fn program(program: impl AsRef<OsStr>) -> Self {
        let spec = ProgramSpec { args: vec![blob(program)], ..ProgramSpec::default() };
        Self { body: Program(spec), profile: one_cpu(), deps: vec![] }
    }

    /// One more argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.body.0.args.push(blob(arg));
        self
    }

    /// More arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.body.0.args.extend(args.into_iter().map(blob));
        self
    }

    /// A variable of the environment, besides those of the worker.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.body.0.env.push((blob(name), blob(value)));
        self
    }

    /// Where it starts; may hold placeholders such as `%{TASK_ID}`.
    #[must_use]
    pub fn current_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.body.0.cwd = blob(dir.as_ref());
        self
    }

    /// The file of its standard output; may hold placeholders.
    #[must_use]
    pub fn stdout(mut self, file: impl AsRef<Path>) -> Self {
        self.body.0.stdout = Stdio::File { path: blob(file.as_ref()), on_close: OnClose::Keep };
        self
    }

    /// The file of its standard error; may hold placeholders.
    #[must_use]
    pub fn stderr(mut self, file: impl AsRef<Path>) -> Self {
        self.body.0.stderr = Stdio::File { path: blob(file.as_ref()), on_close: OnClose::Keep };
        self
    }

    /// Both outputs go into one file that the worker has for all tasks of this stream directory, which is made as needed;
    /// may hold placeholders of the job. An output that is given a file of its own later goes there.
    #[must_use]
    pub fn stream(mut self, dir: impl AsRef<Path>) -> Self {
        let stream = Stdio::Stream { dir: blob(dir.as_ref()) };
        (self.body.0.stdout, self.body.0.stderr) = (stream.clone(), stream);
        self
    }

    /// What it reads.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.body.0.stdin = Some(bytes.into().into());
        self
    }

    /// How it is kept on its cpus.
    #[must_use]
    pub const fn pin(mut self, pin: Pin) -> Self {
        self.body.0.pin = pin;
        self
    }
}

impl<B> Task<B> {
    /// What it needs.
    #[must_use]
    pub fn request(mut self, request: Request) -> Self {
        self.profile.variants = request.into();
        self
    }

    /// What it needs, as alternatives, the preferred one first.
    ///
    /// # Errors
    /// For none, for more than 32, and for a mix of requests for a part of a worker and for whole workers.
    pub fn variants(mut self, requests: impl IntoIterator<Item = Request>) -> Result<Self, RequestError> {
        self.profile.variants = Variants::new(requests.into_iter().collect())?;
        Ok(self)
    }

    /// Larger goes first; 0 where nothing is said.
    #[must_use]
    pub const fn priority(mut self, priority: i32) -> Self {
        self.profile.priority = priority;
        self
    }

    /// It is ended after running that long, and has failed then.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.profile.time_limit = Some(limit.into());
        self
    }

    /// How often it may lose its worker.
    #[must_use]
    pub const fn crash_limit(mut self, limit: CrashLimit) -> Self {
        self.profile.crash_limit = limit;
        self
    }

    /// It is run again after ends of that kind. Of several rules the first one counts that is for an end; in one that
    /// must [never restart](CrashLimit::NeverRestart) the submit is refused.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use hq_engine::{ExitCodes, RetryOn, RetryRule, RetryTimes, Task};
    ///
    /// let busy = RetryRule::new(RetryOn::Exit(ExitCodes::of([75])), RetryTimes::Limit(5));
    /// let task = Task::program("./fetch")
    ///     .retry(busy.waiting(Duration::from_secs(10).into(), Duration::from_secs(300).into()))
    ///     .retry(RetryRule::at_once(RetryOn::OutOfMemory(ExitCodes::default()), 1));
    /// ```
    #[must_use]
    pub fn retry(mut self, rule: RetryRule) -> Self {
        self.profile.retry.push(rule);
        self
    }

    /// It waits until that task finished. If that one does not, this one is aborted.
    #[must_use]
    pub fn after(self, task: TaskNumber) -> Self {
        self.waits_for(task, DepKind::Success)
    }

    /// It waits until that task ended, however.
    #[must_use]
    pub fn after_any_end(self, task: TaskNumber) -> Self {
        self.waits_for(task, DepKind::AnyEnd)
    }

    /// It waits until that task failed. If that one ends otherwise, this one is aborted.
    #[must_use]
    pub fn after_failure(self, task: TaskNumber) -> Self {
        self.waits_for(task, DepKind::Failure)
    }

    /// It waits until all of these tasks finished.
    #[must_use]
    pub fn after_all(self, tasks: impl IntoIterator<Item = TaskNumber>) -> Self {
        tasks.into_iter().fold(self, Self::after)
    }

    fn waits_for(mut self, task: TaskNumber, kind: DepKind) -> Self {
        self.deps.push((task, kind));
        self
    }
}

impl From<Task<Program>> for Task {
    fn from(Task { body, profile, deps }: Task<Program>) -> Self {
        Self::with_body(Kind::Program(Box::new(body.0)), profile, deps)
    }
}

fn blob(text: impl AsRef<OsStr>) -> Blob {
    text.as_ref().as_bytes().into()
}

fn one_cpu() -> Profile {
    // One cpu is no refused request.
    Profile::new(Request::cpus(1).unwrap_or_else(|_| Request::gang(1)))
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Program(spec) => f.debug_tuple("Program").field(spec).finish(),
            Kind::Closure(_) => f.write_str("Closure"),
            Kind::Named { name, .. } => f.debug_tuple("Named").field(name).finish(),
        }
    }
}
