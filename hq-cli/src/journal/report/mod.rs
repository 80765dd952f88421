//! A page about what is in a journal: one file that needs nothing else, no script, and in which no text of users acts.

mod page;
mod runs;
mod tally;

pub(crate) use page::page;
pub(crate) use tally::{Tally, Window};
