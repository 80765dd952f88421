//! The scheduling core: news in, actions out.

mod api;
pub mod pool;
mod scheduler;
pub mod view;

pub use api::{Action, CancelToken, JoinRefused, News};
pub use scheduler::{Canceling, Scheduler};
