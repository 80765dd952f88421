//! Processes: started without a shell in between, from threads that never exit; reaped by pidfd; ended as a tree.
//!
//! The tree of a run is its session, all descendants of its main process, and all orphans with the key of the run in
//! their environment; to have those in sight, this process adopts them. [`sweeper`] ends trees while the worker lives,
//! the guardian once it is dead.
//!
//! Needs Linux 5.4 (`CLONE_PIDFD`, `P_PIDFD`).

mod adoption;
mod census;
mod end;
mod launcher;
mod live;
mod mark;
mod orphans;
mod signal;
mod spawner;
mod strings;
mod supervisor;
mod sweeper;
mod sys;
mod tree;

pub(crate) use end::ProcessEnd;
pub(crate) use launcher::{Child, Launcher};
use live::Live;
pub(crate) use mark::{Mark, RUN_KEY};
pub(crate) use strings::{HasNul, StringTable};
pub(crate) use supervisor::{Supervisor, Task};
pub(crate) use sys::{Failure, Program, Stage};
