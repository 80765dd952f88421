//! The allocator of PBS: an allocation is a batch job, and each of its chunks is a worker.
//!
//! | To | it runs |
//! |---|---|
//! | submit | `qsub SCRIPT` |
//! | ask for the status | `qstat -f ID -f ID … -F json -x`, then one id at a time, then without JSON |
//! | cancel | `qdel ID` |
//! | find | `qselect -x -N NAME`, then `qstat` for the directory |
//!
//! Several ids at once are answered whole by some versions and for the first one by others, and the JSON of any of them
//! may be broken by the user's environment; so each answer is read for the few fields that matter, and what it lacks is
//! asked for again in a simpler way.

#![forbid(unsafe_code)]

mod backend;
mod job;
mod question;
mod refusal;
mod script;
#[cfg(test)]
mod tests;

pub use backend::PbsBackend;
