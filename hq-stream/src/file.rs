use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use crate::frame::{Chunk, Encoder, End, Head, MAGIC};

/// What names of files end with.
pub(crate) const EXTENSION: &str = "hqs";
/// Letters and digits of a name.
const NAME_LEN: usize = 12;
/// A head is repeated when that much was written since the last.
const HEAD_EVERY: u64 = 1 << 20;
/// Names that are tried; none is ever taken but by an accident with the random source.
const ATTEMPTS: u32 = 4;
/// A link that somebody put there is not followed.
const NO_FOLLOW: i32 = libc::O_NOFOLLOW;

/// A stream file that is being written. What is put in stays in memory until [`flush`](Self::flush).
#[derive(Debug)]
pub struct StreamFile {
    file: File,
    path: PathBuf,
    head: Head,
    encoder: Encoder,
    waiting: Vec<u8>,
    /// Bytes in the file that are whole frames.
    len: u64,
    since_head: u64,
}

impl StreamFile {
    /// Makes a new file in `dir`, which is made as needed, both for nobody else to read. The head is in it when this returns.
    ///
    /// # Errors
    /// As the system says; nothing is left behind but the directory.
    pub fn create(dir: &Path, head: Head) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let mut attempt = 0;
        let (file, path) = loop {
            let path = dir.join(random_name()?);
            let mut options = OpenOptions::new();
            options.append(true).create_new(true).mode(0o600).custom_flags(NO_FOLLOW);
            match options.open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < ATTEMPTS => attempt += 1,
                result => break (result?, path),
            }
        };
        let encoder = Encoder { salt: random_u32()? };
        let mut this = Self { file, path, head, encoder, waiting: MAGIC.to_vec(), len: 0, since_head: 0 };
        this.put_head();
        if let Err(error) = this.flush() {
            let _ = std::fs::remove_file(&this.path);
            return Err(error);
        }
        Ok(this)
    }

    /// Goes on with a file that this process made and closed, behind another head: the one before may be hit by damage.
    ///
    /// # Errors
    /// As the system says, `NotFound` also where it is another file now.
    pub fn reopen(mark: &Bookmark) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).custom_flags(NO_FOLLOW).open(&mark.path)?;
        let data = file.metadata()?;
        if (data.dev(), data.ino()) != mark.id {
            return Err(io::ErrorKind::NotFound.into());
        }
        let (path, head, encoder) = (mark.path.clone(), mark.head.clone(), mark.encoder);
        let mut this = Self { file, path, head, encoder, waiting: vec![], len: data.len(), since_head: 0 };
        this.put_head();
        Ok(this)
    }

    /// What it takes to go on with the file once it was closed; see [`reopen`](Self::reopen).
    ///
    /// # Errors
    /// As the system says.
    pub fn bookmark(&self) -> io::Result<Bookmark> {
        let data = self.file.metadata()?;
        let (path, head) = (self.path.clone(), self.head.clone());
        Ok(Bookmark { path, head, encoder: self.encoder, id: (data.dev(), data.ino()) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A look at the file for others than its writer.
    ///
    /// # Errors
    /// When the system gives no descriptor.
    pub fn probe(&self) -> io::Result<Probe> {
        self.file.try_clone().map(Probe)
    }

    /// Puts in what a run printed; at most [`DATA_MAX`](crate::DATA_MAX) bytes.
    pub fn put(&mut self, chunk: &Chunk<'_>) {
        self.encoder.chunk(&mut self.waiting, chunk);
    }

    /// Puts in the end of a run's output.
    pub fn put_end(&mut self, end: &End) {
        self.encoder.end(&mut self.waiting, end);
    }

    /// Bytes that wait to be flushed.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Hands all that waits to the system.
    ///
    /// # Errors
    /// As the system says; then all that waited is lost, and as far as possible nothing of it is in the file.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let result = self.file.write_all(&self.waiting);
        let written = self.waiting.len() as u64;
        self.waiting.clear();
        // One large burst need not be remembered for ever.
        self.waiting.shrink_to(256 << 10);
        match result {
            Ok(()) => {
                self.len += written;
                self.since_head += written;
                if self.since_head >= HEAD_EVERY {
                    self.put_head();
                }
            }
            // Readers would find their way past half a frame; better there is none.
            Err(_) => drop(self.file.set_len(self.len)),
        }
        result
    }

    fn put_head(&mut self) {
        self.encoder.head(&mut self.waiting, &self.head);
        self.since_head = 0;
    }
}

/// A look at a stream file that is being written.
#[derive(Debug)]
pub struct Probe(File);

impl Probe {
    /// Whether it still has a name: what goes into a file that was removed is read by nobody.
    pub fn is_there(&self) -> bool {
        self.0.metadata().is_ok_and(|data| data.nlink() > 0)
    }
}

/// A stream file that can be gone on with.
#[derive(Clone, Debug)]
pub struct Bookmark {
    path: PathBuf,
    head: Head,
    encoder: Encoder,
    /// Device and number.
    id: (u64, u64),
}

fn fill(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(|error| io::Error::other(error.to_string()))
}

fn random_u32() -> io::Result<u32> {
    let mut bytes = [0; 4];
    fill(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

/// Letters and digits by chance.
fn random_name() -> io::Result<String> {
    const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut name = String::with_capacity(NAME_LEN + 4);
    let mut bytes = [0; 4 * NAME_LEN];
    while name.len() < NAME_LEN {
        fill(&mut bytes)?;
        // Six bits; the two values that stand for nothing are left out.
        let letters = bytes.iter().filter_map(|byte| ALPHABET.get(usize::from(byte & 63)));
        name.extend(letters.take(NAME_LEN - name.len()).map(|letter| char::from(*letter)));
    }
    Ok(format!("{name}.{EXTENSION}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_loses_what_waits_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = StreamFile::create(dir.path(), Head::default()).unwrap();
        let whole = file.len;
        let good = std::mem::replace(&mut file.file, OpenOptions::new().append(true).open("/dev/full").unwrap());
        file.put_end(&End { run: hq_core::TaskRun::default(), time: 1, sizes: [0, 0] });
        assert_eq!(file.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!((file.waiting(), file.len), (0, whole));
        file.flush().unwrap();
        file.file = good;
        file.put_end(&End { run: hq_core::TaskRun::default(), time: 2, sizes: [0, 0] });
        file.flush().unwrap();
        assert_eq!(std::fs::metadata(&file.path).unwrap().len(), file.len);
    }

    #[test]
    fn names() {
        let (one, other) = (random_name().unwrap(), random_name().unwrap());
        let (stem, extension) = one.split_once('.').unwrap();
        assert_eq!((stem.len(), extension), (12, "hqs"));
        assert!(stem.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert_ne!(one, other);
    }
}
