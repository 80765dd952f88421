//! What is known and what is looked at. Pure: sights and keys go in, the same ones make the same model.

mod action;
mod apply;
mod history;
mod list;
mod series;
mod sight;
mod state;
mod timeline;

pub(super) use action::{Action, Focus, Tab};
pub(super) use history::load_of;
pub(super) use list::window;
pub(super) use series::Series;
pub(super) use sight::{News, RunningTask, Sight, Wish};
pub(super) use state::{Model, Source};
pub(super) use timeline::Timeline;

/// Lines of jobs and of workers that are kept: the newest.
pub(super) const LINES_MAX: u32 = 10_000;

#[cfg(test)]
pub(super) mod tests;
