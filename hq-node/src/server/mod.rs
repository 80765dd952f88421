//! The server machine: scheduler, journal order, sessions, event feed and client requests.
//!
//! Input only changes state; everything that follows from it is worked out as one *step* when the shell drains
//! [`ServerNode::poll_output`]: the facts of the step become one append, then come messages and replies, each of which
//! waits for what has to be safe before it.

mod allocations;
mod api;
mod attention;
mod book;
mod bound;
mod check;
mod chronicle;
mod client_session;
mod details;
mod durability;
mod events;
mod feed;
mod grants;
mod listeners;
mod listening;
mod machine;
mod render;
mod requests;
mod retell;
mod returning;
mod sessions;
mod step;
mod stopping;
mod story;
mod wall;
mod worker_links;
mod worker_session;

pub use api::{BackendNews, BackendOrder, PeerRole, ServerConfig, ServerInput, ServerOutput};
pub use chronicle::Chronicle;
pub use machine::ServerNode;
