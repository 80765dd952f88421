use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use tempfile::NamedTempFile;

/// A file that only its owner can read, and that is there once it is whole: whatever had the name before, with whatever
/// mode, is replaced.
pub(crate) struct PrivateFile {
    writer: Writer,
    path: PathBuf,
}

enum Writer {
    New(BufWriter<NamedTempFile>),
    /// A pipe or device, which is there for it.
    Other(File),
}

impl PrivateFile {
    /// # Errors
    /// The system's.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        if fs::metadata(path).is_ok_and(|data| !data.is_file()) {
            let file = OpenOptions::new().write(true).open(path).with_context(|| format!("cannot write {path:?}"))?;
            return Ok(Self { writer: Writer::Other(file), path: path.to_owned() });
        }
        // A link stays one.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = tempfile::Builder::new().prefix(".hq-").tempfile_in(dir);
        let file = file.with_context(|| format!("cannot write {path:?}"))?;
        Ok(Self { writer: Writer::New(BufWriter::new(file)), path })
    }

    /// It is whole.
    ///
    /// # Errors
    /// The system's; nothing is left behind then, and what was there stays.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        let path = self.path;
        let unwritable = || format!("cannot write {path:?}");
        let Writer::New(writer) = self.writer else { return Ok(()) };
        let file = writer.into_inner().map_err(io::IntoInnerError::into_error).with_context(unwritable)?;
        file.persist(&path).map_err(|error| error.error).with_context(unwritable)?;
        Ok(())
    }
}

impl Write for PrivateFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.writer {
            Writer::New(writer) => writer.write(bytes),
            Writer::Other(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.writer {
            Writer::New(writer) => writer.flush(),
            Writer::Other(file) => file.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn nobody_else_can_read_it_whatever_was_there() {
        let dir = tempfile::tempdir().expect("a directory");
        let [path, link] = ["dump", "link"].map(|name| dir.path().join(name));
        symlink(&path, &link).expect("a link");
        for (name, before) in [(&path, None), (&path, Some(0o666)), (&link, Some(0o644))] {
            if let Some(mode) = before {
                fs::write(&path, "old and longer").expect("written");
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("changed");
            }
            let mut file = PrivateFile::create(name).expect("made");
            file.write_all(b"secret").expect("written");
            assert!(!fs::read(&path).is_ok_and(|text| text == b"secret"), "not before it is whole");
            file.finish().expect("finished");
            let mode = fs::metadata(&path).expect("there").permissions().mode() & 0o777;
            assert_eq!((fs::read(&path).expect("read").as_slice(), mode), (&b"secret"[..], 0o600));
            fs::remove_file(&path).expect("removed");
        }
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        drop(PrivateFile::create(&path).expect("made"));
        assert_eq!(fs::read_dir(dir.path()).expect("read").count(), 1, "what is given up leaves nothing");
        assert!(PrivateFile::create(dir.path()).is_err());
        let mut file = PrivateFile::create(Path::new("/dev/null")).expect("a device");
        file.write_all(b"gone").and_then(|()| file.flush()).expect("written");
        file.finish().expect("nothing to be done");
    }
}
