//! The suite for journals: [`test_all`].

use std::{
    sync::{Arc, mpsc},
    time::Duration,
};

use hq_core::{Blob, Epoch, Fact, JobId, JobTarget, Ordinal, Profile, Record, Request, Seq, Submit, TaskIds, Tick};
use hq_journal::{AppendError, Durability, Journal, Keep, OnDurable, ReadError, Urgency};

/// One journal of its own, nothing in it at first, that can be opened again and again. What it needs (a directory, a
/// server) lives as long as the value.
pub trait JournalBuilder {
    /// Opens the journal.
    ///
    /// # Errors
    /// Where that is not possible, as while it is open elsewhere.
    fn open(&mut self, on_durable: OnDurable) -> Result<Box<dyn Journal>, String>;
}

/// Runs every case of the suite, each on a journal of its own.
///
/// # Panics
/// Where the journal does not do what [`Journal`] promises; the message names the case.
pub fn test_all<B: JournalBuilder>(mut fresh: impl FnMut() -> B) {
    for (name, case) in CASES {
        let mut builder = fresh();
        case(&mut Case { name, builder: &mut builder });
    }
}

type Check = fn(&mut Case<'_>);

const CASES: [(&str, Check); 11] = [
    ("a fresh journal is empty", fresh_is_empty),
    ("what is appended becomes safe and is read again", appended_is_read),
    ("safe numbers grow and end at the last record", durability_grows),
    ("what nobody waits for becomes safe all the same", lazy_becomes_safe),
    ("records are there after a close", kept_over_close),
    ("reading begins anywhere", read_from_anywhere),
    ("gaps and repetitions are refused", gaps_are_refused),
    ("an old epoch is refused", old_epoch_is_refused),
    ("two never write at the same time", one_writer),
    ("only what may go goes", retired_at_most),
    ("numbers stay what they are when a journal is condensed", condensed_keeps_numbers),
];

struct Case<'a> {
    name: &'static str,
    builder: &'a mut dyn JournalBuilder,
}

/// An open journal and what it says.
struct Open {
    name: &'static str,
    journal: Box<dyn Journal>,
    heard: mpsc::Receiver<Durability>,
}

impl Case<'_> {
    fn try_open(&mut self) -> Result<Open, String> {
        let (sender, heard) = mpsc::channel();
        let journal = self.builder.open(Arc::new(move |durability| drop(sender.send(durability))))?;
        Ok(Open { name: self.name, journal, heard })
    }

    fn open(&mut self) -> Open {
        self.try_open().unwrap_or_else(|error| panic!("{}: cannot open: {error}", self.name))
    }
}

impl Open {
    fn append(&mut self, epoch: u32, first: u64, records: &[Record]) -> Result<(), AppendError> {
        self.journal.append(Epoch(epoch), Seq(first), records, Urgency::Now)
    }

    /// Appends batches and waits until they are safe.
    fn fill(&mut self, epoch: u32, mut first: u64, batches: &[Vec<Record>]) {
        for batch in batches {
            self.append(epoch, first, batch).unwrap_or_else(|error| panic!("{}: {error}", self.name));
            first += batch.len() as u64;
        }
        self.wait(first - 1);
    }

    fn wait(&self, last: u64) {
        loop {
            match self.heard.recv_timeout(Duration::from_secs(30)) {
                Ok(Durability::Trouble(_)) => {}
                Ok(Durability::UpTo(seq)) if seq < Seq(last) => {}
                Ok(Durability::UpTo(seq)) => return assert_eq!(seq, Seq(last), "{}", self.name),
                other => panic!("{}: record {last} did not become safe: {other:?}", self.name),
            }
        }
    }

    fn read(&self, from: u64) -> Vec<(Seq, Record)> {
        let read: Result<Vec<_>, _> = self.journal.read(Seq(from)).collect();
        read.unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    fn close(self) {
        self.journal.close().unwrap_or_else(|error| panic!("{}: {error}", self.name));
    }
}

fn record(n: u32) -> Record {
    let tick = Tick(u64::from(n) * 1_000_003 % 7_919);
    if !n.is_multiple_of(3) {
        return Record { at: tick, fact: Fact::JobClosed { job: JobId(n) } };
    }
    let profile = Profile::new(Request::gang(n.max(1)));
    let shared = Blob::from(vec![n as u8; n as usize * 10]);
    let submit = Submit::array(JobTarget::Attach(JobId(n)), TaskIds::Next(n), "program", shared, profile);
    Record { at: tick, fact: Fact::Submitted { job: JobId(n), base: Ordinal(n.into()), submit: Arc::new(submit) } }
}

/// Batches of 1, 2, 3, … records.
fn batches(n: u32) -> Vec<Vec<Record>> {
    (0..n).map(|i| (0..=i).map(|k| record(i * 100 + k)).collect()).collect()
}

fn numbered(batches: &[Vec<Record>]) -> Vec<(Seq, Record)> {
    (1..).map(Seq).zip(batches.concat()).collect()
}

fn fresh_is_empty(case: &mut Case<'_>) {
    let open = case.open();
    assert_eq!(open.journal.durable(), Seq(0), "{}", case.name);
    assert_eq!(open.read(1), [], "{}", case.name);
    open.close();
    assert_eq!(case.open().read(0), [], "{}", case.name);
}

fn appended_is_read(case: &mut Case<'_>) {
    let mut open = case.open();
    let batches = batches(6);
    open.fill(1, 1, &batches);
    assert_eq!(open.journal.durable(), Seq(21), "{}", case.name);
    assert_eq!(open.read(1), numbered(&batches), "{}", case.name);
    open.append(1, 22, &[]).unwrap();
    assert_eq!(open.read(22), [], "{}", case.name);
}

fn durability_grows(case: &mut Case<'_>) {
    let mut open = case.open();
    for n in 1..=200 {
        open.append(1, n, &[record(n as u32)]).unwrap();
    }
    open.journal.close().unwrap();
    let heard: Vec<_> = open.heard.try_iter().collect();
    let number = |durability: &Durability| match durability {
        Durability::UpTo(seq) => *seq,
        Durability::Failed(reason) | Durability::TakenOver(reason) | Durability::Trouble(reason) => {
            panic!("{}: {reason}", case.name)
        }
    };
    let numbers: Vec<_> = heard.iter().map(number).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{}: {numbers:?}", case.name);
    assert_eq!(numbers.last(), Some(&Seq(200)), "{}", case.name);
}

fn lazy_becomes_safe(case: &mut Case<'_>) {
    let mut open = case.open();
    open.journal.append(Epoch(1), Seq(1), &[record(1)], Urgency::Lazy).unwrap();
    open.wait(1);
    open.journal.append(Epoch(1), Seq(2), &[record(2)], Urgency::Lazy).unwrap();
    open.append(1, 3, &[record(3)]).unwrap();
    open.wait(3);
}

fn kept_over_close(case: &mut Case<'_>) {
    let batches = batches(8);
    let mut first = 1;
    for (epoch, batch) in (1..).zip(&batches) {
        let mut open = case.open();
        assert_eq!(open.journal.durable(), Seq(first - 1), "{}", case.name);
        open.journal.append(Epoch(epoch), Seq(first), batch, Urgency::Lazy).unwrap();
        first += batch.len() as u64;
        open.close();
    }
    assert_eq!(case.open().read(1), numbered(&batches), "{}", case.name);
}

fn read_from_anywhere(case: &mut Case<'_>) {
    let mut open = case.open();
    let batches = batches(6);
    open.fill(1, 1, &batches);
    for from in 0..30 {
        let expected: Vec<_> = numbered(&batches).into_iter().filter(|(seq, _)| seq.0 >= from).collect();
        assert_eq!(open.read(from), expected, "{}: from {from}", case.name);
    }
    // A reader is not disturbed by appends, and reads what was there when it began.
    let mut reader = open.journal.read(Seq(1));
    assert_eq!(reader.next().unwrap().unwrap().0, Seq(1));
    open.fill(1, 22, &[vec![record(1)]]);
    assert_eq!(std::thread::spawn(move || reader.count()).join().unwrap(), 20, "{}", case.name);
}

fn gaps_are_refused(case: &mut Case<'_>) {
    let mut open = case.open();
    open.fill(1, 1, &batches(2));
    for first in [0, 1, 3, 5, u64::MAX] {
        for records in [&[record(1)][..], &[]] {
            let error = open.append(1, first, records).unwrap_err();
            let fenced = matches!(error, AppendError::Fenced { next: Seq(4), .. });
            assert!(fenced, "{}: {first}: {error}", case.name);
        }
    }
    open.fill(1, 4, &[vec![record(9)]]);
    assert_eq!(open.read(1), numbered(&[batches(2).concat(), vec![record(9)]]), "{}", case.name);
}

fn old_epoch_is_refused(case: &mut Case<'_>) {
    let mut open = case.open();
    open.fill(3, 1, &batches(1));
    let refused = |open: &mut Open, epoch, next| {
        let error = open.append(epoch, next, &[record(1)]).unwrap_err();
        assert!(matches!(error, AppendError::Fenced { epoch: Epoch(3), .. }), "{}: {error}", open.name);
    };
    refused(&mut open, 2, 2);
    open.close();
    let mut open = case.open();
    refused(&mut open, 2, 2);
    open.fill(3, 2, &batches(1));
    open.fill(7, 3, &batches(1));
    assert!(open.append(3, 4, &[record(1)]).is_err(), "{}: an epoch came back", case.name);
    assert_eq!(open.read(1), numbered(&vec![batches(1).concat(); 3]), "{}", case.name);
}

fn one_writer(case: &mut Case<'_>) {
    let mut first = case.open();
    first.fill(1, 1, &batches(1));
    let Ok(mut second) = case.try_open() else {
        first.fill(1, 2, &batches(1));
        return;
    };
    second.fill(2, 2, &batches(1));
    for next in [2, 3] {
        let error = first.append(1, next, &[record(1)]).unwrap_err();
        assert!(matches!(error, AppendError::Fenced { epoch: Epoch(2), .. }), "{}: {error}", case.name);
    }
    assert_eq!(second.read(1), numbered(&vec![batches(1).concat(); 2]), "{}", case.name);
}

fn retired_at_most(case: &mut Case<'_>) {
    let mut open = case.open();
    let batches = batches(6);
    open.fill(1, 1, &batches);
    let mut allowed = 1;
    for before in [0, 1, 7, 4, 22, 1000] {
        open.journal.retire(Seq(before));
        allowed = before.clamp(allowed, 22);
        for from in 1..=22 {
            match open.journal.read(Seq(from)).next() {
                Some(Err(ReadError::Retired { .. })) => assert!(from < allowed, "{}: {from} is gone", case.name),
                Some(item) => assert_eq!(item.unwrap(), numbered(&batches)[from as usize - 1], "{}", case.name),
                None => assert_eq!(from, 22, "{}", case.name),
            }
        }
    }
    open.fill(1, 22, &[vec![record(1)]]);
    assert_eq!(open.read(22), [(Seq(22), record(1))], "{}", case.name);
}

fn condensed_keeps_numbers(case: &mut Case<'_>) {
    let mut open = case.open();
    open.fill(1, 1, &batches(6));
    let (sender, heard) = mpsc::channel();
    open.journal.condense(Keep::All, Box::new(move |result| drop(sender.send(result))));
    let result = heard.recv_timeout(Duration::from_secs(30));
    let result = result.unwrap_or_else(|error| panic!("{}: no answer: {error}", case.name));
    let read = open.read(1);
    if result.is_err() {
        assert_eq!(read, numbered(&batches(6)), "{}: it was refused", case.name);
    }
    let numbers: Vec<u64> = read.iter().map(|(seq, _)| seq.0).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b) && numbers.last() == Some(&21), "{}: {numbers:?}", case.name);
    open.fill(1, 22, &[vec![record(1)]]);
    assert_eq!(open.read(22), [(Seq(22), record(1))], "{}", case.name);
    open.close();
    assert_eq!(case.open().journal.durable(), Seq(22), "{}", case.name);
}
