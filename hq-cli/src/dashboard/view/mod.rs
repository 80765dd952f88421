//! How a model looks on a screen of any size. Pure.

mod chart;
mod frame;
mod jobs;
mod keys_help;
mod pane;
mod queues;
mod style;
mod table;
mod workers;

#[cfg(test)]
mod tests;

pub(super) use frame::draw;
