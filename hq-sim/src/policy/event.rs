use std::{fmt, ops::Range};

use hq_core::{Allocation, Outcome, Tick, WorkerConfig, WorkerId};

/// What happens in a simulation, for those who look on. Tasks are indices into the workload.
///
/// Shown, it is one line of a trace: the same seed gives the same lines, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A worker is there from now on.
    Joined {
        /// Which; counted from 1 as they come.
        worker: WorkerId,
        /// What it is.
        config: &'a WorkerConfig,
    },
    /// Its time is over. What ran there has ended before this.
    Left {
        /// Which.
        worker: WorkerId,
    },
    /// Tasks arrived, together.
    Submitted {
        /// Which.
        tasks: Range<usize>,
    },
    /// A run began.
    Started {
        /// Of which task.
        task: usize,
        /// Where; of a gang, the main worker first.
        workers: &'a [WorkerId],
        /// What it got there; empty for a gang, which has all of its workers.
        allocation: &'a Allocation,
    },
    /// A run ended.
    Ended {
        /// Of which task.
        task: usize,
        /// How.
        outcome: &'a Outcome,
    },
}

/// `start task=3 worker=1 cpus=[0,1] gpus=[0:0.5] mem=100`
impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joined { worker, config } => {
                write!(f, "join worker={worker} host={:?} group={:?}", config.hostname, config.group)?;
                config.resources.resources().iter().try_for_each(|def| write!(f, " {}={}", def.name, def.kind.total()))
            }
            Self::Left { worker } => write!(f, "leave worker={worker}"),
            Self::Submitted { tasks } => write!(f, "submit tasks={}-{}", tasks.start, tasks.end.saturating_sub(1)),
            Self::Started { task, workers, allocation } => {
                write!(f, "start task={task} worker=")?;
                comma_separated(f, workers)?;
                for granted in &allocation.0 {
                    if granted.pieces.is_empty() {
                        write!(f, " {}={}", granted.resource, granted.amount)?;
                        continue;
                    }
                    write!(f, " {}=[", granted.resource)?;
                    for (i, piece) in granted.pieces.iter().enumerate() {
                        write!(f, "{}{}", if i == 0 { "" } else { "," }, piece.index)?;
                        if piece.amount.fraction() != 0 {
                            write!(f, ":{}", piece.amount)?;
                        }
                    }
                    write!(f, "]")?;
                }
                Ok(())
            }
            Self::Ended { task, outcome } => {
                let how = match outcome {
                    Outcome::Finished => "finished",
                    Outcome::Failed(_) | Outcome::FailedOf(_) => "failed",
                    Outcome::Killed => "killed",
                };
                write!(f, "end task={task} {how}")
            }
        }
    }
}

fn comma_separated(f: &mut fmt::Formatter<'_>, workers: &[WorkerId]) -> fmt::Result {
    for (i, worker) in workers.iter().enumerate() {
        write!(f, "{}{worker}", if i == 0 { "" } else { "," })?;
    }
    Ok(())
}

type Look<'a> = dyn FnMut(Tick, &Event<'_>) + 'a;

/// Somebody who looks on.
pub(super) struct Observer<'a>(Box<Look<'a>>);

impl<'a> Observer<'a> {
    pub(super) fn new(look: impl FnMut(Tick, &Event<'_>) + 'a) -> Self {
        Self(Box::new(look))
    }

    pub(super) fn see(&mut self, now: Tick, event: &Event<'_>) {
        (self.0)(now, event);
    }
}

impl fmt::Debug for Observer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
