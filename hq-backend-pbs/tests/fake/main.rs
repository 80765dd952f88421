//! The backend on a PBS in memory.

mod cluster;
mod conformance;
mod faults;
mod scripts;
