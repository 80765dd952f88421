//! Whatever bytes come: plain functions that feed them to a decoder or parser, and panic where it breaks a promise.
//!
//! | Module | What it is |
//! |---|---|
//! | [`targets`] | all of them, in one list |
//! | `links` | hello, frames, handshakes, batches, messages, access records |
//! | `nodes` | messages to the server machine and to the worker machine |
//! | `files` | journals and stream files, raw and with checksums made right |
//! | `words` | the small languages of `hq-core`, workloads, answers of batch systems |
//! | `mutate` | deterministic variants of seeds |
//! | [`memory`] | an allocator that knows how much a thread has taken |
//!
//! `tests/smoke.rs` runs each for some thousands of inputs. `cargo xtask deep fuzz` builds the same functions for libFuzzer
//! (`src/bin/guided.rs`, one at a time) and runs each for `HQ_FUZZ_SECONDS`. What readers of the program `hq` have to
//! promise is beside them (`hq-cli/src/fuzz.rs`).

mod files;
mod links;
pub mod memory;
mod mutate;
mod nodes;
mod target;
mod targets;
mod words;

pub use mutate::Mutator;
pub use target::{Target, check};
pub use targets::{named, targets};
