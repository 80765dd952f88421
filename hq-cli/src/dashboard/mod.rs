//! `hq dashboard`: what runs, on a whole terminal.
//!
//! | Module | What it is |
//! |---|---|
//! | `model` | what is known and what is looked at; pure: sights and keys in, wishes out |
//! | `view` | how a model looks on a screen; pure |
//! | `source` | where sights come from: a server, or a journal file at any moment of its past |
//! | `keys` | which key means what |
//! | `screen` | the terminal, which is given back as it was found |
//! | `run` | the loop that ties them together |
//!
//! What is kept is bounded: lists have a page, lines of jobs and workers are the newest of them, curves have so many points.

mod keys;
mod model;
mod run;
#[cfg(test)]
mod sample;
mod screen;
mod source;
mod view;

pub(crate) use run::{replay, stream};
