//! The server machine: scheduler, journal order, sessions, event feed and client requests.

mod api;
mod machine;

pub use api::{PeerRole, ServerConfig, ServerInput, ServerOutput};
pub use machine::ServerNode;
