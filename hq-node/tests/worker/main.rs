//! The worker machine against its rules, and against a naive model.

mod kit;
mod leaving;
mod random;
mod reconnect;
mod rules;
mod volume;
