//! The scheduling core: resource matching, the life of tasks, orders and placements. Pure and deterministic.
//!
//! To write an order or a placement, see [`policy`]; to run tasks, see the crate `hq-engine`, which embeds this one.
//!
//! [`Scheduler`] is a state machine in the manner of a sans-I/O protocol: news and commands in, [`Action`]s out, time as an
//! argument. Its lasting state changes by facts alone, which leave as [`Action::Record`]; replaying them gives the same state
//! without asking a policy again.
//!
//! ```
//! use hq_core::{JobSpec, JobTarget, Profile, Request, Submit, TaskIds, Tick, WorkerConfig, WorkerResources};
//! use hq_scheduler::{Action, Scheduler};
//!
//! let mut core = Scheduler::new();
//! core.boot(Tick(0), "uid".into(), 0, "1".into());
//! let profile = Profile::new(Request::cpus(1).unwrap());
//! let submit = Submit::array(JobTarget::New(JobSpec::default()), TaskIds::Next(10), "program", vec![].into(), profile);
//! let job = core.submit(Tick(1), submit).unwrap();
//! core.join(Tick(2), WorkerConfig::new("node", WorkerResources::cpus(4).unwrap())).unwrap();
//! let actions: Vec<Action> = std::iter::from_fn(|| core.poll_action(Tick(2))).collect();
//! let opened = actions.iter().filter(|a| matches!(a, Action::Send { message: hq_core::ToWorker::Open(_), .. }));
//! assert_eq!(opened.count(), 4);
//! assert_eq!(core.job(job).unwrap().counts.waiting, 10);
//! ```

#![forbid(unsafe_code)]

mod api;
pub mod autoscale;
mod away;
mod classes;
mod commands;
mod condenser;
mod deep;
mod demand;
mod effort;
mod explain;
mod getters;
mod idle;
mod lane_runs;
mod lanes_of_submit;
mod mind;
mod news;
mod pieces;
pub mod policy;
pub mod pool;
mod popular;
mod retry;
mod rooms;
mod round;
mod salvage;
mod scheduler;
mod settle;
mod staged;
mod state;
mod timers;
mod usage;
mod utilization;
mod value;
pub mod view;
mod withdraw;
mod work;

pub use api::{Action, CancelToken, JoinRefused, News};
pub use commands::Canceling;
pub use condenser::Condenser;
pub use demand::{Demand, GangDemand, WorkerType};
pub use effort::Effort;
pub use salvage::Salvager;
pub use scheduler::Scheduler;
