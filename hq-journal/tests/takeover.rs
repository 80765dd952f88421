//! One writer at a time: row J11 of the fault matrix.

mod common;

use std::{
    fs,
    path::Path,
    sync::{Arc, mpsc},
};

use common::{batches, closed, contents};
use hq_core::{Epoch, Seq};
use hq_journal::{
    AppendError, Durability, FileJournal, FileOptions, Holder, Journal, OpenError, Recovery, Urgency,
    storage::{FaultyDisk, Files, Storage},
};

fn open(
    storage: Arc<dyn Storage>,
    path: &Path,
    takeover: bool,
) -> Result<(FileJournal, Recovery, mpsc::Receiver<Durability>), OpenError> {
    let (sender, heard) = mpsc::channel();
    let options = FileOptions { takeover, ..FileOptions::default() };
    let on_durable = Arc::new(move |durability| drop(sender.send(durability)));
    let (journal, recovery) = FileJournal::open_on(storage, path, options, on_durable)?;
    Ok((journal, recovery, heard))
}

#[test]
fn who_was_taken_over_calls_nothing_safe() {
    let dir = tempfile::tempdir().unwrap();
    let memory: Arc<dyn Storage> = Arc::new(FaultyDisk::new());
    for (storage, path) in [(Arc::new(Files) as Arc<dyn Storage>, dir.path().join("j")), (memory, "/j".into())] {
        let (mut old, _, heard) = open(storage.clone(), &path, false).unwrap();
        let all = batches();
        old.append(Epoch(1), Seq(1), &all.concat(), Urgency::Now).unwrap();
        assert_eq!(heard.recv().unwrap(), Durability::UpTo(Seq(7)));
        assert!(matches!(open(storage.clone(), &path, false), Err(OpenError::Held { .. })));
        let (mut new, recovery, heard_new) = open(storage.clone(), &path, true).unwrap();
        let us = Holder::this_process();
        assert_eq!((recovery.next, recovery.taken_from), (Seq(8), Some(us.clone())));
        old.append(Epoch(1), Seq(8), &[closed(1, 1)], Urgency::Now).unwrap();
        let Durability::TakenOver(reason) = heard.recv().unwrap() else { panic!("it was called safe") };
        assert_eq!(reason, format!("the journal was taken over by {us}; this server must end"));
        let refused = old.append(Epoch(1), Seq(9), &[closed(1, 1)], Urgency::Now);
        assert_eq!(refused, Err(AppendError::TakenOver { holder: Some(us) }));
        drop(old);
        new.append(Epoch(2), Seq(8), &[closed(2, 2)], Urgency::Now).unwrap();
        assert_eq!(heard_new.recv().unwrap(), Durability::UpTo(Seq(8)));
        Box::new(new).close().unwrap();
        let (journal, ..) = open(storage, &path, false).unwrap();
        assert_eq!(contents(&journal), [all.concat(), vec![closed(2, 2)]].concat());
    }
}

#[test]
fn who_writes_nothing_finds_out_as_well() {
    let disk: Arc<dyn Storage> = Arc::new(FaultyDisk::new());
    let (sender, heard) = mpsc::channel();
    let options = FileOptions { look_period: std::time::Duration::from_millis(1), ..FileOptions::default() };
    let on_durable = Arc::new(move |durability| drop(sender.send(durability)));
    let (mut old, _) = FileJournal::open_on(disk.clone(), Path::new("/j"), options, on_durable).unwrap();
    let (_new, ..) = open(disk, Path::new("/j"), true).unwrap();
    assert!(matches!(heard.recv().unwrap(), Durability::TakenOver(_)));
    let refused = old.append(Epoch(1), Seq(1), &[closed(1, 1)], Urgency::Now);
    assert!(matches!(refused, Err(AppendError::TakenOver { .. })), "{refused:?}");
}

#[test]
fn a_journal_that_was_moved_away_takes_nothing_more() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("j");
    let (mut journal, _, heard) = open(Arc::new(Files), &path, false).unwrap();
    fs::rename(&path, dir.path().join("elsewhere")).unwrap();
    journal.append(Epoch(1), Seq(1), &[closed(1, 1)], Urgency::Now).unwrap();
    let Durability::Failed(reason) = heard.recv().unwrap() else { panic!("it is nobody's, or was called safe") };
    assert!(reason.contains("moved or removed"), "{reason}");
}
