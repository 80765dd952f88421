//! Workers as the engine knows them.

use serde::{Deserialize, Serialize};

use crate::{Span, WorkerResources};

/// What a worker says of itself when it arrives; it does not change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerConfig {
    /// Shown to people; need not resolve.
    pub hostname: String,
    /// Multi-node tasks use workers of one group.
    pub group: String,
    /// What it offers.
    pub resources: WorkerResources,
    /// It ends by itself after that long.
    pub time_limit: Option<Span>,
    /// It is stopped after having nothing to do for that long.
    pub idle_timeout: Option<Span>,
    /// Distance of its signs of life.
    pub heartbeat: Span,
    /// What it does when its server is gone.
    pub on_server_lost: OnServerLost,
    /// Least used share of its cpus, in 1/10,000, for tasks to be placed on it.
    pub min_utilization: u32,
    /// Where it keeps task directories.
    pub work_dir: String,
    /// Its process id.
    pub pid: u32,
    /// Kinds of bodies it can run, besides `program`.
    pub kinds: Vec<String>,
    /// The batch job it lives in.
    pub allocation: Option<BatchJob>,
    /// Distance of its hardware overviews; none: off.
    pub overview_interval: Option<Span>,
}

/// The kind of body that every worker process runs: a program.
pub const PROGRAM_KIND: &str = "program";

impl WorkerConfig {
    /// A worker with these resources and everything else as usual.
    pub fn new(hostname: impl Into<String>, resources: WorkerResources) -> Self {
        Self {
            hostname: hostname.into(),
            group: "default".to_owned(),
            resources,
            time_limit: None,
            idle_timeout: None,
            heartbeat: Span::secs(8),
            on_server_lost: OnServerLost::Stop,
            min_utilization: 0,
            work_dir: String::new(),
            pid: 0,
            kinds: vec![],
            allocation: None,
            overview_interval: None,
        }
    }

    /// At most as many bytes are in its encoding on a link.
    pub fn weight(&self) -> usize {
        let texts = [&self.hostname, &self.group, &self.work_dir].into_iter().chain(&self.kinds);
        let batch = self.allocation.as_ref().map_or(0, |job| job.manager.len() + job.id.len() + 16);
        128 + texts.map(|text| text.len() + 4).sum::<usize>() + batch + self.resources.weight()
    }

    /// Whether it can run bodies of this kind.
    pub fn runs(&self, kind: &str) -> bool {
        kind == PROGRAM_KIND || self.kinds.iter().any(|known| known == kind)
    }
}

/// A job of a batch system.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BatchJob {
    /// Name of the manager, e.g. `PBS` or `Slurm`; `Local` for this machine.
    pub manager: String,
    /// Its id there.
    pub id: String,
}

/// What a worker does when it loses its server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OnServerLost {
    /// Kill what runs and end.
    #[default]
    Stop,
    /// Let what runs end, start nothing, then end.
    FinishRunning,
    /// Let what runs go on, start nothing, and come back to the server or the one that follows it.
    Reconnect {
        /// Without a server for so long, it ends as under [`Stop`](Self::Stop).
        timeout: Span,
    },
}

impl OnServerLost {
    /// Whether a worker may come back.
    pub const fn reconnects(self) -> bool {
        matches!(self, Self::Reconnect { .. })
    }

    /// As users write it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::FinishRunning => "finish-running",
            Self::Reconnect { .. } => "reconnect",
        }
    }
}

/// Why a worker is no longer there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LossReason {
    /// A user stopped it.
    Stopped,
    /// Its link ended.
    ConnectionLost,
    /// It was silent for two heartbeats.
    HeartbeatLost,
    /// It had nothing to do for too long.
    IdleTimeout,
    /// Its time was over.
    TimeLimitReached,
    /// The server it belonged to ended.
    ServerEnded,
    /// It lives in a batch job and got a signal: the batch system wants it gone.
    Interrupted,
}

impl LossReason {
    /// Whether the loss may be the fault of the tasks that ran there, so that it counts as a crash of theirs.
    pub const fn is_crash(self) -> bool {
        matches!(self, Self::ConnectionLost | Self::HeartbeatLost)
    }

    /// Whether it went before anybody of us wanted it gone.
    pub const fn is_unexpected(self) -> bool {
        self.is_crash() || matches!(self, Self::Interrupted)
    }

    /// In upper case, as tables show it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Stopped => "STOPPED",
            Self::ConnectionLost | Self::ServerEnded | Self::Interrupted => "CONNECTION LOST",
            Self::HeartbeatLost => "HEARTBEAT LOST",
            Self::IdleTimeout => "IDLE TIMEOUT",
            Self::TimeLimitReached => "TIME LIMIT REACHED",
        }
    }
}
