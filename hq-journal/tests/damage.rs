//! Journals that a crash, a disk or a person has spoilt: rows J1 to J6 of the fault matrix.

mod common;

use std::{fs, path::PathBuf};

use common::{batches, closed, contents, open, submitted, write};
use hq_core::{Epoch, Record, Seq};
use hq_journal::{Journal, OpenError, Urgency};
use tempfile::TempDir;

const HEADER: usize = 128;

/// A journal, its bytes, and where its frames end.
struct Small {
    _dir: TempDir,
    path: PathBuf,
    bytes: Vec<u8>,
    batches: Vec<Vec<Record>>,
    ends: Vec<usize>,
}

impl Small {
    fn new(batches: Vec<Vec<Record>>) -> Self {
        let dir = common::fast_dir();
        let path = dir.path().join("journal");
        write(&path, &batches);
        let bytes = fs::read(&path).unwrap();
        let mut ends = vec![HEADER];
        while let Some(len) = bytes.get(*ends.last().unwrap()..).and_then(|rest| rest.first_chunk::<4>()) {
            ends.push(ends.last().unwrap() + 8 + u32::from_le_bytes(*len) as usize);
        }
        assert_eq!(ends.len(), batches.len() + 1);
        Self { _dir: dir, path, bytes, batches, ends }
    }

    fn bad(&self) -> PathBuf {
        self.path.with_extension("bad")
    }

    /// Puts other bytes into the file.
    fn put(&self, bytes: &[u8]) {
        let _ = fs::remove_file(self.bad());
        fs::write(&self.path, bytes).unwrap();
    }

    /// The records of the first `n` batches.
    fn records(&self, n: usize) -> Vec<Record> {
        self.batches[..n].concat()
    }

    /// How many batches are whole in the first `len` bytes.
    fn whole(&self, len: usize) -> usize {
        self.ends.iter().filter(|end| **end <= len).count().saturating_sub(1)
    }

    fn frame(&self, i: usize) -> &[u8] {
        &self.bytes[self.ends[i]..self.ends[i + 1]]
    }

    fn refused(&self, bytes: &[u8]) -> OpenError {
        self.put(bytes);
        let error = open(&self.path).err().expect("it was taken");
        assert_eq!(fs::read(&self.path).unwrap(), bytes, "a refused file was changed");
        assert!(!self.bad().exists());
        error
    }
}

#[test]
fn cut_anywhere_it_is_its_longest_prefix_and_goes_on() {
    let small = Small::new(batches());
    for len in 0..small.bytes.len() {
        small.put(&small.bytes[..len]);
        let (mut journal, recovery) = open(&small.path).unwrap();
        let whole = small.whole(len);
        let kept = if len < HEADER { 0 } else { small.ends[whole] };
        assert_eq!(contents(&journal), small.records(whole), "cut at {len}");
        let tail = &small.bytes[kept..len];
        match recovery.torn {
            Some(torn) => {
                assert_eq!((torn.offset, torn.bytes), (kept as u64, tail.len() as u64), "cut at {len}");
                assert_eq!((torn.saved, fs::read(small.bad()).unwrap()), (small.bad(), tail.to_vec()));
            }
            None => assert!(tail.is_empty() && !small.bad().exists(), "cut at {len}"),
        }
        journal.append(Epoch(9), recovery.next, &[closed(1, 9)], Urgency::Now).unwrap();
        Box::new(journal).close().unwrap();
        let (journal, recovery) = open(&small.path).unwrap();
        assert_eq!(recovery.torn, None);
        assert_eq!(contents(&journal), [small.records(whole), vec![closed(1, 9)]].concat(), "cut at {len}");
    }
}

#[test]
fn a_second_torn_tail_does_not_overwrite_the_first() {
    let small = Small::new(batches());
    small.put(&[&small.bytes[..], b"one"].concat());
    drop(open(&small.path).unwrap());
    fs::write(&small.path, [&small.bytes[..], b"two"].concat()).unwrap();
    drop(open(&small.path).unwrap());
    assert_eq!(fs::read(small.bad()).unwrap(), b"onetwo");
}

#[test]
fn no_flipped_bit_changes_what_is_read() {
    let small = Small::new(batches());
    for bit in HEADER * 8..small.bytes.len() * 8 {
        let mut bytes = small.bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let frame = small.whole(bit / 8);
        let error = small.refused(&bytes);
        let OpenError::Flip { offset, bit: in_byte, next, .. } = error else { panic!("bit {bit}: {error}") };
        assert_eq!((offset, usize::from(in_byte)), (bit as u64 / 8, bit % 8), "bit {bit}");
        assert_eq!(next, Seq(small.records(frame).len() as u64 + 1), "bit {bit}");
    }
}

#[test]
fn a_damaged_header_is_refused() {
    let small = Small::new(batches());
    for (byte, text) in [(0, "is not a journal"), (8, "has format"), (13, "in its header"), (33, "in its header")] {
        let mut bytes = small.bytes.clone();
        bytes[byte] ^= 4;
        let error = small.refused(&bytes).to_string();
        assert!(error.contains(text), "{byte}: {error}");
    }
    let mut holder_gone = small.bytes.clone();
    holder_gone[60] ^= 1;
    small.put(&holder_gone);
    assert_eq!(contents(&open(&small.path).unwrap().0), small.records(small.batches.len()));
}

/// Submits of about 1 KiB, so that holes swallow some of them whole.
fn large() -> Small {
    Small::new((0..200).map(|i| vec![submitted(i, 1, &[i as u8; 1000])]).collect())
}

#[test]
fn zeros_in_the_middle_are_named() {
    let small = large();
    for start in (4096..small.bytes.len()).step_by(4096) {
        for size in [512, 4096, 65536] {
            let end = (start + size).min(small.bytes.len());
            let mut bytes = small.bytes.clone();
            bytes[start..end].fill(0);
            let (first, behind) = (small.whole(start), small.ends.iter().position(|at| *at >= end).unwrap());
            let after = small.batches.len() - behind;
            let error = small.refused(&bytes);
            if after == 0 {
                let text = format!("is damaged at byte {}, record {}, and nothing", small.ends[first], first + 1);
                assert!(error.to_string().contains(&text), "{error} but not {text}");
                continue;
            }
            let text = format!(
                "is damaged at byte {}, record {}, and {after} valid records follow from byte {}",
                small.ends[first],
                first + 1,
                small.ends[behind]
            );
            assert!(error.to_string().contains(&text), "{error} but not {text}");
        }
    }
}

#[test]
fn two_holes_count_what_is_whole_between_and_behind() {
    let small = large();
    let mut bytes = small.bytes.clone();
    for hole in [50, 100] {
        bytes[small.ends[hole]..small.ends[hole + 2]].fill(0);
    }
    let OpenError::Hole { after, .. } = small.refused(&bytes) else { panic!("no hole") };
    assert_eq!(after, 200 - 50 - 4);
}

#[test]
fn repeated_and_displaced_frames_are_refused() {
    let small = Small::new(batches());
    let (header, all) = (&small.bytes[..HEADER], [0, 1, 2, 3]);
    for (order, at, found) in [
        (&[0, 0, 1, 2, 3][..], 1, 1),
        (&[0, 1, 2, 3, 3], 4, 7),
        (&[0, 2, 1, 3], 1, 4),
        (&[1, 2, 3], 0, 2),
        (&[0, 1, 3], 2, 7),
    ] {
        let bytes = order.iter().fold(header.to_vec(), |bytes, i| [&bytes[..], small.frame(*i)].concat());
        let expected: usize = order[..at].iter().map(|i| small.frame(*i).len()).sum();
        let error = small.refused(&bytes);
        let OpenError::Disorder { offset, found: seq, .. } = error else { panic!("{order:?}: {error}") };
        assert_eq!((offset, seq), ((HEADER + expected) as u64, Seq(found)), "{order:?}");
    }
    let whole = all.iter().fold(header.to_vec(), |bytes, i| [&bytes[..], small.frame(*i)].concat());
    assert_eq!(whole, small.bytes);
}

#[test]
fn a_huge_length_is_no_more_than_damage() {
    let small = Small::new(batches());
    for len in [0, 1, 1 << 20, 1 << 31, u32::MAX] {
        let mut bytes = small.bytes.clone();
        bytes[small.ends[1]..small.ends[1] + 4].copy_from_slice(&u32::to_le_bytes(len));
        assert!(matches!(small.refused(&bytes), OpenError::Hole { after: 4, .. }), "{len}");
    }
}

#[test]
fn an_empty_file_and_a_bare_header_are_fresh_and_others_stay() {
    let small = Small::new(batches());
    for len in [0, HEADER] {
        small.put(&small.bytes[..len]);
        let (journal, recovery) = open(&small.path).unwrap();
        assert_eq!((recovery.next, recovery.epoch, recovery.torn), (Seq(1), Epoch(0), None));
        assert_eq!(contents(&journal), []);
    }
    for other in [&b"hqjl0002 of another program"[..], b"x", &[0; 4096], b"#!/bin/sh\n"] {
        assert!(matches!(small.refused(other), OpenError::NotAJournal { .. }));
    }
    let mut future = small.bytes.clone();
    future[8..12].copy_from_slice(&3u32.to_le_bytes());
    let error = small.refused(&future).to_string();
    assert!(error.contains("has format 3, and this program knows none past 2"), "{error}");
}
