//! What any backend can be wrapped in.

mod rate_limit;
mod retry;
mod trace;

pub use rate_limit::RateLimit;
pub use retry::{Retry, RetryPolicy};
pub use trace::Trace;
