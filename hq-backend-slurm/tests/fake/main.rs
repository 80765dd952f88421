//! The backend on a Slurm in memory.

mod cluster;
mod conformance;
mod faults;
mod scripts;
