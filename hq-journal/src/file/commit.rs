//! Group commit: all that is queued becomes one write and one sync.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path, sync::Arc};

use super::queue::{Durable, Queue};
use crate::{Durability, OnDurable};

/// What the thread does to the disk; a trait so that tests can make it fail.
pub(super) trait Disk {
    fn write(&self, bytes: &[u8], at: u64) -> io::Result<()>;
    fn sync(&self) -> io::Result<()>;
    fn cut(&self, len: u64) -> io::Result<()>;
}

impl Disk for Arc<File> {
    fn write(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.write_all_at(bytes, at)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn cut(&self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }
}

/// A buffer that a burst made larger than this is given back.
const KEPT_BYTES: usize = 1 << 20;

/// Writes until the queue is closed or the disk fails.
///
/// After a failure nothing is tried again: a sync that failed may have dropped the pages, and a second one would call them
/// safe. The file is cut back to what is safe, so that nothing which was never acknowledged is found there later.
///
/// `path` is for people.
pub(super) fn run(queue: &Queue, disk: &impl Disk, path: &Path, on_durable: &OnDurable) {
    let guard = FailOnUnwind(queue);
    let failed = |action| move |error| format!("cannot {action} the journal `{}`: {error}", path.display());
    let mut durable = queue.durable();
    let mut bytes = Vec::new();
    while let Some(seq) = queue.take(&mut bytes) {
        let written = disk.write(&bytes, durable.end).map_err(failed("write to"));
        let synced = written.and_then(|()| disk.sync().map_err(failed("sync")));
        if let Err(reason) = synced {
            queue.fail(&reason);
            let _ = disk.cut(durable.end); // the next opening finds a torn tail, where this fails too
            on_durable(Durability::Failed(reason));
            break;
        }
        durable = Durable { seq, end: durable.end + bytes.len() as u64 };
        queue.done(durable);
        on_durable(Durability::UpTo(seq));
        if bytes.capacity() > KEPT_BYTES {
            bytes = Vec::new();
        }
    }
    std::mem::forget(guard);
}

/// Nobody must wait for a thread that a panic of the callback has ended.
struct FailOnUnwind<'a>(&'a Queue);

impl Drop for FailOnUnwind<'_> {
    fn drop(&mut self) {
        self.0.fail("the thread that writes the journal has died");
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Mutex, mpsc},
        thread,
        time::Duration,
    };

    use hq_core::{Epoch, Fact, JobId, Record, Seq, Tick};

    use super::*;
    use crate::{AppendError, Urgency};

    #[derive(Default)]
    struct FakeDisk {
        done: Mutex<Vec<String>>,
        fail_write: bool,
        fail_sync: bool,
    }

    impl FakeDisk {
        fn note(&self, what: String, fail: bool) -> io::Result<()> {
            self.done.lock().unwrap().push(what);
            if fail { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        }
    }

    impl Disk for FakeDisk {
        fn write(&self, bytes: &[u8], at: u64) -> io::Result<()> {
            self.note(format!("write {} at {at}", bytes.len()), self.fail_write)
        }

        fn sync(&self) -> io::Result<()> {
            self.note("sync".to_owned(), self.fail_sync)
        }

        fn cut(&self, len: u64) -> io::Result<()> {
            self.note(format!("cut {len}"), false)
        }
    }

    fn push(queue: &Queue, seq: u64, urgency: Urgency) -> Result<(), AppendError> {
        queue.push(Epoch(1), Seq(seq), &[Record { at: Tick(0), fact: Fact::JobClosed { job: JobId(1) } }], urgency)
    }

    fn queue(bytes_max: usize) -> Queue {
        Queue::new(Durable { seq: Seq(0), end: 128 }, bytes_max, Duration::from_secs(3600))
    }

    fn hear() -> (OnDurable, mpsc::Receiver<Durability>) {
        let (sender, receiver) = mpsc::channel();
        (Arc::new(move |durability| drop(sender.send(durability))), receiver)
    }

    #[test]
    fn all_that_waits_is_one_write_and_one_sync() {
        let (queue, disk, (on_durable, heard)) = (queue(1 << 20), FakeDisk::default(), hear());
        for (seq, urgency) in [(1, Urgency::Lazy), (2, Urgency::Lazy), (3, Urgency::Now)] {
            push(&queue, seq, urgency).unwrap();
        }
        thread::scope(|scope| {
            scope.spawn(|| run(&queue, &disk, Path::new("/d/j"), &on_durable));
            assert_eq!(heard.recv().unwrap(), Durability::UpTo(Seq(3)));
            push(&queue, 4, Urgency::Lazy).unwrap();
            queue.close();
        });
        assert_eq!(heard.recv().unwrap(), Durability::UpTo(Seq(4)));
        let frame = 8 + 3 + 1 + 17;
        let expected = [format!("write {} at 128", 3 * frame), "sync".to_owned()];
        let last = [format!("write {frame} at {}", 128 + 3 * frame), "sync".to_owned()];
        assert_eq!(*disk.done.lock().unwrap(), [expected, last].concat());
    }

    #[test]
    fn a_failure_is_told_once_and_nothing_is_tried_again() {
        for (fail_write, reason) in
            [(true, "cannot write to the journal `/d/j`: "), (false, "cannot sync the journal `/d/j`: ")]
        {
            let disk = FakeDisk { fail_write, fail_sync: !fail_write, ..FakeDisk::default() };
            let (queue, (on_durable, heard)) = (queue(1 << 20), hear());
            push(&queue, 1, Urgency::Now).unwrap();
            run(&queue, &disk, Path::new("/d/j"), &on_durable);
            let Ok(Durability::Failed(told)) = heard.recv() else { panic!("no failure was told") };
            assert!(told.starts_with(reason), "{told}");
            for seq in [1, 2] {
                assert_eq!(push(&queue, seq, Urgency::Now), Err(AppendError::Failed { reason: told.clone() }));
            }
            drop(on_durable);
            assert!(heard.recv().is_err());
            let done = disk.done.into_inner().unwrap();
            assert_eq!(done.last().unwrap(), "cut 128");
            assert_eq!(done.len(), if fail_write { 2 } else { 3 });
            assert_eq!(queue.durable(), Durable { seq: Seq(0), end: 128 });
        }
    }

    #[test]
    fn a_full_queue_waits_for_the_disk_and_goes_on() {
        let (queue, disk, (on_durable, heard)) = (queue(10), FakeDisk::default(), hear());
        thread::scope(|scope| {
            scope.spawn(|| run(&queue, &disk, Path::new("/d/j"), &on_durable));
            for seq in 1..=100 {
                push(&queue, seq, Urgency::Lazy).unwrap();
            }
            queue.close();
        });
        drop(on_durable);
        assert_eq!(heard.iter().last(), Some(Durability::UpTo(Seq(100))));
        let largest =
            disk.done.into_inner().unwrap().iter().filter_map(|done| done.split(' ').nth(1)?.parse().ok()).max();
        assert_eq!(largest, Some(8 + 3 + 1 + 17));
    }

    #[test]
    fn a_full_queue_does_not_wait_for_a_dead_disk() {
        let (queue, disk) = (queue(10), FakeDisk { fail_write: true, ..FakeDisk::default() });
        let (on_durable, _heard) = hear();
        push(&queue, 1, Urgency::Now).unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| push(&queue, 2, Urgency::Now));
            run(&queue, &disk, Path::new("/d/j"), &on_durable);
            // Taken before the failure or refused after it, but not stuck.
            let _ = waiting.join().unwrap();
        });
        assert!(matches!(push(&queue, 3, Urgency::Now), Err(AppendError::Failed { .. })));
    }

    #[test]
    fn a_panic_of_the_callback_fails_the_journal() {
        let (queue, disk) = (queue(10), FakeDisk::default());
        let on_durable: OnDurable = Arc::new(|_| panic!("of the test"));
        push(&queue, 1, Urgency::Now).unwrap();
        thread::scope(|scope| scope.spawn(|| run(&queue, &disk, Path::new("/d/j"), &on_durable)).join().unwrap_err());
        assert!(matches!(push(&queue, 2, Urgency::Now), Err(AppendError::Failed { .. })));
    }
}
