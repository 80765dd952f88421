//! The allocator of Slurm: an allocation is a batch job, and each of its nodes is a worker.
//!
//! | To | it runs |
//! |---|---|
//! | submit | `sbatch SCRIPT` |
//! | ask for the status | `scontrol show job ID`, and `sacct` for what the controller has forgotten |
//! | cancel | `scancel ID`, after a look whether the id is still that of the allocation |
//! | find | `squeue`, then `sacct`, by name and directory |
//! | validate | `sbatch --test-only` |
//!
//! A controller that crashes may lose a job that it has just taken, and give its id to the next one. So a job is known
//! by its id and its directory; one with another directory is somebody else's, and is left alone.

#![forbid(unsafe_code)]

mod accounting;
mod backend;
mod refusal;
mod script;
mod search;
mod show;
mod state;
#[cfg(test)]
mod tests;

pub use backend::SlurmBackend;
pub use state::{SlurmState, slurm_state};
