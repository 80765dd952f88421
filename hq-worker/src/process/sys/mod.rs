//! The only place with `unsafe`: making a child process, and the guardian's process.
//!
//! What runs in a child between its birth and `execve`, and in the guardian, is restricted to async-signal-safe calls:
//! no allocation, no lock, no panic.
#![allow(unsafe_code)]

mod child;
mod clone;
mod guardian;
mod ledger;
mod pid_set;
mod proc_scan;

pub(crate) use child::{Failure, Program, Stage};
pub(super) use clone::Cloner;
pub(super) use guardian::Guardian;
pub(super) use ledger::Ledger;
pub(super) use proc_scan::{Process, each_process, each_run_of, session_of};
