//! Tables, colours, times, lines of progress and standard output.

mod cell;
mod color;
mod inert;
mod json;
mod json_stream;
mod lines;
mod long_table;
mod mode;
mod private_file;
mod progress;
mod size;
mod stdout;
mod table;
mod task_bar;
mod time;

pub(crate) use cell::{Cell, Line};
pub(crate) use color::{Color, ColorPolicy};
pub(crate) use inert::inert;
pub(crate) use json::compact_json;
pub(crate) use json_stream::JsonStream;
pub(crate) use lines::WithLines;
pub(crate) use long_table::LongTable;
pub(crate) use mode::Mode;
pub(crate) use private_file::PrivateFile;
pub(crate) use progress::progress_line;
pub(crate) use size::size;
pub(crate) use stdout::{Output, StdoutClosed};
pub(crate) use table::{Align, Table};
pub(crate) use task_bar::task_bar;
pub(crate) use time::{clock_local, date_local, date_utc, makespan, now, rfc3339};
