//! The server directory: one directory per run of the server, and `hq-current`, which names the
//! live one.
//!
//! ```text
//! <server-dir>/            mode 0700 when made by us
//!   001/  002/  …          one per run: highest number + 1, three digits; mode 0700
//!     access.json          mode 0400, made exclusively
//!     client-….sock        socket for clients of this machine, where the path is short enough
//!   hq-current -> …/002    absolute
//! ```
//!
//! A directory that belongs to another user, or that others may write, is used by neither servers nor clients nor
//! workers: whoever can put a record there decides whom we talk to. All calls block on the disk, briefly.

mod error;
mod guard;
mod root;
mod run_dir;
mod socket_place;

pub use error::{NotADirectory, ServerDirError};
pub use root::ServerDir;
pub use run_dir::{RunDir, Seeker};
pub use socket_place::{SOCKET_PATH_MAX, client_socket_path, prepare_socket_dir};

/// Name of the link to the live run.
pub const CURRENT: &str = "hq-current";

/// Name of the access record in a run directory.
pub const ACCESS_FILE: &str = "access.json";
