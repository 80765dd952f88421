use std::{
    fmt,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use hq_core::{Outcome, RunId, WorkerResources};
use hq_node::{StartOrder, StopHow};
use tokio::{runtime::Handle, task::AbortHandle};

use super::{
    Done, TaskContext, TaskRunner,
    running::{Running, panic_text},
};

/// Runs an async function for each task, on a tokio runtime: it must not block.
///
/// A panic fails its task and nothing else. Stopping drops the future at its next await, whatever the way of
/// stopping; what has to be tidied up belongs into destructors.
pub struct AsyncRunner<F> {
    function: Arc<F>,
    runtime: Handle,
    resources: Arc<WorkerResources>,
    running: Arc<Running<Task>>,
}

struct Task {
    context: TaskContext,
    /// Not there yet while the task is being spawned.
    abort: Option<AbortHandle>,
}

impl<F, Fut> AsyncRunner<F>
where
    F: Fn(TaskContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), String>> + Send + 'static,
{
    /// Runs `function` on `runtime`; `resources` are the worker's, for the labels of what is granted.
    pub fn new(runtime: Handle, resources: Arc<WorkerResources>, function: F) -> Self {
        Self { function: Arc::new(function), runtime, resources, running: Arc::default() }
    }
}

impl<F, Fut> TaskRunner for AsyncRunner<F>
where
    F: Fn(TaskContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), String>> + Send + 'static,
{
    fn start(&self, order: StartOrder, done: Done) {
        let run = order.run;
        let context = TaskContext::new(order, self.resources.clone());
        self.running.lock().insert(run, Task { context: context.clone(), abort: None });
        let duty = Duty { done: Some(done), context: context.clone(), running: self.running.clone() };
        let function = self.function.clone();
        let task = self.runtime.spawn(async move {
            let result = caught(&*function, context).await;
            duty.end(result);
        });
        // It may have ended already.
        if let Some(entry) = self.running.lock().get_mut(&run) {
            entry.abort = Some(task.abort_handle());
        }
    }

    fn stop(&self, run: RunId, _how: StopHow) {
        let mut running = self.running.lock();
        let Some(task) = running.get_mut(&run) else { return };
        task.context.set_stopped();
        let abort = task.abort.take();
        // Aborting may drop the future here and now, and its destructor takes the lock.
        drop(running);
        if let Some(abort) = abort {
            abort.abort();
        }
    }
}

async fn caught<F, Fut>(function: &F, context: TaskContext) -> Result<(), String>
where
    F: Fn(TaskContext) -> Fut,
    Fut: Future<Output = Result<(), String>>,
{
    let made = catch_unwind(AssertUnwindSafe(|| function(context)));
    let future = made.map_err(|payload| panic_text(&*payload))?;
    let mut future = pin!(future);
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
        Ok(poll) => poll,
        Err(payload) => Poll::Ready(Err(panic_text(&*payload))),
    })
    .await
}

/// Tells the end also when the future is dropped before it.
struct Duty {
    done: Option<Done>,
    context: TaskContext,
    running: Arc<Running<Task>>,
}

impl Duty {
    fn end(mut self, result: Result<(), String>) {
        self.running.lock().remove(&self.context.run());
        if let Some(done) = self.done.take() {
            done.end_with(result);
        }
    }
}

impl Drop for Duty {
    fn drop(&mut self) {
        let Some(done) = self.done.take() else { return };
        self.running.lock().remove(&self.context.run());
        if self.context.is_stopped() {
            done.end(Outcome::Killed);
        } else {
            done.end(Outcome::Failed("the runtime of the task ended".to_owned()));
        }
    }
}

impl<F> fmt::Debug for AsyncRunner<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncRunner").finish_non_exhaustive()
    }
}
