//! Each invariant fails on a step that breaks it, and on none before.

mod bench;
mod progress;
mod safety;
