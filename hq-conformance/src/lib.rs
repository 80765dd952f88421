//! Suites that any journal, transport or backend can be held against.

#![forbid(unsafe_code)]

pub mod backend;
pub mod commands;
pub mod journal;
pub mod table;
