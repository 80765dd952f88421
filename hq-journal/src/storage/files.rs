use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    },
    path::Path,
    sync::Arc,
};

use rustix::fs::OFlags;

use super::{How, Storage, StoredFile};

/// The files of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files;

impl Storage for Files {
    fn open(&self, path: &Path, how: How) -> io::Result<Arc<dyn StoredFile>> {
        let mut options = OpenOptions::new();
        // Without blocking: it may be a pipe.
        let mut flags = OFlags::NONBLOCK;
        options.read(true);
        if how != How::Read {
            flags |= OFlags::NOFOLLOW;
            options.write(true).create(true).create_new(how == How::New).mode(0o600);
        }
        let file = options.custom_flags(flags.bits().cast_signed()).open(path).map_err(|error| {
            match error.raw_os_error() {
                // Two names of one journal would be two journals to those who look for it.
                Some(code) if code == rustix::io::Errno::LOOP.raw_os_error() => {
                    io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link: name the file itself")
                }
                _ => error,
            }
        })?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        // Only its owner may look into the file: commands and environments are in it.
        let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
        if how != How::Read && metadata.mode() & 0o077 != 0 && is_ours {
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
        }
        Ok(Arc::new(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn suffixes(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let Some(name) = path.file_name() else { return Ok(vec![]) };
        let mut suffixes = Vec::new();
        for entry in fs::read_dir(directory(path))? {
            let found = entry?.file_name();
            let rest = found.as_bytes().strip_prefix(name.as_bytes());
            suffixes
                .extend(rest.and_then(|rest| rest.strip_prefix(b".")).map(|rest| OsString::from_vec(rest.to_vec())));
        }
        suffixes.sort();
        Ok(suffixes)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(directory(path))?.sync_all()
    }

    fn identity(&self, path: &Path) -> io::Result<(u64, u64)> {
        // A network file system asks its server what a name stands for when it is opened, and may answer from memory otherwise.
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
        let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
        let metadata = opened.and_then(|file| file.metadata()).or_else(|_| fs::symlink_metadata(path))?;
        Ok((metadata.dev(), metadata.ino()))
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl StoredFile for File {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        FileExt::read_at(self, bytes, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.write_all_at(bytes, at)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn set_size(&self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data() // with what is needed to read it: the length
    }

    fn try_lock(&self) -> io::Result<bool> {
        match Self::try_lock(self) {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn unlock(&self) {
        let _ = Self::unlock(self); // the end of the last opening does it, too
    }

    fn identity(&self) -> io::Result<(u64, u64)> {
        self.metadata().map(|metadata| (metadata.dev(), metadata.ino()))
    }
}
