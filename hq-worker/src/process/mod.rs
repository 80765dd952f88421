//! Processes: started without a shell in between, from threads that never exit; reaped by pidfd; ended as a tree.
//!
//! Needs Linux 5.4 (`CLONE_PIDFD`, `P_PIDFD`).

mod end;
mod launcher;
mod spawner;
mod strings;
mod supervisor;
mod sys;
mod tree;

pub(crate) use end::ProcessEnd;
pub(crate) use launcher::{Child, Launcher};
pub(crate) use strings::{HasNul, StringTable};
pub(crate) use supervisor::{Supervisor, Task};
pub(crate) use sys::{Failure, Program, Stage};
