//! The embeddable task engine.
//!
//! ```no_run
//! use hq_engine::{Engine, Job, LocalWorker, Request, Task};
//!
//! # async fn f() -> Result<(), Box<dyn std::error::Error>> {
//! let engine = Engine::builder().worker(LocalWorker::cpus(8).resource("gpus=[0,1]")).start().await?;
//!
//! let request = Request::parse(["cpus=2", "gpus=0.5"])?;
//! let task = Task::call(|ctx| println!("task {} on gpu {:?}", ctx.number(), ctx.labels("gpus"))).request(request);
//! let result = engine.submit(Job::array(0..100, task)).await?.await?;
//! for (task, why) in &result.failures {
//!     println!("task {task} failed: {why}");
//! }
//!
//! engine.shutdown().await?;
//! # Ok(())
//! # }
//! ```
//!
//! It runs on a tokio runtime of the caller's, of either flavour.
//!
//! | To … | see |
//! |---|---|
//! | say what a task is: a program, a closure, an async function | [`Task`] |
//! | run an array, or a graph of tasks that wait for one another | [`Job::array`], [`Job::add`], [`Task::after`] |
//! | say what a task needs | [`Request::parse`], [`Task::request`], [`Task::variants`] |
//! | wait, watch, cancel, and see what failed and why | [`JobHandle`], [`JobResult`] |
//! | have tasks that outlive the process | [`EngineBuilder::journal`], [`EngineBuilder::register`] |
//! | take in workers and clients of other machines | [`EngineHandle::serve`] |
//! | ask for machines | [`EngineBuilder::allocator`] |
//! | decide who goes first, and where to | [`EngineBuilder::order`], [`EngineBuilder::placement`], [`EngineBuilder::policy`] |
//!
//! Inside, an [`Engine`] is one actor: a task that owns the pure server machine of `hq-node` and carries messages, facts
//! and time to and from it.

#![forbid(unsafe_code)]

mod builder;
mod closures;
mod driver;
mod engine;
mod error;
mod events;
mod function;
mod handle;
mod job;
mod job_handle;
mod local_worker;
mod past;
mod programs;
mod report;
mod scaling;
pub mod serve;

pub use builder::EngineBuilder;
pub use engine::Engine;
pub use error::{EngineError, ShutdownError, StartError};
pub use events::EventStream;
pub use function::TaskResult;
pub use handle::EngineHandle;
pub use job::{Body, Job, JobError, Program, Task};
pub use job_handle::{JobEvents, JobHandle, JobResult};
pub use local_worker::LocalWorker;
pub use past::{PruneError, prune_journal, repair_journal};
pub use report::{JobReport, WorkerUse};
pub use scaling::{AllocationQueue, BatchWorkers};

// What an embedder meets in signatures.
pub use hq_core::{
    Backoff, BatchJob, CancelOutcome, ClientReply, ClientRequest, CrashLimit, Event, EventKind, ExitCodes, Explanation,
    FinishedTask, JobDetail, JobId, JobInfo, JobState, Obstacle, Owner, Pin, Refusal, Request, RequestError, RetryOn,
    RetryRule, RetryTimes, RunId, Selector, ServerInfo, Span, Standing, TaskCounts, TaskInfo, TaskNumber, TaskState,
    WallTime, WorkerId, WorkerInfo,
};
pub use hq_journal::{Condensed, RepairError, Repaired};
pub use hq_scheduler::autoscale::ScaleKnobs;
pub use hq_transport::{Link, Role};
pub use hq_worker::TaskContext;
