//! The tests of the workspace, and what they share: the program `hq` on real processes, in a directory of its own.
//!
//! Tests start with [`Cluster::start`] or [`Cluster::new`]. Everything started dies with the [`Cluster`].

mod access;
mod binary;
mod cluster;
mod faults;
mod normal;
mod options;
mod output;
mod poll;
mod proc_table;
mod process;
mod proxy;
mod schema;
mod slurm;
mod table;
mod terminal;
mod workspace;

pub use access::rewrite_private;
pub use binary::hq_binary;
pub use cluster::Cluster;
pub use faults::Fault;
pub use normal::normal;
pub use options::{number_from_env, skip};
pub use output::{ANSWER, Output, finish};
pub use poll::{PATIENCE, eventually, eventually_within};
pub use proc_table::{alive, processes_with};
pub use process::Process;
pub use proxy::Proxy;
pub use rustix::process::Signal;
pub use schema::violations;
pub use slurm::RealSlurm;
pub use table::Table;
pub use terminal::Terminal;
pub use workspace::{cargo, root, sources};
