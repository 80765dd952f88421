//! Who may open a file, and in which state it is then.

mod common;

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    sync::{Arc, mpsc},
    time::Duration,
};

use common::{batches, closed, contents, numbered, open, write};
use hq_core::{Epoch, Seq};
use hq_journal::{AppendError, Durability, FileJournal, FileOptions, Holder, Journal, OpenError, ReadError, Urgency};

#[test]
fn one_at_a_time_and_the_holder_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let first = open(&path).unwrap();
    let error = open(&path).err().expect("two have it open");
    let us = Holder::this_process();
    assert!(matches!(&error, OpenError::Held { holder: Some(holder), .. } if *holder == us));
    assert!(error.to_string().contains(&format!("is in use by {us};")), "{error}");
    drop(first);
    open(&path).unwrap();
}

#[test]
fn only_the_owner_can_read_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    write(&path, &batches());
    assert_eq!(mode(), 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    drop(open(&path).unwrap());
    assert_eq!(mode(), 0o600);
    fs::write(&path, &fs::read(&path).unwrap()[..200]).unwrap();
    drop(open(&path).unwrap());
    assert_eq!(fs::metadata(path.with_extension("bad")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn links_directories_and_missing_directories_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("link");
    symlink(dir.path().join("elsewhere"), &link).unwrap();
    for path in [link, dir.path().to_owned(), dir.path().join("no/journal")] {
        let error = open(&path).err().expect("it was taken").to_string();
        assert!(error.starts_with("cannot open journal `"), "{error}");
    }
    assert!(!dir.path().join("elsewhere").exists());
}

#[test]
fn goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let (_, recovery) = open(&path).unwrap();
    assert_eq!((recovery.first, recovery.next, recovery.epoch), (Seq(1), Seq(1), Epoch(0)));
    write(&path, &batches());
    let (mut journal, recovery) = open(&path).unwrap();
    assert_eq!((recovery.first, recovery.next, recovery.epoch), (Seq(1), Seq(8), Epoch(1)));
    assert_eq!(journal.durable(), Seq(7));
    assert!(matches!(
        journal.append(Epoch(0), Seq(8), &[closed(1, 1)], Urgency::Now),
        Err(AppendError::Fenced { epoch: Epoch(1), next: Seq(8), .. })
    ));
    journal.append(Epoch(2), Seq(8), &[closed(1, 1)], Urgency::Now).unwrap();
    drop(journal);
    let (journal, recovery) = open(&path).unwrap();
    assert_eq!((recovery.next, recovery.epoch), (Seq(9), Epoch(2)));
    assert_eq!(contents(&journal), [batches().concat(), vec![closed(1, 1)]].concat());
    assert_eq!(numbered(&journal, 8), [(Seq(8), closed(1, 1))]);
}

#[test]
fn lazy_records_are_synced_within_the_flush_period() {
    let dir = tempfile::tempdir().unwrap();
    let (sender, heard) = mpsc::channel();
    let options = FileOptions { flush_period: Duration::from_millis(1), ..FileOptions::default() };
    let on_durable = Arc::new(move |durability| drop(sender.send(durability)));
    let (mut journal, _) = FileJournal::open(dir.path().join("journal"), options, on_durable).unwrap();
    journal.append(Epoch(1), Seq(1), &[closed(1, 1)], Urgency::Lazy).unwrap();
    assert_eq!(heard.recv_timeout(Duration::from_secs(30)), Ok(Durability::UpTo(Seq(1))));
}

#[test]
fn damage_in_use_is_an_error_of_the_reader() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    write(&path, &batches());
    let (journal, _) = open(&path).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    let read: Vec<_> = journal.read(Seq(1)).collect();
    assert_eq!(read.len(), 7);
    assert!(matches!(read.last(), Some(Err(ReadError::Damaged { .. }))));
}

/// J12. `tests/data/v1.journal` was written by the first version.
#[test]
fn a_journal_of_the_first_format_is_read_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let old = include_bytes!("data/v1.journal");
    for len in [old.len(), old.len() - 1] {
        fs::write(&path, &old[..len]).unwrap();
        let whole = if len == old.len() { batches().concat() } else { batches()[..3].concat() };
        let read: Vec<_> = hq_journal::read_file(&path).unwrap().map(|item| item.unwrap().1).collect();
        assert_eq!(read, whole, "it is read without being changed");
        assert_eq!(fs::read(&path).unwrap(), old[..len]);
        let next = whole.len() as u64 + 1;
        let (mut journal, recovery) = open(&path).unwrap();
        assert_eq!((recovery.next, recovery.epoch, recovery.torn.is_some()), (Seq(next), Epoch(1), len < old.len()));
        journal.append(Epoch(2), Seq(next), &[closed(1, 1)], Urgency::Now).unwrap();
        Box::new(journal).close().unwrap();
        assert_eq!(fs::read(&path).unwrap()[8], 2, "it is in the present format now");
        assert_eq!(contents(&open(&path).unwrap().0), [whole, vec![closed(1, 1)]].concat());
    }
}
