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
//! assert!(result.is_success());
//!
//! engine.shutdown().await?;
//! # Ok(())
//! # }
//! ```
//!
//! An [`Engine`] is one actor: a task that owns the pure server machine of `hq-node` and carries messages, facts and
//! time to and from it. Workers of this process are reached over the memory transport, and behave as others do.

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
pub use report::{JobReport, WorkerUse};
pub use scaling::AllocationQueue;

// What an embedder meets in signatures.
pub use hq_core::{
    BatchJob, CancelOutcome, CrashLimit, Event, EventKind, JobId, JobInfo, JobState, Pin, Request, Span, TaskCounts,
    TaskNumber, TaskState, WorkerId, WorkerInfo,
};
pub use hq_worker::TaskContext;
