//! The access record: where a server is and what opens its links; and its file.
//!
//! A full record is for the server and its owner; a client or a worker needs only its part. Files
//! are made with mode 0400, exclusively, and are not read when somebody else could have written
//! them. No error text carries any of a file's content but its version.

mod error;
mod file;
mod record;

pub use error::AccessError;
pub use record::{AccessRecord, Endpoint};
