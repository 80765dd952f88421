//! Walks through the frames of a file, and finds out how far they are whole.

use std::{
    io::{self, BufReader, Read},
    sync::Arc,
};

use hq_core::{Epoch, Seq};

use super::{
    flip::find_flip,
    frame::{BODY_MIN, Head, LOOK_MAX, PREFIX_LEN, checksum, looks_like_record},
    header::{HEADER_LEN, Header},
};
use crate::storage::{StoredFile, read_at, read_exact_at};

/// A part of a file, read from its beginning. Does not move the file's own position.
pub(super) struct Section {
    file: Arc<dyn StoredFile>,
    at: u64,
    end: u64,
}

impl Section {
    pub(super) const fn new(file: Arc<dyn StoredFile>, at: u64, end: u64) -> Self {
        Self { file, at, end }
    }

    /// Where it goes on.
    pub(super) const fn at(&self) -> u64 {
        self.at
    }
}

impl Read for Section {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(buf.len());
        let n = read_at(&*self.file, &mut buf[..left], self.at)?;
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
    version: u32,
    reader: BufReader<Section>,
    at: u64,
    end: u64,
    body: Vec<u8>,
}

impl Frames {
    /// Those of a format between two places.
    pub(super) fn new(version: u32, file: Arc<dyn StoredFile>, at: u64, end: u64) -> Self {
        let reader = BufReader::with_capacity(1 << 16, Section::new(file, at, end));
        Self { version, reader, at, end, body: vec![] }
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
        let head = Head::pop(self.version, &mut &self.body[..], self.body.len());
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

    /// Where the next frame begins.
    pub(super) const fn at(&self) -> u64 {
        self.at
    }
}

pub(super) fn split_prefix(prefix: [u8; PREFIX_LEN]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h] = prefix;
    (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
}

/// A file to be looked through.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) file: Arc<dyn StoredFile>,
    pub(super) header: Header,
    /// Its length.
    pub(super) len: u64,
    /// So much of it was safe at some time.
    pub(super) safe: u64,
    /// Another file goes on from this record.
    pub(super) limit: Option<Seq>,
}

/// What is whole in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// What a crash left of what was never safe.
    TornTail,
    /// A frame of which this bit of the file is wrong.
    Flip { bit: u64 },
    /// Damage, maybe with whole frames after it.
    Hole { resumes: Option<u64>, after: u64 },
    /// A whole frame that belongs elsewhere.
    Disorder { found: Seq, epoch: Epoch },
}

/// Reads all of a file, up to its limit.
pub(super) fn scan(subject: &Subject) -> io::Result<Scan> {
    let Subject { file, header, len, limit, .. } = subject;
    let scan = Scan { end: HEADER_LEN as u64, next: header.first, epoch: header.epoch, flaw: None };
    scan_on(subject, Frames::new(header.version, file.clone(), scan.end, (*len).max(scan.end)), scan, *limit)
}

/// Goes on from where `scan` ends.
pub(super) fn scan_on(subject: &Subject, mut frames: Frames, mut scan: Scan, limit: Option<Seq>) -> io::Result<Scan> {
    loop {
        if limit.is_some_and(|limit| scan.next >= limit) {
            return Ok(scan);
        }
        match frames.step()? {
            Found::End if scan.next < subject.header.until => {
                scan.flaw = Some(Flaw::Hole { resumes: None, after: 0 });
                return Ok(scan);
            }
            Found::End => return Ok(scan),
            Found::Damage { .. } => {
                scan.flaw = Some(judge(subject, &scan)?);
                return Ok(scan);
            }
            Found::Frame { head, .. } if !scan.is_followed_by(head, subject.header.until) => {
                scan.flaw = Some(Flaw::Disorder { found: head.first, epoch: head.epoch });
                return Ok(scan);
            }
            Found::Frame { head, .. } => {
                (scan.end, scan.next, scan.epoch) = (frames.at(), head.next(), head.epoch);
            }
        }
    }
}

impl Scan {
    /// Whether a frame belongs here: numbers before `until` may be left out.
    pub(super) fn is_followed_by(&self, head: Head, until: Seq) -> bool {
        let is_next = head.first == self.next || (head.first > self.next && head.next() <= until);
        is_next && head.epoch >= self.epoch
    }
}

/// What the damage at the end of the whole frames is.
fn judge(subject: &Subject, scan: &Scan) -> io::Result<Flaw> {
    if let Some(flip) = find_flip(subject, scan)? {
        return Ok(Flaw::Flip { bit: flip.bit });
    }
    let Behind { resumes, after, is_later } = behind_damage(subject, scan)?;
    let was_safe = scan.end < subject.safe && (subject.len >= subject.safe || !is_cut(subject, scan)?);
    // Frames that were written together with what is missing here may have reached the disk before it.
    let is_hole = is_later || was_safe || scan.next < subject.header.until;
    Ok(if is_hole { Flaw::Hole { resumes, after } } else { Flaw::TornTail })
}

/// Whether the file ends within the frame that begins at the end of the whole ones.
fn is_cut(subject: &Subject, scan: &Scan) -> io::Result<bool> {
    let room = subject.len.saturating_sub(scan.end);
    let mut prefix = [0; PREFIX_LEN];
    if room < PREFIX_LEN as u64 {
        return Ok(true);
    }
    read_exact_at(&*subject.file, &mut prefix, scan.end)?;
    Ok(u64::from(split_prefix(prefix).0) > room - PREFIX_LEN as u64)
}

/// Whole frames after damage.
struct Behind {
    /// Where the first one begins.
    resumes: Option<u64>,
    /// How many records are in them.
    after: u64,
    /// Whether one was written after the damaged part was safe.
    is_later: bool,
}

/// Looks at every byte after the damage for the beginning of a whole frame, and counts the records from there on.
fn behind_damage(subject: &Subject, scan: &Scan) -> io::Result<Behind> {
    let mut found = Behind { resumes: None, after: 0, is_later: false };
    let mut at = scan.end + 1;
    while let Some(start) = next_beginning(subject, scan, at)? {
        let mut frames = Frames::new(subject.header.version, subject.file.clone(), start, subject.len);
        at = start + 1;
        while let Found::Frame { offset, head } = frames.step()? {
            found.resumes = found.resumes.or(Some(offset));
            found.after += head.count;
            found.is_later |= offset.saturating_sub(head.behind) > scan.end;
            at = frames.at();
        }
    }
    Ok(found)
}

/// The next place from `at` on that looks like the beginning of a frame which may follow what is whole.
pub(super) fn next_beginning(subject: &Subject, scan: &Scan, mut at: u64) -> io::Result<Option<u64>> {
    let mut window = Window { subject, start: 0, bytes: vec![] };
    while subject.len.saturating_sub(at) >= (PREFIX_LEN + BODY_MIN) as u64 {
        if may_begin_frame(window.look(at)?, at, subject, scan) {
            return Ok(Some(at));
        }
        at += 1;
    }
    Ok(None)
}

/// Whether a frame that begins like this at `at` would fit into the file, and its records behind those that the damage
/// can have swallowed, each at least two bytes long. Little else passes for a frame, so that few bodies are checked in
/// vain.
fn may_begin_frame(bytes: &[u8], at: u64, subject: &Subject, scan: &Scan) -> bool {
    let Some((prefix, mut body)) = bytes.split_first_chunk() else { return false };
    let (len, _) = split_prefix(*prefix);
    if (len as usize) < BODY_MIN || u64::from(len) > subject.len - at - PREFIX_LEN as u64 {
        return false;
    }
    let swallowed = (at - scan.end) / 2;
    Head::pop(subject.header.version, &mut body, len as usize).is_some_and(|head| {
        let last = scan.next.0.saturating_add(swallowed).max(subject.header.until.0);
        let is_possible = (scan.next.0..=last).contains(&head.first.0) && head.behind <= at - HEADER_LEN as u64;
        head.epoch >= scan.epoch && is_possible && looks_like_record(body)
    })
}

/// A moving view of a file that makes it cheap to look at every byte.
struct Window<'a> {
    subject: &'a Subject,
    start: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    const SIZE: u64 = 1 << 16;
    const LOOK: usize = PREFIX_LEN + LOOK_MAX;

    /// The bytes at `at`, as many as a look needs; fewer only at the end of the file.
    fn look(&mut self, at: u64) -> io::Result<&[u8]> {
        let want = (self.subject.len - at).min(Self::LOOK as u64);
        if at < self.start || at + want > self.start + self.bytes.len() as u64 {
            self.bytes.resize((self.subject.len - at).min(Self::SIZE) as usize, 0);
            self.start = at;
            read_exact_at(&*self.subject.file, &mut self.bytes, at)?;
        }
        let from = (at - self.start) as usize;
        Ok(&self.bytes[from..from + want as usize])
    }
}
