//! The socket by which programs of tasks say something to those who watch their jobs.

mod client;
mod desk;
mod listener;
mod tickets;

pub use client::{NotifyError, notify};
pub use desk::{NotifyDesk, NotifySocketError};
pub(crate) use tickets::{Ticket, Tickets};
