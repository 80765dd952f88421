use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use hq_core::{Outcome, RunId};
use hq_node::{StartOrder, StopHow};
use hq_worker::{Done, EndSink, TaskRunner};
use serde::{Deserialize, Serialize};

use crate::function::{Recipe, Site};

/// The kind of tasks that are closures of this process.
pub(crate) const CLOSURE_KIND: &str = "closure";

/// What a task of a closure has as its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClosureRef {
    /// Of the engine whose closure it is.
    engine: u64,
    /// Which one.
    closure: u64,
}

/// The closures of the jobs that have not ended.
pub(crate) struct Closures {
    engine: u64,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    last: u64,
    closures: HashMap<u64, Entry>,
}

struct Entry {
    recipe: Recipe,
    /// What runs it on each worker.
    runners: HashMap<u64, Arc<dyn TaskRunner>>,
}

impl Closures {
    /// An empty table; `engine` tells this engine from all others, earlier lives of it included.
    pub(crate) fn new(engine: u64) -> Self {
        Self { engine, table: Mutex::default() }
    }

    /// Keeps a closure until it is [dropped](Self::drop_all).
    pub(crate) fn add(&self, recipe: Recipe) -> ClosureRef {
        let mut table = self.lock();
        table.last += 1;
        let closure = table.last;
        table.closures.insert(closure, Entry { recipe, runners: HashMap::new() });
        ClosureRef { engine: self.engine, closure }
    }

    /// Forgets closures. Runs that go on are not disturbed.
    pub(crate) fn drop_all(&self, closures: &[ClosureRef]) {
        let dropped: Vec<_> = {
            let mut table = self.lock();
            closures.iter().filter_map(|closure| table.closures.remove(&closure.closure)).collect()
        };
        // What they hold is not dropped under the lock.
        drop(dropped);
    }

    fn runner(&self, body: &[u8], site: &Site) -> Result<Arc<dyn TaskRunner>, &'static str> {
        let closure: ClosureRef = postcard::from_bytes(body).map_err(|_| "the body of this task is no closure")?;
        if closure.engine != self.engine {
            return Err("the closure of this task was part of a program that has ended; register it under a name to \
                        have it survive");
        }
        let mut table = self.lock();
        let entry = table.closures.get_mut(&closure.closure).ok_or("the closure of this task is gone")?;
        let runner = entry.runners.entry(site.id).or_insert_with(|| (entry.recipe)(site));
        Ok(Arc::clone(runner))
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // No code of others runs under the lock, but for the making of a runner.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs closures on one worker: hands each to the runner that its closure has there.
pub(crate) struct ClosureRunner {
    closures: Arc<Closures>,
    site: Site,
    running: Arc<Running>,
}

/// The runs that have not ended.
#[derive(Default)]
struct Running(Mutex<Runs>);

type Runs = HashMap<RunId, (Arc<dyn TaskRunner>, Done)>;

impl ClosureRunner {
    pub(crate) fn new(closures: Arc<Closures>, site: Site) -> Self {
        Self { closures, site, running: Arc::default() }
    }
}

impl TaskRunner for ClosureRunner {
    fn start(&self, order: StartOrder, done: Done) {
        let body = if order.part.is_empty() { &order.body.shared[..] } else { &order.part[..] };
        match self.closures.runner(body, &self.site) {
            Ok(runner) => {
                let run = order.run;
                self.running.lock().insert(run, (Arc::clone(&runner), done));
                let sink: Arc<dyn EndSink> = Arc::clone(&self.running) as _;
                runner.start(order, Done::new(run, sink));
            }
            Err(reason) => done.end(Outcome::Failed(reason.to_owned())),
        }
    }

    fn stop(&self, run: RunId, how: StopHow) {
        let runner = self.running.lock().get(&run).map(|(runner, _)| Arc::clone(runner));
        if let Some(runner) = runner {
            runner.stop(run, how);
        }
    }
}

impl Running {
    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EndSink for Running {
    fn ended(&self, run: RunId, outcome: Outcome) {
        let ended = self.lock().remove(&run);
        if let Some((_, done)) = ended {
            done.end(outcome);
        }
    }
}
