//! What programs that are submitted can and cannot be, whether a command line or a file describes them. Pure but for the
//! limits of this machine.

mod entries;
mod limits;
mod placeholders;

pub(crate) use entries::{with_empty_ones, with_gaps};
pub(crate) use limits::{ENTRIES_MAX, ENTRY_MAX, PAYLOAD_MAX, check, too_much};
pub(crate) use placeholders::{has_cwd, unknown, unknown_in_stream};
