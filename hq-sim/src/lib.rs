//! Discrete-event simulator of whole clusters of the real node machines.
//!
//! [`Simulation`] describes a cluster and a workload, and runs it in virtual time: policies on workloads, or a cluster in which
//! everything goes wrong that can, from one seed ([`chaos`]). [`invariants`] look on after each step. [`wfcommons`] reads
//! recorded workflows. [`policy`] runs orders and placements alone on a [`workload`] and a description of a cluster ([`machines`]); [`picture`] draws
//! what came of it.

#![forbid(unsafe_code)]

mod body;
mod chaos;
mod cluster;
mod hostile;
pub mod invariants;
pub mod machines;
mod model;
pub mod picture;
pub mod policy;
mod report;
mod text;
mod trace;
pub mod wfcommons;
pub mod workload;

pub use body::{RunSpec, SIM_KIND};
pub use chaos::{chaos, chaos_returning};
pub use cluster::{Broken, Faults, Outcome, Simulation};
pub use model::{Model, ModelGrant, ModelJob, ModelTask, ModelWorker};
pub use report::Report;
pub use trace::Trace;
