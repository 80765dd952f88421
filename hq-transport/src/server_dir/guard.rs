use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::error::ServerDirError;

/// Refuses a directory in which others could replace what is ours. Links are followed; others may read.
///
/// # Errors
/// [`ServerDirError::ForeignOwner`], [`ServerDirError::TooOpen`].
pub(super) fn refuse_shared(dir: &Path) -> Result<(), ServerDirError> {
    // What cannot be looked at cannot be used either: the next call says so.
    let Ok(meta) = fs::metadata(dir) else { return Ok(()) };
    let (owner, mode) = (meta.uid(), meta.mode() & 0o7777);
    match Openness::of(owner, mode, rustix::process::geteuid().as_raw()) {
        Openness::Closed => Ok(()),
        Openness::Foreign => Err(ServerDirError::ForeignOwner { path: dir.into(), owner }),
        Openness::Writable => Err(ServerDirError::TooOpen { path: dir.into(), mode }),
    }
}

/// What the owner and mode of a directory ask for.
#[derive(Debug, PartialEq, Eq)]
enum Openness {
    Closed,
    Foreign,
    Writable,
}

impl Openness {
    /// The superuser can do what he wants anyway.
    fn of(owner: u32, mode: u32, me: u32) -> Self {
        if owner != me && owner != 0 {
            Self::Foreign
        } else if mode & 0o022 != 0 {
            Self::Writable
        } else {
            Self::Closed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openness_table() {
        const ME: u32 = 1000;
        for (owner, mode, expected) in [
            (ME, 0o700, Openness::Closed),
            (ME, 0o755, Openness::Closed),
            (ME, 0o500, Openness::Closed),
            (0, 0o755, Openness::Closed),
            (ME, 0o775, Openness::Writable),
            (ME, 0o703, Openness::Writable),
            (ME, 0o1777, Openness::Writable),
            (0, 0o1777, Openness::Writable),
            (ME + 1, 0o700, Openness::Foreign),
            (ME + 1, 0o777, Openness::Foreign),
        ] {
            assert_eq!(Openness::of(owner, mode, ME), expected, "{owner} {mode:o}");
        }
    }
}
