//! Journals of which something is lost, put right: rows J2, J4 and J5 of the fault matrix.

mod common;

use std::{fs, path::PathBuf};

use common::{contents, open, submitted, write};
use hq_core::{Fact, Record, Seq, Tick};
use hq_journal::{Journal as _, OpenError, RepairError, Repaired, Salvage, repair};
use tempfile::TempDir;

/// Keeps all.
struct All;

impl Salvage for All {
    fn lost(&mut self, _: Seq, count: u64) -> Record {
        Record { at: Tick(0), fact: Fact::RecordsLost { count } }
    }

    fn take(&mut self, _: Seq, record: Record) -> Result<Option<Record>, String> {
        Ok(Some(record))
    }
}

struct Damaged {
    _dir: TempDir,
    path: PathBuf,
    bytes: Vec<u8>,
    records: Vec<Record>,
}

/// Forty batches of 1 KiB.
fn journal() -> Damaged {
    let dir = common::fast_dir();
    let path = dir.path().join("journal");
    let records: Vec<Record> = (0..40).map(|i| submitted(i, 1, &[i as u8; 1000])).collect();
    write(&path, &records.iter().map(|record| vec![record.clone()]).collect::<Vec<_>>());
    let bytes = fs::read(&path).unwrap();
    Damaged { _dir: dir, path, bytes, records }
}

impl Damaged {
    fn put(&self, bytes: &[u8]) {
        let _ = fs::remove_file(self.bad());
        fs::write(&self.path, bytes).unwrap();
    }

    fn bad(&self) -> PathBuf {
        self.path.with_extension("bad")
    }

    fn repaired(&self, bytes: &[u8]) -> Repaired {
        let repaired = repair(&self.path, true, &mut All).unwrap();
        assert_eq!(fs::read(self.bad()).unwrap(), bytes, "the damaged file is kept");
        assert_eq!(repaired.saved, [self.bad()]);
        repaired
    }

    fn contents(&self) -> Vec<Record> {
        contents(&open(&self.path).unwrap().0)
    }
}

#[test]
fn flipped_bits_are_put_right_without_a_word_more() {
    let journal = journal();
    for bit in (128 * 8..journal.bytes.len() * 8).step_by(4999) {
        let mut bytes = journal.bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        journal.put(&bytes);
        assert!(matches!(open(&journal.path), Err(OpenError::Flip { .. })), "bit {bit}");
        let repaired = repair(&journal.path, false, &mut All).unwrap();
        assert_eq!((repaired.losses.len(), repaired.losses[0].records), (1, 0), "bit {bit}");
        assert_eq!(journal.contents(), journal.records, "bit {bit}");
        assert_eq!(fs::read(journal.bad()).unwrap(), bytes);
    }
}

#[test]
fn holes_are_skipped_only_where_that_is_wanted() {
    let journal = journal();
    for start in (4096..journal.bytes.len()).step_by(4096) {
        for size in [512, 4096, 65536] {
            let mut bytes = journal.bytes.clone();
            let end = (start + size).min(bytes.len());
            bytes[start..end].fill(0);
            journal.put(&bytes);
            let Err(RepairError::Hole { losses, after }) = repair(&journal.path, false, &mut All) else {
                panic!("no hole at {start}")
            };
            assert_eq!(fs::read(&journal.path).unwrap(), bytes, "nothing is changed");
            let [loss] = &losses[..] else { panic!("{losses:?}") };
            let first = loss.next.0 as usize - 1;
            let rest = first + loss.records as usize;
            if after > 0 {
                assert_eq!(rest as u64 + after, 40, "{start} {size}");
            }
            assert_eq!(journal.repaired(&bytes).losses, losses);
            let kept = journal.contents();
            assert!(kept[..first] == journal.records[..first], "{start} {size}");
            let lost = Record { at: Tick(0), fact: Fact::RecordsLost { count: loss.records } };
            assert_eq!(kept[first], lost);
            // How many are lost at the end nobody knows.
            let behind = if after > 0 { &journal.records[rest..] } else { &[] };
            assert!(kept[first + 1..] == *behind, "{start} {size}");
            // It goes on with the next number.
            let next = if after > 0 { 41 } else { rest as u64 + 1 };
            assert_eq!(open(&journal.path).unwrap().1.next, Seq(next));
        }
    }
}

#[test]
fn repeated_and_torn_batches_cost_nothing() {
    let journal = journal();
    let end_of = |at: usize| at + 8 + u32::from_le_bytes(*journal.bytes[at..].first_chunk().unwrap()) as usize;
    let ninth = (0..8).fold(128, |at, _| end_of(at));
    let (before, after) = journal.bytes.split_at(end_of(ninth));
    let doubled = [before, &journal.bytes[ninth..end_of(ninth)], after].concat();
    journal.put(&doubled);
    assert!(matches!(open(&journal.path), Err(OpenError::Disorder { .. })));
    let repaired = repair(&journal.path, false, &mut All).unwrap();
    assert_eq!(repaired.losses[0].records, 0);
    assert!(journal.contents() == journal.records);
    journal.put(&journal.bytes);
    assert_eq!(repair(&journal.path, false, &mut All).unwrap().losses, []);
    assert_eq!(fs::read(&journal.path).unwrap(), journal.bytes, "what is whole stays as it is");
}

#[test]
fn what_is_in_use_or_no_journal_is_left_alone() {
    let journal = journal();
    let held = open(&journal.path).unwrap();
    let error = repair(&journal.path, true, &mut All).unwrap_err();
    assert!(matches!(error, RepairError::Open(OpenError::Held { .. })), "{error}");
    drop(held);
    fs::write(&journal.path, b"#!/bin/sh\n").unwrap();
    assert!(repair(&journal.path, true, &mut All).is_err());
    assert_eq!(fs::read(&journal.path).unwrap(), b"#!/bin/sh\n");
    assert!(repair(&journal.path.with_extension("other"), true, &mut All).is_err());
    assert!(!journal.path.with_extension("other").exists());
}

#[test]
fn a_journal_without_its_last_file_is_put_together_again() {
    let dir = common::fast_dir();
    let path = dir.path().join("journal");
    let options = hq_journal::FileOptions { segment_bytes: 3000, ..Default::default() };
    let (mut journal, _) = hq_journal::FileJournal::open(&path, options, std::sync::Arc::new(|_| {})).unwrap();
    let records: Vec<Record> = (0..12).map(|i| submitted(i, 1, &[i as u8; 1000])).collect();
    for (n, record) in (1..).zip(&records) {
        journal.append(hq_core::Epoch(1), Seq(n), std::slice::from_ref(record), hq_journal::Urgency::Now).unwrap();
        while journal.durable() < Seq(n) {
            std::thread::yield_now();
        }
    }
    Box::new(journal).close().unwrap();
    assert!(path.with_extension("1").exists() && path.with_extension("4").exists());
    fs::remove_file(&path).unwrap();
    let error = open(&path).err().unwrap();
    assert!(matches!(error, OpenError::NoActive { .. }), "{error}");
    assert!(!path.exists(), "a refusal leaves nothing behind");
    fs::remove_file(path.with_extension("4")).unwrap();
    let repaired = repair(&path, true, &mut All).unwrap();
    assert_eq!(repaired.losses.iter().map(|loss| loss.records).sum::<u64>(), 3, "{:?}", repaired.losses);
    let kept = contents(&open(&path).unwrap().0);
    assert_eq!((&kept[..3], &kept[4..7]), (&records[..3], &records[6..9]));
    assert_eq!(kept[3].fact, Fact::RecordsLost { count: 3 });
}

/// Leaves out what means nothing after a loss, as a server's last records often do.
struct LittleAfterLosses {
    has_lost: bool,
}

impl Salvage for LittleAfterLosses {
    fn lost(&mut self, seq: Seq, count: u64) -> Record {
        self.has_lost = true;
        All.lost(seq, count)
    }

    fn take(&mut self, seq: Seq, record: Record) -> Result<Option<Record>, String> {
        Ok((!self.has_lost || seq.0 < 30).then_some(record))
    }
}

#[test]
fn what_is_left_out_at_the_end_is_not_missed_later() {
    let journal = journal();
    let mut bytes = journal.bytes.clone();
    bytes[8192..12288].fill(0);
    journal.put(&bytes);
    repair(&journal.path, true, &mut LittleAfterLosses { has_lost: false }).unwrap();
    let (opened, recovery) = open(&journal.path).unwrap();
    assert_eq!(recovery.next, Seq(30));
    assert_eq!(contents(&opened).last(), journal.records.get(28));
}

/// Knows no way out.
struct Stubborn;

impl Salvage for Stubborn {
    fn lost(&mut self, seq: Seq, count: u64) -> Record {
        All.lost(seq, count)
    }

    fn take(&mut self, seq: Seq, record: Record) -> Result<Option<Record>, String> {
        if seq.0 < 20 { Ok(Some(record)) } else { Err("it makes no sense".to_owned()) }
    }
}

#[test]
fn a_repair_that_fails_leaves_all_as_it_was() {
    let journal = journal();
    let mut bytes = journal.bytes.clone();
    bytes[8192..12288].fill(0);
    journal.put(&bytes);
    assert!(matches!(repair(&journal.path, true, &mut Stubborn), Err(RepairError::Salvage(_))));
    let dir = journal.path.parent().unwrap();
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["journal", "journal.lock"]);
    assert_eq!(fs::read(&journal.path).unwrap(), bytes);
}

#[test]
fn a_last_batch_that_overlaps_is_a_loss() {
    let dir = common::fast_dir();
    let of = |name: &str, lens: [usize; 2]| {
        let path = dir.path().join(name);
        let records = (0..).map(|i| submitted(i, 1, &[i as u8; 100]));
        write(&path, &lens.map(|len| records.clone().take(len).collect::<Vec<_>>()));
        path
    };
    // Records 1 to 4; then, from a journal of the same length before it, 3 to 8.
    let (path, other) = (of("journal", [2, 2]), of("other", [2, 6]));
    let (bytes, more) = (fs::read(&path).unwrap(), fs::read(&other).unwrap());
    let end_of = |at: usize| at + 8 + u32::from_le_bytes(*more[at..].first_chunk().unwrap()) as usize;
    let second = end_of(128);
    fs::write(&path, [&bytes[..], &more[second..end_of(second)]].concat()).unwrap();
    let Err(RepairError::Hole { losses, .. }) = repair(&path, false, &mut All) else { panic!("no loss") };
    assert_eq!(losses.iter().map(|loss| (loss.next, loss.records)).collect::<Vec<_>>(), [(Seq(5), 0), (Seq(5), 4)]);
    repair(&path, true, &mut All).unwrap();
    assert_eq!(contents(&open(&path).unwrap().0).len(), 5, "one record stands for what is lost");
}

/// A journal whose header says something else: its epoch at 20, and the end of what may be left out at 24.
fn with_header(bytes: &[u8], epoch: u32, until: u64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[20..24].copy_from_slice(&epoch.to_le_bytes());
    bytes[24..32].copy_from_slice(&until.to_le_bytes());
    let sum = crc32c::crc32c(&bytes[..32]);
    bytes[32..36].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Found by the fuzz target `journal-repair`: such a file was refused, and nothing found in it to repair.
#[test]
fn a_condensed_file_that_is_cut_between_two_frames_is_put_right() {
    let journal = journal();
    let bytes = with_header(&journal.bytes, 0, 51);
    journal.put(&bytes);
    assert!(matches!(open(&journal.path), Err(OpenError::Cut { next: Seq(41), .. })));
    assert!(matches!(repair(&journal.path, false, &mut All), Err(RepairError::Hole { after: 0, .. })));
    let repaired = journal.repaired(&bytes);
    assert_eq!((repaired.losses.len(), repaired.losses[0].next, repaired.losses[0].records), (1, Seq(41), 10));
    assert_eq!(journal.contents()[..40], journal.records);
    assert_eq!(open(&journal.path).unwrap().1.next, Seq(42));
}

/// Found by the same target.
#[test]
fn a_header_of_a_later_epoch_than_its_frames_costs_nothing() {
    let journal = journal();
    let bytes = with_header(&journal.bytes, 7, 0);
    journal.put(&bytes);
    assert!(matches!(open(&journal.path), Err(OpenError::Disorder { .. })));
    let repaired = repair(&journal.path, false, &mut All).unwrap();
    assert_eq!((repaired.losses.len(), repaired.losses[0].records), (1, 0));
    assert_eq!(journal.contents(), journal.records);
}
