//! Carries processes, files and links for the worker machine.
//!
//! [`run_worker`] is the shell around the pure [`WorkerNode`](hq_node::WorkerNode): it carries the link to the server,
//! the time, and the starts and ends of tasks. What a task *is* depends on the kind of its body; for each kind there is
//! a [`TaskRunner`]: [`ProgramRunner`] for programs, [`FnRunner`] and [`AsyncRunner`] for Rust code in this process.
//!
//! `unsafe` lives in one small module, the start of processes.

mod labels;
mod notify;
mod process;
mod program;
mod runner;
mod stream;
mod worker;

pub use notify::{NotifyDesk, NotifyError, NotifySocketError, notify};
pub use program::{NOT_INHERITED, ProgramOptions, ProgramRunner, inherited_environment};
pub use runner::{AsyncRunner, ClosureThreads, Done, EndSink, FnRunner, Runners, TaskContext, TaskRunner};
pub use worker::{WorkerHandle, WorkerOptions, run_worker};

// What the starter of a worker and an author of a task runner meet in signatures.
pub use hq_node::{Exit, StartOrder, StopHow};
