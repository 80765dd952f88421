//! What clients ask: one file per group of requests.

mod control;
mod jobs;
mod lists;
mod staged;
mod waits;

pub(super) use waits::JobWait;
