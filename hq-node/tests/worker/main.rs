//! The worker machine against its rules, and against a naive model.

mod kit;
mod leaving;
mod random;
mod rules;
mod volume;
