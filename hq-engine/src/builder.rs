use std::{
    collections::BTreeMap,
    fmt,
    future::Future,
    path::PathBuf,
    process,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use hq_core::{ClientRequest, Fact, PROGRAM_KIND, Seq, ServerInfo, WallTime};
use hq_journal::{FileJournal, FileOptions, Journal, OnDurable};
use hq_node::{ServerConfig, ServerNode};
use hq_scheduler::policy::{Order, Placement};
use hq_transport::Versions;
use hq_worker::TaskContext;
use serde::de::DeserializeOwned;

use crate::{
    AllocationQueue, Engine, EngineHandle, LocalWorker, StartError,
    closures::{CLOSURE_KIND, Closures},
    driver::{Driver, Input, Signals, Start},
    function::{Recipe, TaskResult, async_with_args, with_args},
    local_worker::Place,
    past,
    scaling::Carrier,
};

/// Bytes of past events that are kept for subscribers.
const FEED_BYTES: usize = 4 << 20;

/// A wait that comes after a lazy record is held up by it no longer than that.
const FLUSH_MAX: Duration = Duration::from_millis(100);

/// Sets an engine up.
#[must_use]
pub struct EngineBuilder {
    workers: Vec<LocalWorker>,
    registered: Vec<(String, Recipe)>,
    journal: Option<PathBuf>,
    journal_options: FileOptions,
    policy: Option<(String, String)>,
    idle_timeout: Option<Duration>,
    adopt_timeout: Duration,
    server_uid: Option<String>,
    orders: Vec<Box<dyn Order>>,
    placements: Vec<Box<dyn Placement>>,
    allocations: Option<AllocationQueue>,
}

impl EngineBuilder {
    pub(crate) fn new() -> Self {
        Self {
            workers: vec![],
            registered: vec![],
            journal: None,
            journal_options: FileOptions { condenser: Some(past::condenser), ..FileOptions::default() },
            policy: None,
            idle_timeout: None,
            adopt_timeout: Duration::from_secs(60),
            server_uid: None,
            orders: vec![],
            placements: vec![],
            allocations: None,
        }
    }

    /// A worker in this process.
    pub fn worker(mut self, worker: LocalWorker) -> Self {
        self.workers.push(worker);
        self
    }

    /// A function that tasks of this and later lives of the engine call by its name; see
    /// [`Task::named`](crate::Task::named). It may block.
    pub fn register<F, A, R>(mut self, name: impl Into<String>, function: F) -> Self
    where
        F: Fn(&TaskContext, A) -> R + Send + Sync + 'static,
        A: DeserializeOwned + 'static,
        R: TaskResult + 'static,
    {
        self.registered.push((name.into(), with_args(function)));
        self
    }

    /// The same with an async function, which must not block.
    pub fn register_async<F, A, Fut>(mut self, name: impl Into<String>, function: F) -> Self
    where
        F: Fn(TaskContext, A) -> Fut + Send + Sync + 'static,
        A: DeserializeOwned + Send + 'static,
        Fut: Future<Output: TaskResult> + Send + 'static,
    {
        self.registered.push((name.into(), async_with_args(function)));
        self
    }

    /// Keeps all that happens in this file, and goes on from what is in it.
    pub fn journal(mut self, file: impl Into<PathBuf>) -> Self {
        self.journal = Some(file.into());
        self
    }

    /// The longest age of what is in the journal and not yet on disk, where nobody waits for it: 20 ms where nothing is
    /// said. What is answered is on disk before, whatever the period. As somebody may come and wait at any time, more
    /// than 100 ms count as that.
    pub fn journal_flush(mut self, period: Duration) -> Self {
        self.journal_options.flush_period = period.min(FLUSH_MAX);
        self
    }

    /// Takes the journal from another process that has it locked, or had on a machine that is gone. That one notices before
    /// it calls anything safe, as far as both see the same file at once: over a network file system that keeps attributes of
    /// files for a while, make sure that it has ended.
    pub const fn take_journal_over(mut self, takeover: bool) -> Self {
        self.journal_options.takeover = takeover;
        self
    }

    /// Who goes first, and where to, by names: `priority` and `pack` where nothing is said.
    pub fn policy(mut self, order: impl Into<String>, placement: impl Into<String>) -> Self {
        self.policy = Some((order.into(), placement.into()));
        self
    }

    /// An order of one's own, to be chosen by its [name](Order::name) with [`policy`](Self::policy), now or later.
    pub fn order(mut self, order: impl Order + 'static) -> Self {
        self.orders.push(Box::new(order));
        self
    }

    /// A placement of one's own, to be chosen by its [name](Placement::name) with [`policy`](Self::policy), now or later.
    pub fn placement(mut self, placement: impl Placement + 'static) -> Self {
        self.placements.push(Box::new(placement));
        self
    }

    /// Asks for machines as tasks need them.
    pub fn allocator(mut self, queue: AllocationQueue) -> Self {
        self.allocations = Some(queue);
        self
    }

    /// Workers that have no idle timeout of their own are stopped after having nothing to do for that long.
    pub const fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = Some(timeout);
        self
    }

    /// How long an engine that goes on from a journal waits for workers that may come back before their tasks run
    /// elsewhere: a minute where nothing is said.
    pub const fn adopt_timeout(mut self, timeout: Duration) -> Self {
        self.adopt_timeout = timeout;
        self
    }

    /// The server's uid on a new journal, in place of a random one: six letters and digits.
    pub fn server_uid(mut self, uid: impl Into<String>) -> Self {
        self.server_uid = Some(uid.into());
        self
    }

    /// Starts the engine on the tokio runtime that this is called in. When it returns, the start is durable; the
    /// workers may still be arriving.
    ///
    /// # Errors
    /// Nothing is left behind then.
    pub async fn start(self) -> Result<Engine, StartError> {
        let mut registered = BTreeMap::new();
        for (name, recipe) in self.registered {
            if [PROGRAM_KIND, CLOSURE_KIND].contains(&name.as_str()) || registered.contains_key(&name) {
                return Err(StartError::Registered(name));
            }
            registered.insert(name, recipe);
        }
        let closures = Arc::new(Closures::new(random()?));
        let place = Arc::new(Place::new(closures, registered, tokio::runtime::Handle::current()));
        let workers = self.workers.iter().map(|worker| worker.task(&place)).collect::<Result<Vec<_>, StartError>>()?;
        let versions = Versions::current(env!("CARGO_PKG_VERSION"));
        let info = ServerInfo {
            server_uid: self.server_uid.map_or_else(new_server_uid, Ok)?,
            version: versions.program.clone(),
            pid: process::id(),
            started: wall_time(),
            journal: self.journal.as_ref().map(|file| file.display().to_string()),
            ..ServerInfo::default()
        };
        let config = ServerConfig {
            info,
            journal: self.journal.is_some(),
            idle_timeout: self.idle_timeout.map(Into::into),
            feed_bytes: FEED_BYTES,
            token_seed: random()?,
            adopt_timeout: self.adopt_timeout.into(),
        };
        let signals = Arc::new(Signals::default());
        let file = self.journal.map(|file| (file, self.journal_options));
        let past = Past { config, file, orders: self.orders, placements: self.placements };
        let Restored { node, journal, allocations } = past.restore(signals.on_durable()).await?;
        let scaling = self.allocations.map(|queue| scaling(queue, &place, &allocations, &node)).transpose()?;
        let start = Start { node, journal, signals: Arc::clone(&signals), versions, scaling };
        let (driver, inputs) = Driver::new(start);
        let engine = Engine::new(EngineHandle::new(inputs, signals, place), tokio::spawn(driver.run()));
        // The answer to anything comes after the boot is durable, so that nobody is let in before.
        let first = match self.policy {
            Some((order, placement)) => ClientRequest::SetPolicy { order, placement },
            None => ClientRequest::ServerInfo,
        };
        engine.call(first).await?;
        for worker in workers {
            engine.send(Input::Worker(worker)).await?;
        }
        Ok(engine)
    }
}

fn scaling(
    queue: AllocationQueue,
    place: &Place,
    history: &[Fact],
    node: &ServerNode,
) -> Result<(Carrier, Vec<Fact>), StartError> {
    let spec = queue.spec(place.kinds())?;
    let AllocationQueue { backend, command, .. } = queue;
    Ok(Carrier::restore(backend, command, spec, history, node.server_uid(), node.boot_tick()))
}

/// What the server machine goes on from.
struct Past {
    config: ServerConfig,
    file: Option<(PathBuf, FileOptions)>,
    orders: Vec<Box<dyn Order>>,
    placements: Vec<Box<dyn Placement>>,
}

/// The server machine as the journal left it, the journal, and what it tells of allocations.
struct Restored {
    node: ServerNode,
    journal: Option<Box<dyn Journal>>,
    allocations: Vec<Fact>,
}

impl Past {
    async fn restore(self, on_durable: OnDurable) -> Result<Restored, StartError> {
        let restored = tokio::task::spawn_blocking(move || self.read(on_durable)).await;
        restored.unwrap_or_else(|e| Err(StartError::History(e.to_string())))
    }

    fn read(self, on_durable: OnDurable) -> Result<Restored, StartError> {
        let Self { config, file, orders, placements } = self;
        let Some((file, options)) = file else {
            let node = ServerNode::with_policies(config, [], orders, placements).map_err(StartError::History)?;
            return Ok(Restored { node, journal: None, allocations: vec![] });
        };
        let (journal, recovery) = FileJournal::open(&file, options, on_durable)?;
        if let Some(holder) = recovery.taken_from {
            tracing::warn!("journal {file:?} was taken over from {holder}");
        }
        if let Some(torn) = recovery.torn {
            tracing::warn!("the end of journal {file:?} was cut off by a crash: {torn}");
        }
        let (mut broken, mut allocations) = (None, Vec::new());
        let history = journal.read(Seq(1)).map_while(|record| record.map_err(|e| broken = Some(e)).ok());
        let history = history.inspect(|(_, record)| {
            if record.fact.is_about_allocations() {
                allocations.push(record.fact.clone());
            }
        });
        let node = ServerNode::with_policies(config, history, orders, placements);
        if let Some(e) = broken {
            return Err(StartError::Read(e));
        }
        Ok(Restored { node: node.map_err(StartError::History)?, journal: Some(Box::new(journal)), allocations })
    }
}

fn random() -> Result<u64, StartError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|e| StartError::Random(e.to_string()))?;
    Ok(u64::from_le_bytes(bytes))
}

/// A server uid by chance: six letters and digits.
///
/// # Errors
/// Where the system has no random bytes.
pub fn new_server_uid() -> Result<String, StartError> {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut rest = random()?;
    let digits = (0..6).map(|_| {
        let digit = ALPHABET[(rest % 62) as usize];
        rest /= 62;
        char::from(digit)
    });
    Ok(digits.collect())
}

/// The wall clock, only to be shown.
fn wall_time() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    WallTime(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

impl fmt::Debug for EngineBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineBuilder")
            .field("workers", &self.workers)
            .field("journal", &self.journal)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
