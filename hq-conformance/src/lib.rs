//! Suites that any journal, transport or backend can be held against.

pub mod backend;
pub mod journal;
