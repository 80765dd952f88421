//! The program `hq`: a thin shell over the client, the engine and the worker.
//!
//! | Module | What it is |
//! |---|---|
//! | `app` | parse, set up, run, report errors, exit code |
//! | `advice` | what to do about an error |
//! | `args` | global options and the parser put together |
//! | `commands` | one file per command: its options and what it does |
//! | `view` | what data of the engine looks like, as text and as JSON; pure |
//! | `output` | tables, colours, times, standard output; knows nothing of jobs |
//! | `parse` | small languages of option values that `hq-core` does not have |
//! | `journal` | the event log: out of a journal file, and from a server |
//! | `dashboard` | what runs, on a whole terminal: a pure model and its views, and where both come from |
//! | `jobfile` | job definition files: what they say, as tasks; pure |
//! | `program` | what programs that are submitted can be |
//! | `server` | the connection to the server |
//! | `listening` | what programs print, over restarts of the server |
//! | `worker` | what `worker start` needs: configuration, batch system, link |
//! | `fuzz` | what reads words and files of users, by name, for the fuzz targets |
//! | `log` | log lines on standard error |
//!
//! To add a command: write `commands/<group>/<command>.rs` with a struct `Args` and a function `run`, and name it in
//! the enum of its group.

#![forbid(unsafe_code)]

mod advice;
mod app;
mod args;
mod commands;
mod context;
mod dashboard;
#[doc(hidden)]
pub mod fuzz;
mod interrupt;
mod jobfile;
mod journal;
mod listening;
mod log;
mod output;
mod parse;
mod program;
mod server;
mod view;
mod way_back;
mod worker;

#[cfg(test)]
mod testing;

pub use app::main;
