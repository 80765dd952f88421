//! The two node machines of the engine, pure: messages, `Durable` and timers in; messages, appends, replies and process
//! orders out. A shell carries bytes, files and processes; the simulator runs the same code.
//!
//! Both are driven alike: hand in news with [`ServerNode::handle_input`] / [`WorkerNode::handle_input`], then drain
//! `poll_output` until it is empty, then wait for the next input or until `poll_timeout` and call `handle_timeout`.

#![forbid(unsafe_code)]

mod server;
mod worker;

pub use server::{BackendNews, BackendOrder, Chronicle, PeerRole, ServerConfig, ServerInput, ServerNode, ServerOutput};
pub use worker::{Exit, Lane, StartOrder, StopHow, WorkerInput, WorkerNode, WorkerOutput};
