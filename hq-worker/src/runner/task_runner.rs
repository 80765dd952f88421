use std::{collections::BTreeMap, fmt, sync::Arc};

use hq_core::{JobId, PROGRAM_KIND, RunId};
use hq_node::{StartOrder, StopHow};

use super::Done;

/// Runs tasks whose bodies are of one kind.
///
/// Both methods are called by the loop that carries the worker: they return at once and never block.
pub trait TaskRunner: Send + Sync {
    /// Starts a run. `done` may be used from anywhere and at any time, also before this returns; what goes wrong
    /// is said through it, too.
    fn start(&self, order: StartOrder, done: Done);

    /// Asks a run to end; its end is told through its [`Done`] as usual. A run that is unknown, or has ended, is none
    /// of the runner's business.
    fn stop(&self, run: RunId, how: StopHow);

    /// Somebody listens to what runs of a job print: so many more pieces may be told by [`EndSink::printed`], which name
    /// this session; room of another one is gone. None: nobody does any more. Who prints nothing need not care.
    ///
    /// [`EndSink::printed`]: crate::EndSink::printed
    fn listen(&self, _job: JobId, _session: u64, _credit: Option<u32>) {}
}

/// The runners of a worker, by the kind of body that they take.
#[derive(Clone, Default)]
pub struct Runners {
    by_kind: BTreeMap<String, Arc<dyn TaskRunner>>,
}

impl Runners {
    /// None at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with a runner for `kind`, in place of an earlier one.
    #[must_use]
    pub fn with(mut self, kind: impl Into<String>, runner: Arc<dyn TaskRunner>) -> Self {
        self.by_kind.insert(kind.into(), runner);
        self
    }

    /// The runner for `kind`.
    pub fn get(&self, kind: &str) -> Option<&Arc<dyn TaskRunner>> {
        self.by_kind.get(kind)
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<dyn TaskRunner>> {
        self.by_kind.values()
    }

    /// All kinds but `program`, as [`WorkerConfig::kinds`](hq_core::WorkerConfig::kinds) wants them.
    pub fn kinds(&self) -> Vec<String> {
        self.by_kind.keys().filter(|kind| *kind != PROGRAM_KIND).cloned().collect()
    }
}

impl fmt::Debug for Runners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_kind.keys()).finish()
    }
}
