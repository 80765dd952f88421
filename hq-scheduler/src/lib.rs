//! The scheduling core: news in, actions out.

mod api;
pub mod pool;

pub use api::{Action, CancelToken, JoinRefused, News};
