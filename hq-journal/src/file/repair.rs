//! Saves what can be saved of a damaged journal.

use std::{
    collections::BTreeSet,
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use hq_core::{Epoch, Record, Seq};

use super::{
    flip::find_flip,
    frame,
    fresh::Fresh,
    header::{HEADER_LEN, Header, VERSION},
    names::Names,
    scan::{Flaw, Found, Frames, Scan, Subject, next_beginning, scan_on},
    segment::{beside, is_sealed, sealed_names, subject},
};
use crate::{
    OpenError,
    storage::{Files, How, Storage, StoredFile},
};

/// Knows what records mean, to keep a journal sound that has lost some.
pub trait Salvage {
    /// So many records from number `first` on are lost. What is to be in their place.
    fn lost(&mut self, first: Seq, count: u64) -> Record;

    /// What is to be kept of the next record; `None` where it means nothing without what was lost.
    ///
    /// # Errors
    /// One line, where it cannot be told; then the journal stays as it is.
    fn take(&mut self, seq: Seq, record: Record) -> Result<Option<Record>, String>;
}

/// Something that is wrong with a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The file.
    pub path: PathBuf,
    /// Where it begins.
    pub offset: u64,
    /// The record that should be there.
    pub next: Seq,
    /// How many records are lost: none of a flipped bit, a repetition or a torn end.
    pub records: u64,
    /// What it is.
    pub what: &'static str,
}

/// `j: byte 300, record 7: damage, 3 records lost`.
impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, offset, next, records, what } = self;
        write!(f, "{}: byte {offset}, record {next}: {what}", path.display())?;
        match records {
            0 => Ok(()),
            1 => f.write_str(", 1 record lost"),
            n => write!(f, ", {n} records lost"),
        }
    }
}

/// What became of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// What was wrong; nothing: the journal is as it was.
    pub losses: Vec<Loss>,
    /// Records that it has now.
    pub records: u64,
    /// Records that were whole and mean nothing without what was lost.
    pub dropped: u64,
    /// The damaged files as they were.
    pub saved: Vec<PathBuf>,
}

/// Why a journal was not repaired. It is as it was.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// Records would be lost, which has to be wanted.
    #[error("{} records are lost for good, and {after} follow; use `--skip-hole` to go on without them", losses.iter().map(|loss| loss.records).sum::<u64>())]
    Hole {
        /// Where.
        losses: Vec<Loss>,
        /// Records that are whole after the first of them.
        after: u64,
    },
    /// It cannot be used at all.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// What is left contradicts itself.
    #[error("what is left of the journal contradicts itself: {0}")]
    Salvage(String),
    /// The system refused something.
    #[error("cannot repair the journal")]
    Io(#[from] io::Error),
}

/// A part of a journal in order.
enum Piece {
    Batch(Epoch, Vec<(Seq, Record)>),
    Lost(Seq, u64),
}

/// Repairs the journal at `path`: corrects flipped bits, leaves out what is torn or repeated, and, if `skip_hole`, what
/// is damaged. What is whole is written to one new file, which then takes the place of all; damaged files are kept as
/// `….bad`. A journal that is in use is refused.
///
/// # Errors
/// Nothing is changed then.
pub fn repair(path: &Path, skip_hole: bool, salvage: &mut dyn Salvage) -> Result<Repaired, RepairError> {
    let storage: Arc<dyn Storage> = Arc::new(Files);
    storage.identity(path).or_else(|error| {
        let is_there = sealed_names(&*storage, path).is_ok_and(|names| !names.is_empty());
        if is_there { Ok((0, 0)) } else { Err(error) }
    })?;
    let names = Names::hold(&storage, path)?;
    let file = storage.open(path, How::Write)?;
    if !file.try_lock()? {
        return Err(OpenError::Held { path: path.to_owned(), holder: None }.into());
    }
    let files = find_files(&*storage, path, &file)?;
    let (mut losses, mut after) = (Vec::new(), 0);
    walk(&files, &mut losses, &mut |piece, losses| {
        if let Piece::Batch(_, batch) = piece
            && losses.iter().any(|loss| loss.records > 0)
        {
            after += batch.len() as u64;
        }
        Ok(())
    })?;
    if !skip_hole && losses.iter().any(|loss| loss.records > 0) {
        return Err(RepairError::Hole { losses, after });
    }
    if losses.is_empty() {
        return Ok(Repaired { losses, records: 0, dropped: 0, saved: vec![] });
    }
    rewrite(&names, &files, salvage)
}

/// All files of the journal, the active one last.
fn find_files(
    storage: &dyn Storage,
    path: &Path,
    active: &Arc<dyn StoredFile>,
) -> Result<Vec<(PathBuf, Subject)>, RepairError> {
    let mut files = Vec::new();
    let last = subject(path, active)?;
    let first = last.as_ref().map_or(Seq(u64::MAX), |subject| subject.header.first);
    let mut at = Seq(1);
    for name in sealed_names(storage, path)? {
        // Another file stands for what comes before. Without an active one, copies of that name may be about.
        let sealed = beside(path, name);
        if name < at || name >= first || (last.is_none() && !is_sealed(storage, &sealed)) {
            continue;
        }
        let file = storage.open(&sealed, How::Read)?;
        if let Some(subject) = subject(&sealed, &file)? {
            at = subject.header.until.max(name.next());
            files.push((sealed, subject));
        }
    }
    files.extend(last.map(|subject| (path.to_owned(), subject)));
    let starts: Vec<Seq> = files.iter().map(|(_, subject)| subject.header.first).collect();
    for ((_, subject), next) in files.iter_mut().zip(starts.into_iter().skip(1)) {
        subject.limit = Some(next);
    }
    Ok(files)
}

type See<'a> = dyn FnMut(Piece, &[Loss]) -> Result<(), RepairError> + 'a;

/// Tells all that is whole, and what is lost between.
fn walk(files: &[(PathBuf, Subject)], losses: &mut Vec<Loss>, see: &mut See<'_>) -> Result<(), RepairError> {
    let mut at = Scan { end: HEADER_LEN as u64, next: Seq(1), epoch: Epoch(0), flaw: None };
    for (path, subject) in files {
        at.end = HEADER_LEN as u64;
        if subject.header.first > at.next {
            lose(path, &at, subject.header.first, "a file is missing or cut", losses, see)?;
            at.next = subject.header.first;
        }
        walk_file(path, subject, &mut at, losses, see)?;
    }
    Ok(())
}

fn lose(
    path: &Path,
    at: &Scan,
    until: Seq,
    what: &'static str,
    losses: &mut Vec<Loss>,
    see: &mut See<'_>,
) -> Result<(), RepairError> {
    let records = until.0.saturating_sub(at.next.0);
    losses.push(Loss { path: path.to_owned(), offset: at.end, next: at.next, records, what });
    if records > 0 { see(Piece::Lost(at.next, records), losses) } else { Ok(()) }
}

fn walk_file(
    path: &Path,
    subject: &Subject,
    at: &mut Scan,
    losses: &mut Vec<Loss>,
    see: &mut See<'_>,
) -> Result<(), RepairError> {
    let version = subject.header.version;
    let unknown = |reason| RepairError::Salvage(format!("a batch cannot be understood: {reason}"));
    let mut frames = Frames::new(version, subject.file.clone(), at.end, subject.len);
    let mut is_behind_header = false;
    // How far batches went that were left out: if nothing else brings those records, they are lost.
    let mut left_out = at.next;
    loop {
        if subject.limit.is_some_and(|limit| at.next >= limit) {
            return Ok(());
        }
        match frames.step()? {
            Found::End if left_out > at.next && subject.limit.is_none() => {
                lose(path, at, left_out, "the end of a batch that overlaps", losses, see)?;
                at.next = left_out;
                return Ok(());
            }
            // The header knows of more: the file was cut between two frames.
            Found::End if subject.limit.is_none() && at.next < subject.header.until => {
                return lose(path, at, subject.header.until, "the end is missing", losses, see);
            }
            Found::End => return Ok(()),
            Found::Frame { head, .. } => {
                if head.first < at.next || head.epoch < at.epoch {
                    left_out = left_out.max(head.next());
                    lose(path, at, at.next, "a repeated or displaced batch", losses, see)?;
                } else {
                    if !at.is_followed_by(head, subject.header.until) {
                        lose(path, at, head.first, "a gap", losses, see)?;
                    }
                    if head.epoch < subject.header.epoch && !std::mem::replace(&mut is_behind_header, true) {
                        lose(path, at, at.next, "a header of a later epoch", losses, see)?;
                    }
                    see(Piece::Batch(head.epoch, frame::decode(version, frames.body()).map_err(unknown)?), losses)?;
                    (at.next, at.epoch) = (head.next(), head.epoch);
                }
                at.end = frames.at();
            }
            Found::Damage { .. } => {
                if let Some(flip) = find_flip(subject, at)? {
                    lose(path, at, at.next, "a flipped bit", losses, see)?;
                    see(Piece::Batch(flip.head.epoch, frame::decode(version, &flip.body).map_err(unknown)?), losses)?;
                    (at.next, at.epoch, at.end) = (flip.head.next(), flip.head.epoch, flip.end);
                } else if let Some((start, first)) = resume(subject, at)? {
                    lose(path, at, first, "damage", losses, see)?;
                    (at.next, at.end) = (first.max(at.next), start);
                } else {
                    return end_of_file(path, subject, at, losses, see);
                }
                frames = Frames::new(version, subject.file.clone(), at.end, subject.len);
            }
        }
    }
}

/// Nothing whole follows: a torn end, or damage of what was safe.
fn end_of_file(
    path: &Path,
    subject: &Subject,
    at: &Scan,
    losses: &mut Vec<Loss>,
    see: &mut See<'_>,
) -> Result<(), RepairError> {
    let frames = Frames::new(subject.header.version, subject.file.clone(), at.end, subject.len);
    let judged = scan_on(subject, frames, at.clone(), None)?;
    let (what, until) = match (judged.flaw, subject.limit) {
        (_, Some(limit)) => ("damage up to the end", limit),
        (Some(Flaw::TornTail), None) => ("a torn end", at.next),
        // How many there were nobody knows.
        _ => ("damage up to the end", at.next.next()),
    };
    lose(path, at, until, what, losses, see)
}

/// Where whole frames begin again, and with which record.
fn resume(subject: &Subject, at: &Scan) -> io::Result<Option<(u64, Seq)>> {
    let mut from = at.end + 1;
    while let Some(start) = next_beginning(subject, at, from)? {
        let mut frames = Frames::new(subject.header.version, subject.file.clone(), start, subject.len);
        if let Found::Frame { head, .. } = frames.step()? {
            return Ok(Some((start, head.first)));
        }
        from = start + 1;
    }
    Ok(None)
}

fn rewrite(names: &Names, files: &[(PathBuf, Subject)], salvage: &mut dyn Salvage) -> Result<Repaired, RepairError> {
    let (storage, path) = (names.storage(), names.path());
    let mut batches: Vec<u8> = Vec::new();
    let mut repaired = Repaired { losses: vec![], records: 0, dropped: 0, saved: vec![] };
    // The header names the end, which is known only when all is written.
    let draft = Header::new(Seq(1), Epoch(0));
    let mut fresh = Fresh::create(names, "repair", draft)?;
    let (mut next, mut epoch) = (Seq(1), Epoch(0));
    let mut losses = Vec::new();
    let result = walk(files, &mut losses, &mut |piece, _| {
        let (of_piece, records) = match piece {
            Piece::Batch(epoch, batch) => (epoch, batch),
            Piece::Lost(first, count) => {
                let record = salvage.lost(first, count);
                batches.clear();
                frame::encode(&mut batches, epoch, first, &[record]).map_err(io::Error::other)?;
                repaired.records += 1;
                // One record stands for all that are lost; the next may have a later number.
                next = first.next();
                return Ok(fresh.write(&batches)?);
            }
        };
        epoch = of_piece;
        for (seq, record) in records {
            match salvage.take(seq, record).map_err(RepairError::Salvage)? {
                Some(record) => {
                    batches.clear();
                    frame::encode(&mut batches, epoch, seq, &[record]).map_err(io::Error::other)?;
                    repaired.records += 1;
                    // The header may promise no more than is there: what is left out has no record.
                    next = seq.next();
                    fresh.write(&batches)?;
                }
                None => repaired.dropped += 1,
            }
        }
        Ok(())
    });
    if let Err(error) = result {
        fresh.discard();
        return Err(error);
    }
    repaired.losses = losses;
    fresh.set_header(Header { version: VERSION, until: fresh_until(next, &repaired), ..draft });
    if let Err(error) = put(names, &mut fresh, files, &mut repaired) {
        // Once the new file is there, whatever else failed, the damaged one has no other name.
        if !names.is_active(&**fresh.file()) {
            repaired.saved.iter().for_each(|saved| _ = storage.remove(saved));
            fresh.discard();
        }
        return Err(error.into());
    }
    files.iter().filter(|(name, _)| name != path).for_each(|(name, _)| _ = storage.remove(name));
    Ok(repaired)
}

/// Keeps the damaged files under other names, and puts the new one in the place of all.
fn put(names: &Names, fresh: &mut Fresh, files: &[(PathBuf, Subject)], repaired: &mut Repaired) -> io::Result<()> {
    let (storage, path) = (names.storage(), names.path());
    fresh.finish(false)?;
    let damaged: BTreeSet<&Path> = repaired.losses.iter().map(|loss| loss.path.as_path()).collect();
    for (name, _) in files.iter().filter(|(name, _)| damaged.contains(name.as_path())) {
        let saved = free_name(&**storage, name);
        storage.link(name, &saved)?;
        repaired.saved.push(saved);
    }
    storage.sync_dir(path)?;
    fresh.put_at(names, path)
}

/// Up to where numbers may be left out: the last record must be there.
fn fresh_until(next: Seq, repaired: &Repaired) -> Seq {
    if repaired.records == 0 { Seq(0) } else { next }
}

fn free_name(storage: &dyn Storage, name: &Path) -> PathBuf {
    let first = beside(name, "bad");
    let others = (1..).map(|n| beside(name, format!("bad.{n}")));
    let mut names = std::iter::once(first.clone()).chain(others);
    names.find(|name| storage.identity(name).is_err()).unwrap_or(first)
}
