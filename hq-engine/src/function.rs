use std::{fmt, future::Future, sync::Arc};

use hq_core::WorkerResources;
use hq_worker::{AsyncRunner, ClosureThreads, FnRunner, TaskContext, TaskRunner};
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;

/// Makes what runs a function on a worker of this process.
pub(crate) type Recipe = Arc<dyn Fn(&Site) -> Arc<dyn TaskRunner> + Send + Sync>;

/// A worker of this process, as the runners of functions know it.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// Tells it from the other workers of the engine.
    pub(crate) id: u64,
    pub(crate) threads: ClosureThreads,
    pub(crate) runtime: Handle,
    pub(crate) resources: Arc<WorkerResources>,
}

/// What the function of a task may return: nothing, or a `Result` whose error has a text.
pub trait TaskResult {
    /// Whether the task finished; the text tells people why not.
    #[doc(hidden)]
    fn into_result(self) -> Result<(), String>;
}

impl TaskResult for () {
    fn into_result(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: fmt::Display> TaskResult for Result<(), E> {
    fn into_result(self) -> Result<(), String> {
        self.map_err(|e| e.to_string())
    }
}

/// A closure that may block.
pub(crate) fn blocking<F, R>(function: F) -> Recipe
where
    F: Fn(&TaskContext) -> R + Send + Sync + 'static,
    R: TaskResult,
{
    let function = Arc::new(function);
    Arc::new(move |site| {
        let function = Arc::clone(&function);
        let run = move |ctx: &TaskContext| function(ctx).into_result();
        Arc::new(FnRunner::new(site.threads.clone(), Arc::clone(&site.resources), run))
    })
}

/// An async function.
pub(crate) fn asynchronous<F, Fut>(function: F) -> Recipe
where
    F: Fn(TaskContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: TaskResult> + Send + 'static,
{
    let function = Arc::new(function);
    Arc::new(move |site| {
        let function = Arc::clone(&function);
        let run = move |ctx: TaskContext| {
            let future = function(ctx);
            async move { future.await.into_result() }
        };
        Arc::new(AsyncRunner::new(site.runtime.clone(), Arc::clone(&site.resources), run))
    })
}

/// A function that finds its arguments in the body of its task.
pub(crate) fn with_args<F, A, R>(function: F) -> Recipe
where
    F: Fn(&TaskContext, A) -> R + Send + Sync + 'static,
    A: DeserializeOwned,
    R: TaskResult,
{
    blocking(move |ctx: &TaskContext| function(ctx, args(ctx)?).into_result())
}

/// An async function that finds its arguments in the body of its task.
pub(crate) fn async_with_args<F, A, Fut>(function: F) -> Recipe
where
    F: Fn(TaskContext, A) -> Fut + Send + Sync + 'static,
    A: DeserializeOwned + Send,
    Fut: Future<Output: TaskResult> + Send + 'static,
{
    let function = Arc::new(function);
    asynchronous(move |ctx: TaskContext| {
        let future = args(&ctx).map(|args| function(ctx, args));
        async move { future?.await.into_result() }
    })
}

fn args<A: DeserializeOwned>(ctx: &TaskContext) -> Result<A, String> {
    let body = if ctx.part().is_empty() { ctx.shared() } else { ctx.part() };
    serde_json::from_slice(body).map_err(|e| format!("cannot read the arguments of the task: {e}"))
}
