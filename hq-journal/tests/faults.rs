//! Disks that fail and machines that crash, at every operation: rows J7 and J10 of the fault matrix, and of J8 what one
//! process shows.

mod common;

use std::{
    path::Path,
    sync::{Arc, mpsc},
    time::Duration,
};

use common::ledger::{Ledger, condenser, life, record};
use hq_core::{Epoch, Record, Rng, Seq};
use hq_journal::{
    CondenseError, Durability, FileJournal, FileOptions, Journal, Keep, OpenError, Recovery, Urgency,
    storage::{Fault, FaultyDisk},
};

const PATH: &str = "/j";
const CODES: [i32; 3] = [28, 5, 122]; // ENOSPC, EIO, EDQUOT

fn options(segment_bytes: u64) -> FileOptions {
    let flush_period = Duration::from_millis(1);
    FileOptions { segment_bytes, flush_period, condenser: Some(condenser), ..FileOptions::default() }
}

struct Open {
    journal: FileJournal,
    recovery: Recovery,
    heard: mpsc::Receiver<Durability>,
}

fn open(disk: &FaultyDisk, segment_bytes: u64) -> Result<Open, OpenError> {
    let (sender, heard) = mpsc::channel();
    let on_durable = Arc::new(move |durability| drop(sender.send(durability)));
    let (journal, recovery) =
        FileJournal::open_on(Arc::new(disk.clone()), Path::new(PATH), options(segment_bytes), on_durable)?;
    Ok(Open { journal, recovery, heard })
}

fn contents(journal: &FileJournal) -> Vec<(Seq, Record)> {
    journal.read(Seq(1)).map(Result::unwrap).collect()
}

fn ledger(journal: &FileJournal) -> Ledger {
    Ledger::of(&contents(journal).into_iter().map(|(_, record)| record).collect::<Vec<_>>())
}

/// How far a life came.
#[derive(Clone, Copy, Debug, Default)]
struct Reached {
    appended: u64,
    /// Called safe.
    safe: u64,
    failed: bool,
}

/// Appends batches of one to three records until something fails, and waits for each; prunes now and then.
fn live(disk: &FaultyDisk, batches: u64, segment_bytes: u64) -> Reached {
    let Ok(Open { mut journal, recovery, heard }) = open(disk, segment_bytes) else { return Reached::default() };
    let mut reached = Reached { appended: recovery.next.0 - 1, safe: recovery.next.0 - 1, failed: false };
    for n in 0..batches {
        let batch: Vec<Record> = (1..=1 + n % 3).map(|i| record(reached.appended + i)).collect();
        if journal.append(Epoch(1), Seq(reached.appended + 1), &batch, Urgency::Now).is_err() {
            reached.failed = true;
            return reached;
        }
        reached.appended += batch.len() as u64;
        while reached.safe < reached.appended {
            match heard.recv_timeout(Duration::from_secs(60)).unwrap() {
                Durability::UpTo(seq) => reached.safe = seq.0,
                Durability::Trouble(_) => {}
                Durability::Failed(_) | Durability::TakenOver(_) => {
                    let refused = journal.append(Epoch(1), Seq(reached.appended + 1), &batch, Urgency::Now);
                    assert!(refused.is_err(), "a failed journal takes more");
                    reached.failed = true;
                    return reached;
                }
            }
        }
        if n % 10 == 9 {
            let _ = prune(&mut journal);
        }
    }
    reached.failed = Box::new(journal).close().is_err();
    reached
}

fn prune(journal: &mut FileJournal) -> Result<(u64, u64), CondenseError> {
    let (sender, done) = mpsc::channel();
    journal.condense(Keep::Unfinished, Box::new(move |result| drop(sender.send(result))));
    let condensed = done.recv_timeout(Duration::from_secs(60)).unwrap()?;
    Ok((condensed.before, condensed.after))
}

/// What was called safe is there, as much as was appended at most, and it goes on.
fn check(disk: &FaultyDisk, reached: Reached, segment_bytes: u64, what: &str) {
    let opened = open(disk, segment_bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
    let next = opened.recovery.next.0;
    assert!((reached.safe..=reached.appended).contains(&(next - 1)), "{what}: {next} after {reached:?}");
    assert_eq!(ledger(&opened.journal), Ledger::of(&life(next - 1)), "{what}");
    drop(opened);
    let more = live(disk, 12, segment_bytes);
    assert!(!more.failed && more.safe == more.appended && more.appended >= next + 11, "{what}: {more:?}");
    let opened = open(disk, segment_bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(ledger(&opened.journal), Ledger::of(&life(more.appended)), "{what}");
}

fn crashes(disk: &FaultyDisk, seed: u64) -> [(&'static str, FaultyDisk); 3] {
    let mut rng = Rng::new(seed);
    [("nothing", disk.crash(|| false)), ("all", disk.crash(|| true)), ("some", disk.crash(|| rng.chance(50)))]
}

#[test]
fn whatever_fails_and_is_lost_what_was_called_safe_is_there() {
    const SEGMENT: u64 = 400;
    let disk = FaultyDisk::new();
    disk.fail(Fault { first: u64::MAX, count: 0, code: 5 });
    let whole = live(&disk, 19, SEGMENT);
    assert!(!whole.failed && whole.safe == 37, "{whole:?}");
    let operations = disk.operations();
    assert!(operations > 60, "{operations} operations");
    let (mut failed, mut went_on) = (0, 0);
    for first in 0..operations {
        for count in [1, u64::MAX] {
            let (disk, code) = (FaultyDisk::new(), CODES[first as usize % 3]);
            disk.fail(Fault { first, count, code });
            let reached = live(&disk, 19, SEGMENT);
            assert!(
                count == 1 || reached.failed || reached.appended == 0 || reached.safe == 37,
                "{first}: {reached:?}"
            );
            failed += u64::from(reached.failed);
            went_on += u64::from(reached.safe == 37);
            for (kept, disk) in crashes(&disk, first) {
                // The extremes are nearly always alike.
                if kept != "some" && !first.is_multiple_of(3) {
                    continue;
                }
                check(&disk, reached, SEGMENT, &format!("operation {first}, {count} fail, {kept} kept"));
            }
        }
    }
    assert!(failed > 30 && went_on > 30, "{failed} failed, {went_on} went on");
}

/// What is condensed beside the writer comes at any moment, so that only the outcome is always the same.
#[test]
fn sealed_files_are_condensed_beside_what_goes_on() {
    const SEGMENT: u64 = 300;
    for seed in 0..60 {
        let disk = FaultyDisk::new();
        let first = seed * 7;
        disk.fail(Fault { first, count: if seed % 2 == 0 { u64::MAX } else { 1 }, code: 5 });
        let reached = live(&disk, 9, SEGMENT);
        let reached = if reached.failed || reached.appended == 0 { reached } else { live_on(&disk, reached) };
        for (kept, disk) in crashes(&disk, seed) {
            check(&disk, reached, SEGMENT, &format!("seed {seed}, {kept} kept"));
        }
    }
}

fn live_on(disk: &FaultyDisk, before: Reached) -> Reached {
    let more = live(disk, 40, 300);
    if more.appended == 0 { before } else { more }
}

#[test]
fn a_failed_sync_is_not_tried_again_on_the_same_pages() {
    let disk = FaultyDisk::new();
    drop(open(&disk, 1 << 20).unwrap());
    let Open { mut journal, heard, .. } = open(&disk, 1 << 20).unwrap();
    disk.fail(Fault { first: 1, count: 1, code: 5 }); // after the write
    journal.append(Epoch(1), Seq(1), &life(3), Urgency::Now).unwrap();
    let Durability::Trouble(text) = heard.recv().unwrap() else { panic!("no word of it") };
    assert!(text.contains("could not be synced") && text.contains("goes on in a new file"), "{text}");
    assert_eq!(heard.recv().unwrap(), Durability::UpTo(Seq(3)));
    let crashed = disk.crash(|| false);
    assert_eq!(ledger(&open(&crashed, 1 << 20).unwrap().journal), Ledger::of(&life(3)));
}

#[test]
fn a_full_disk_is_loud_and_takes_nothing_more() {
    for first in [0, 1] {
        let disk = FaultyDisk::new();
        let Open { mut journal, heard, .. } = open(&disk, 1 << 20).unwrap();
        disk.fail(Fault { first, count: u64::MAX, code: 28 });
        journal.append(Epoch(1), Seq(1), &life(3), Urgency::Now).unwrap();
        let Durability::Failed(reason) = heard.recv().unwrap() else { panic!("no failure") };
        assert!(reason.starts_with("cannot ") && reason.contains("`/j`: No space left"), "{reason}");
        let error = journal.append(Epoch(1), Seq(4), &life(1), Urgency::Now).unwrap_err();
        assert_eq!(error.to_string(), reason);
        assert_eq!(prune(&mut journal), Err(CondenseError::Ending));
        assert_eq!(Box::new(journal).close().unwrap_err().reason, reason);
        assert_eq!(contents(&open(&disk.crash(|| true), 1 << 20).unwrap().journal), []);
    }
}

#[test]
fn files_are_sealed_condensed_and_tidied_away() {
    let disk = FaultyDisk::new();
    let mut reached = Reached::default();
    let names = |disk: &FaultyDisk| {
        use hq_journal::storage::Storage;
        disk.suffixes(Path::new(PATH)).unwrap()
    };
    for _ in 0..30 {
        reached = live(&disk, 9, 300);
    }
    assert_eq!(reached.safe, 30 * 18);
    // Of 540 records six jobs are left: more than a hundred sealed files would be there else.
    let sealed: Vec<_> = names(&disk);
    assert!(!sealed.is_empty() && sealed.len() <= 40, "{sealed:?}");
    assert!(disk.bytes(Path::new("/j.1")).unwrap().len() < 2000);
    let Open { mut journal, recovery, .. } = open(&disk, 300).unwrap();
    assert_eq!((recovery.first, recovery.next), (Seq(1), Seq(541)));
    let (before, after) = prune(&mut journal).unwrap();
    assert!(after < before, "{after} of {before} bytes");
    assert_eq!(names(&disk), ["lock"], "one file is left, and the lock");
    assert_eq!(ledger(&journal), Ledger::of(&life(540)));
    let numbers: Vec<u64> = contents(&journal).iter().map(|(seq, _)| seq.0).collect();
    assert_eq!((numbers.first(), numbers.last()), (Some(&1), Some(&540)));
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
}
