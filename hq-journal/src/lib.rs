//! The journal of facts: append-only, checksummed, restored after a crash.
