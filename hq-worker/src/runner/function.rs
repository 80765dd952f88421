use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use hq_core::{Outcome, RunId, WorkerResources};
use hq_node::{StartOrder, StopHow};

use super::{
    ClosureThreads, Done, TaskContext, TaskRunner,
    running::{Running, panic_text},
};

type Function = dyn Fn(&TaskContext) -> Result<(), String> + Send + Sync;

/// Runs a Rust closure for each task, on threads of its own: it may block.
///
/// A panic fails its task and nothing else. A closure ends when it returns: stopping sets
/// [`TaskContext::is_stopped`], and a closure that does not look keeps its resources until it is through.
pub struct FnRunner {
    function: Arc<Function>,
    threads: ClosureThreads,
    resources: Arc<WorkerResources>,
    running: Arc<Running<Task>>,
}

struct Task {
    context: TaskContext,
    /// Taken by the thread that begins with it.
    waiting: Option<Done>,
}

impl FnRunner {
    /// Runs `function` on `threads`; `resources` are the worker's, for the labels of what is granted.
    pub fn new<F>(threads: ClosureThreads, resources: Arc<WorkerResources>, function: F) -> Self
    where
        F: Fn(&TaskContext) -> Result<(), String> + Send + Sync + 'static,
    {
        Self { function: Arc::new(function), threads, resources, running: Arc::default() }
    }
}

impl TaskRunner for FnRunner {
    fn start(&self, order: StartOrder, done: Done) {
        let run = order.run;
        let context = TaskContext::new(order, self.resources.clone());
        self.running.lock().insert(run, Task { context, waiting: Some(done) });
        let (function, running) = (self.function.clone(), self.running.clone());
        if let Err(error) = self.threads.run(Box::new(move || carry_out(run, &*function, &running))) {
            let task = self.running.lock().remove(&run);
            if let Some(done) = task.and_then(|task| task.waiting) {
                done.end(Outcome::Failed(format!("cannot start a thread for the task: {error}")));
            }
        }
    }

    fn stop(&self, run: RunId, _how: StopHow) {
        let mut running = self.running.lock();
        let Some(task) = running.get(&run) else { return };
        task.context.set_stopped();
        if task.waiting.is_none() {
            return;
        }
        let task = running.remove(&run);
        drop(running);
        if let Some(done) = task.and_then(|task| task.waiting) {
            done.end(Outcome::Killed);
        }
    }
}

fn carry_out(run: RunId, function: &Function, running: &Running<Task>) {
    let Some((context, done)) =
        running.lock().get_mut(&run).and_then(|task| Some((task.context.clone(), task.waiting.take()?)))
    else {
        return; // stopped before its turn
    };
    let result = catch_unwind(AssertUnwindSafe(|| function(&context)));
    running.lock().remove(&run);
    done.end_with(result.unwrap_or_else(|payload| Err(panic_text(&*payload))));
}

impl fmt::Debug for FnRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnRunner").field("threads", &self.threads).finish_non_exhaustive()
    }
}
