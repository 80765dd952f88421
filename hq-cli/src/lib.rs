//! The program hq.
