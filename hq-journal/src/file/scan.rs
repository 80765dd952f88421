//! Walks through the frames of a file, and finds out how far they are whole.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    os::unix::fs::FileExt,
    sync::Arc,
};

use hq_core::{Epoch, Seq};

use super::{
    frame::{BODY_MIN, Head, LOOK_MAX, PREFIX_LEN, checksum, looks_like_record},
    header::{HEADER_LEN, Header},
};

/// A part of a file, read from its beginning. Does not move the file's own position.
pub(super) struct Section {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl Section {
    pub(super) const fn new(file: Arc<File>, at: u64, end: u64) -> Self {
        Self { file, at, end }
    }
}

impl Read for Section {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(buf.len());
        let n = self.file.read_at(&mut buf[..left], self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

/// What lies at a place of a file.
pub(super) enum Found {
    /// A whole frame; its body is [`Frames::body`].
    Frame { offset: u64, head: Head },
    /// Something that is no whole frame; it was not walked over.
    Damage { offset: u64 },
    /// The end.
    End,
}

/// The frames of a part of a file, one after another.
pub(super) struct Frames {
    reader: BufReader<Section>,
    at: u64,
    end: u64,
    body: Vec<u8>,
}

impl Frames {
    pub(super) fn new(file: Arc<File>, at: u64, end: u64) -> Self {
        Self { reader: BufReader::with_capacity(1 << 16, Section::new(file, at, end)), at, end, body: vec![] }
    }

    /// Goes one frame on. After [`Found::Damage`] and errors there is nothing more to be had.
    pub(super) fn step(&mut self) -> io::Result<Found> {
        let offset = self.at;
        let room = self.end - offset;
        if room == 0 {
            return Ok(Found::End);
        }
        if room < (PREFIX_LEN + BODY_MIN) as u64 {
            return Ok(Found::Damage { offset });
        }
        let mut prefix = [0; PREFIX_LEN];
        self.reader.read_exact(&mut prefix)?;
        let (len, crc) = split_prefix(prefix);
        if (len as usize) < BODY_MIN || u64::from(len) > room - PREFIX_LEN as u64 {
            return Ok(Found::Damage { offset });
        }
        self.body.resize(len as usize, 0);
        self.reader.read_exact(&mut self.body)?;
        let head = Head::pop(&mut &self.body[..], self.body.len());
        match head.filter(|_| checksum(len, &self.body) == crc) {
            Some(head) => {
                self.at += PREFIX_LEN as u64 + u64::from(len);
                Ok(Found::Frame { offset, head })
            }
            None => Ok(Found::Damage { offset }),
        }
    }

    /// Body of the last frame.
    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }
}

fn split_prefix(prefix: [u8; PREFIX_LEN]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = prefix;
    (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
}

/// What is whole in a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scan {
    /// Where the whole frames end.
    pub(super) end: u64,
    /// The record after the last whole one.
    pub(super) next: Seq,
    /// Epoch of the last whole frame.
    pub(super) epoch: Epoch,
    /// What follows, if something does.
    pub(super) flaw: Option<Flaw>,
}

/// What follows the whole frames.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// Nothing whole.
    TornTail,
    /// Damage, and after it whole frames again.
    Hole { resumes: u64, after: u64 },
    /// A whole frame that belongs elsewhere.
    Disorder { found: Seq, epoch: Epoch },
}

/// Reads all of a file of `len` bytes with this header.
pub(super) fn scan(file: &Arc<File>, header: Header, len: u64) -> io::Result<Scan> {
    let mut frames = Frames::new(file.clone(), HEADER_LEN as u64, len);
    let mut scan = Scan { end: HEADER_LEN as u64, next: header.first, epoch: header.epoch, flaw: None };
    loop {
        match frames.step()? {
            Found::End => return Ok(scan),
            Found::Damage { .. } => {
                scan.flaw = Some(behind_damage(file, len, &scan)?);
                return Ok(scan);
            }
            Found::Frame { head, .. } if head.first != scan.next || head.epoch < scan.epoch => {
                scan.flaw = Some(Flaw::Disorder { found: head.first, epoch: head.epoch });
                return Ok(scan);
            }
            Found::Frame { head, .. } => {
                (scan.end, scan.next, scan.epoch) = (frames.at, head.next(), head.epoch);
            }
        }
    }
}

/// Looks at every byte after the damage for the beginning of a whole frame, and counts the records from there on.
fn behind_damage(file: &Arc<File>, len: u64, scan: &Scan) -> io::Result<Flaw> {
    let mut window = Window { file, len, start: 0, bytes: vec![] };
    let (mut resumes, mut after) = (None, 0);
    let mut at = scan.end + 1;
    while len.saturating_sub(at) >= (PREFIX_LEN + BODY_MIN) as u64 {
        let start = at;
        at += 1;
        if !may_begin_frame(window.look(start)?, start, len, scan) {
            continue;
        }
        let mut frames = Frames::new(file.clone(), start, len);
        while let Found::Frame { offset, head } = frames.step()? {
            resumes = resumes.or(Some(offset));
            after += head.count;
            at = frames.at;
        }
    }
    Ok(resumes.map_or(Flaw::TornTail, |resumes| Flaw::Hole { resumes, after }))
}

/// Whether a frame that begins like this at `at` would fit into the file, and its records behind those that the damage
/// can have swallowed, each at least two bytes long. Little else passes for a frame, so that few bodies are checked in
/// vain.
fn may_begin_frame(bytes: &[u8], at: u64, file_len: u64, scan: &Scan) -> bool {
    let Some((prefix, mut body)) = bytes.split_first_chunk() else { return false };
    let (len, _) = split_prefix(*prefix);
    if (len as usize) < BODY_MIN || u64::from(len) > file_len - at - PREFIX_LEN as u64 {
        return false;
    }
    let swallowed = (at - scan.end) / 2;
    Head::pop(&mut body, len as usize).is_some_and(|head| {
        let first = scan.next.0..=scan.next.0.saturating_add(swallowed);
        head.epoch >= scan.epoch && first.contains(&head.first.0) && looks_like_record(body)
    })
}

/// A moving view of a file that makes it cheap to look at every byte.
struct Window<'a> {
    file: &'a File,
    len: u64,
    start: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    const SIZE: u64 = 1 << 16;
    const LOOK: usize = PREFIX_LEN + LOOK_MAX;

    /// The bytes at `at`, as many as a look needs; fewer only at the end of the file.
    fn look(&mut self, at: u64) -> io::Result<&[u8]> {
        let want = (self.len - at).min(Self::LOOK as u64);
        if at < self.start || at + want > self.start + self.bytes.len() as u64 {
            self.bytes.resize((self.len - at).min(Self::SIZE) as usize, 0);
            self.start = at;
            self.file.read_exact_at(&mut self.bytes, at)?;
        }
        let from = (at - self.start) as usize;
        Ok(&self.bytes[from..from + want as usize])
    }
}
