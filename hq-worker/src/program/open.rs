//! Opening an output file, of which others may have made a link.

use std::{
    ffi::OsString,
    fs::{File, OpenOptions},
    io,
    os::unix::{ffi::OsStringExt, fs::OpenOptionsExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, fcntl_setfl, fstat, fstatfs, openat, readlinkat},
    process::geteuid,
};

/// As the system has it.
const MOST_LINKS: u32 = 40;

/// Opens a file for writing, creates it as needed, and empties it. Does not wait for a reader of a pipe.
///
/// Where the last part of the path is a symbolic link, it is followed if it is ours or that of the superuser: with one
/// of its own, another user could have us write where he cannot.
///
/// # Errors
/// As the system says, and for links of others.
pub(super) fn open_output(path: &Path) -> io::Result<File> {
    let mut path = PathBuf::from(path);
    for _ in 0..MOST_LINKS {
        match open(&path, libc::O_NOFOLLOW) {
            // The latter for files and links of others in directories for all (`/tmp`).
            Err(error) if matches!(error.raw_os_error(), Some(libc::ELOOP | libc::EACCES)) => match step(&path)? {
                Step::None => return Err(error),
                Step::To(target) => path = target,
                Step::Systems => return open(&path, 0),
            },
            result => return result,
        }
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

fn open(path: &Path, flags: i32) -> io::Result<File> {
    // Without O_NONBLOCK, opening a pipe that nobody reads would hold up the other tasks of the worker.
    let flags = flags | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().write(true).create(true).truncate(true).custom_flags(flags).open(path)?;
    fcntl_setfl(&file, OFlags::empty())?;
    super::run::above_stdio(file.into()).map(File::from)
}

/// Where a path leads.
enum Step {
    /// It is no link.
    None,
    To(PathBuf),
    /// Only the system knows (`/proc/self/fd/1`).
    Systems,
}

fn step(path: &Path) -> io::Result<Step> {
    // By one descriptor, so that what is checked is what is followed.
    let link = openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let data = fstat(&link)?;
    if FileType::from_raw_mode(data.st_mode) != FileType::Symlink {
        return Ok(Step::None);
    }
    if !may_follow(data.st_uid, geteuid().as_raw()) {
        let text = format!("`{}` is a symbolic link of another user; it is not followed", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    if fstatfs(&link)?.f_type == PROC_SUPER_MAGIC {
        return Ok(Step::Systems);
    }
    let target = OsString::from_vec(readlinkat(&link, "", vec![])?.into_bytes());
    Ok(Step::To(path.parent().unwrap_or(Path::new("/")).join(target)))
}

const fn may_follow(owner: u32, me: u32) -> bool {
    owner == me || owner == 0
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        io::Write,
        os::{
            fd::AsRawFd,
            unix::fs::{PermissionsExt, lchown, symlink},
        },
    };

    use super::*;

    #[test]
    fn whose_links_are_followed() {
        for (owner, me, follow) in [(7, 7, true), (0, 7, true), (0, 0, true), (7, 0, false), (7, 8, false)] {
            assert_eq!(may_follow(owner, me), follow, "{owner} {me}");
        }
    }

    #[test]
    fn links() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        for (link, target) in
            [("sub/one", "../file"), ("two", "sub/one"), ("loop", "loop"), ("dangling", "sub/no/file")]
        {
            symlink(target, at(link)).unwrap();
        }
        for (path, text) in [("file", "a"), ("sub/one", "b"), ("two", "c")] {
            fs::write(at("file"), "longer text").ok();
            open_output(&at(path)).unwrap().write_all(text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(at("file")).unwrap(), text);
        }
        let error = |path| open_output(&at(path)).unwrap_err();
        assert_eq!(error("loop").raw_os_error(), Some(libc::ELOOP));
        assert_eq!(error("dangling").kind(), io::ErrorKind::NotFound);
        // A name that only the system can follow: an unnamed file.
        let unnamed = tempfile::tempfile_in(dir.path()).unwrap();
        open_output(Path::new(&format!("/proc/self/fd/{}", unnamed.as_raw_fd()))).unwrap().write_all(b"x").unwrap();
        assert_eq!(unnamed.metadata().unwrap().len(), 1);
    }

    #[test]
    fn links_of_others() {
        let dir = tempfile::tempdir().unwrap();
        let (mine, link) = (dir.path().join("mine"), dir.path().join("link"));
        fs::write(&mine, "secret").unwrap();
        symlink(&mine, &link).unwrap();
        if !geteuid().is_root() {
            return; // Only the superuser can give a link away; the rule itself has a test of its own.
        }
        lchown(&link, Some(12_345), None).unwrap();
        symlink("link", dir.path().join("two")).unwrap();
        // In a directory of one user, and in one for all.
        for mode in [0o755, 0o1777] {
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
            for path in ["link", "two"] {
                let text = format!("`{}` is a symbolic link of another user; it is not followed", link.display());
                assert_eq!(open_output(&dir.path().join(path)).unwrap_err().to_string(), text);
            }
        }
        assert_eq!(fs::read_to_string(&mine).unwrap(), "secret");
    }
}
