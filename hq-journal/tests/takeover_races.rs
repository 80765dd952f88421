//! A takeover at each operation of the one who has the journal: row J11 of the fault matrix, where it hurts most.

mod common;

use std::{
    ffi::OsString,
    io,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use common::ledger::{Ledger, condenser, life, record};
use hq_core::{Epoch, Record, Seq};
use hq_journal::{
    Durability, FileJournal, FileOptions, Journal, Keep, Urgency,
    storage::{FaultyDisk, How, Storage, StoredFile},
};

const PATH: &str = "/j";
const SEGMENT_BYTES: u64 = 600;

/// A disk as one process sees it, that calls `before` before each of its operations, and `refused` where another
/// one changes names.
#[derive(Clone)]
struct View {
    disk: Arc<dyn Storage>,
    before: Arc<dyn Fn() + Send + Sync>,
    refused: Arc<dyn Fn() + Send + Sync>,
}

#[derive(Clone)]
struct Viewed {
    file: Arc<dyn StoredFile>,
    view: View,
    is_lock: bool,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("View")
    }
}

impl std::fmt::Debug for Viewed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.file.fmt(f)
    }
}

impl Storage for View {
    fn open(&self, path: &Path, how: How) -> io::Result<Arc<dyn StoredFile>> {
        (self.before)();
        Ok(Arc::new(Viewed {
            file: self.disk.open(path, how)?,
            view: self.clone(),
            is_lock: path == Path::new("/j.lock"),
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        (self.before)();
        self.disk.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        (self.before)();
        self.disk.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        (self.before)();
        self.disk.remove(path)
    }

    fn suffixes(&self, path: &Path) -> io::Result<Vec<OsString>> {
        (self.before)();
        self.disk.suffixes(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        (self.before)();
        self.disk.sync_dir(path)
    }

    fn identity(&self, path: &Path) -> io::Result<(u64, u64)> {
        (self.before)();
        self.disk.identity(path)
    }
}

impl StoredFile for Viewed {
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        self.file.read_at(bytes, at)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        (self.view.before)();
        self.file.write_at(bytes, at)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn set_size(&self, len: u64) -> io::Result<()> {
        (self.view.before)();
        self.file.set_size(len)
    }

    fn sync(&self) -> io::Result<()> {
        (self.view.before)();
        self.file.sync()
    }

    fn try_lock(&self) -> io::Result<bool> {
        let got = self.file.try_lock()?;
        if !got && self.is_lock {
            (self.view.refused)();
        }
        Ok(got)
    }

    fn unlock(&self) {
        self.file.unlock();
    }

    fn identity(&self) -> io::Result<(u64, u64)> {
        self.file.identity()
    }
}

type Heard = mpsc::Receiver<Durability>;

fn open(storage: Arc<dyn Storage>, takeover: bool) -> (FileJournal, Heard) {
    let (sender, heard) = mpsc::channel();
    let on_durable = Arc::new(move |durability| drop(sender.send(durability)));
    let flush_period = Duration::from_millis(1);
    let condenser = Some(condenser as hq_journal::Condenser);
    let options =
        FileOptions { segment_bytes: SEGMENT_BYTES, flush_period, condenser, takeover, ..FileOptions::default() };
    let (journal, _) = FileJournal::open_on(storage, Path::new(PATH), options, on_durable).unwrap();
    (journal, heard)
}

/// Appends record after record from `next` on until `until`, or until that is refused; returns the last one called safe.
fn live(journal: &mut FileJournal, heard: &Heard, epoch: u32, next: u64, until: u64) -> u64 {
    let mut safe = next - 1;
    for n in next..=until {
        if journal.append(Epoch(epoch), Seq(n), &[record(n)], Urgency::Now).is_err() {
            return safe;
        }
        while safe < n {
            match heard.recv_timeout(Duration::from_secs(60)).unwrap() {
                Durability::UpTo(seq) => safe = seq.0,
                Durability::Trouble(_) => {}
                Durability::Failed(_) | Durability::TakenOver(_) => return safe,
            }
        }
        if n % 20 == 0 {
            let (sender, done) = mpsc::channel();
            journal.condense(Keep::Unfinished, Box::new(move |result| drop(sender.send(result))));
            let _ = done.recv_timeout(Duration::from_secs(60)).unwrap();
        }
    }
    safe
}

fn contents(journal: &FileJournal) -> Vec<Record> {
    journal.read(Seq(1)).map(|record| record.unwrap().1).collect()
}

/// Somebody takes the journal from its holder before operation `at` of it. Returns whether there was such a one.
fn take_over_before(at: u64) -> bool {
    type Taken = JoinHandle<(FileJournal, Heard)>;
    let disk: Arc<dyn Storage> = Arc::new(FaultyDisk::new());
    let thief: Arc<Mutex<Option<Taken>>> = Arc::default();
    let count = Arc::new(AtomicU64::new(u64::MAX / 2)); // far off until the holder has it
    let counted = count.clone();
    let (of_thief, slot) = (disk.clone(), thief.clone());
    let before = move || {
        if counted.fetch_add(1, Ordering::SeqCst) != at {
            return;
        }
        let (told, hears) = mpsc::sync_channel(1);
        let refused = told.clone();
        let refused = Arc::new(move || {
            let _ = refused.try_send(());
        });
        let view = View { disk: of_thief.clone(), before: Arc::new(|| {}), refused };
        let taken = thread::spawn(move || {
            let opened = open(Arc::new(view), true);
            let _ = told.try_send(());
            opened
        });
        // It either has the journal, or waits for what the holder is at.
        let _ = hears.recv_timeout(Duration::from_secs(60));
        *slot.lock().unwrap() = Some(taken);
    };
    let view = View { disk: disk.clone(), before: Arc::new(before), refused: Arc::new(|| {}) };
    let (mut old, heard) = open(Arc::new(view), false);
    count.store(0, Ordering::SeqCst);
    let mut safe = live(&mut old, &heard, 1, 1, 70);
    drop(old);
    safe = heard.try_iter().fold(safe, |safe, durability| match durability {
        Durability::UpTo(seq) => seq.0,
        _ => safe,
    });
    let Some(taken) = thief.lock().unwrap().take() else { return false };
    let (mut new, heard) = taken.join().unwrap();
    let next = new.durable().0 + 1;
    assert!(next > safe, "operation {at}: {safe} records were called safe, {} are there", next - 1);
    assert_eq!(Ledger::of(&contents(&new)), Ledger::of(&life(next - 1)), "operation {at}");
    let last = live(&mut new, &heard, 2, next, next + 45);
    assert_eq!(last, next + 45, "operation {at}: the new holder is stopped");
    Box::new(new).close().unwrap();
    let (again, _) = open(disk, false);
    assert_eq!(again.durable().0, last, "operation {at}");
    assert_eq!(Ledger::of(&contents(&again)), Ledger::of(&life(last)), "operation {at}");
    true
}

#[test]
fn whatever_its_holder_is_at_a_takeover_loses_nothing() {
    let tried = (0..).take_while(|at| take_over_before(*at)).count();
    assert!(tried > 200, "only {tried} operations");
}
