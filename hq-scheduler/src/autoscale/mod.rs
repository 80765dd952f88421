//! How many machines to ask for: a state machine of its own, fed by [`demand`](crate::Scheduler::demand).
//!
//! [`Autoscaler`] looks after all queues. What it decides leaves as [`ScaleAction`]s; what changes its lasting state, the
//! [`Book`], is a fact, and is recorded before anything is done about it. Its carrier asks the backends when an intent is safe, and
//! tells what came of it.
//!
//! | family | here |
//! |---|---|
//! | commands | [`create`](Autoscaler::create), [`remove`](Autoscaler::remove), [`pause`](Autoscaler::pause), [`resume`](Autoscaler::resume), [`stop`](Autoscaler::stop) |
//! | news | [`observe`](Autoscaler::observe) facts, [`hear`](Autoscaler::hear) backends, [`handle_timeout`](Autoscaler::handle_timeout), [`round`](Autoscaler::round) |
//! | outputs | [`poll_action`](Autoscaler::poll_action), [`poll_timeout`](Autoscaler::poll_timeout) |
//! | getters | [`book`](Autoscaler::book), [`is_due`](Autoscaler::is_due), [`is_quiet`](Autoscaler::is_quiet) |

mod api;
mod book;
mod care;
mod commands;
mod health;
mod knobs;
mod machine;
mod news;
mod permit;
mod round;
mod workers;

pub use api::{Asked, QueueRefusal, ScaleAction, ScaleNews, ScaleOrder, ScaleStatus, Told};
pub use book::{Allocation, Book, Queue};
pub use commands::check_queue;
pub use knobs::ScaleKnobs;
pub use machine::Autoscaler;
pub use permit::Permit;
