use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
};

use anyhow::Context as _;
use hq_core::IdList;
use tracing::warn;

use super::{ENTRY_MAX, Entries, open};

/// The lines of a file, byte for byte without their ends; those with the numbers `wanted`, from 0.
///
/// # Errors
/// Says what cannot be read, or which line is no entry.
pub(in super::super) fn read<'a>(path: &'a Path, wanted: Option<&'a IdList>) -> anyhow::Result<Entries<'a>> {
    let mut reader = BufReader::with_capacity(64 << 10, open(path)?);
    let mut entries = Entries::new(path, wanted);
    let unreadable = || format!("cannot read `{}`", path.display());
    let (mut line, mut carriage_returns) = (Vec::new(), false);
    while !entries.has_all() {
        if !entries.wants_next() {
            if reader.skip_until(b'\n').with_context(unreadable)? == 0 {
                break;
            }
            entries.skip()?;
            continue;
        }
        line.clear();
        // One for its end, and one to see that there is more.
        reader.by_ref().take(ENTRY_MAX as u64 + 2).read_until(b'\n', &mut line).with_context(unreadable)?;
        if line.is_empty() {
            break;
        }
        let entry = line.strip_suffix(b"\n").unwrap_or(&line);
        carriage_returns |= entry.ends_with(b"\r");
        entries.keep(entry, "line")?;
    }
    if carriage_returns {
        warn!("Lines of `{}` end with a carriage return, which is part of the entries (CRLF).", path.display());
    }
    Ok(entries)
}
