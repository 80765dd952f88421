//! PBS
#![forbid(unsafe_code)]
