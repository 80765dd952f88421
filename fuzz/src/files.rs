//! Journals and stream files: any bytes, and bytes that are nearly right. Checksums keep what is wrong from the decoders
//! behind them; here they are made right, so that these are reached.

use std::{fs, path::Path, sync::Arc};

use hq_core::{Channel, Instance, JobId, Record, Seq, TaskNumber, TaskRun, WorkerId};
use hq_engine::repair_journal;
use hq_journal::{
    FileJournal, FileOptions, Journal, Urgency, read_file,
    storage::{FaultyDisk, How, Storage},
};
use hq_node::Chronicle;
use hq_stream::{Chunk, End, Head, Scan, StreamDir, StreamFile};
use tempfile::TempDir;

use crate::{Target, nodes};

pub(crate) fn targets() -> Vec<Target> {
    let journals: Vec<Vec<u8>> = nodes::histories().into_iter().map(journal_of).collect();
    let old = include_bytes!("../../hq-journal/tests/data/v1.journal").to_vec();
    let journals = || journals.iter().chain([&old]);
    let stream = stream_file();
    vec![
        Target::new("journal", journal, journals()).with_memory(64 << 20, 4096).slow(),
        Target::new("journal-facts", journal_facts, journals()).with_memory(64 << 20, 1 << 14).slow(),
        Target::new("journal-repair", journal_repair, journals()).with_memory(64 << 20, 1 << 14).slow(),
        Target::new("stream", stream_bytes, [&stream]).with_memory(8 << 20, 256).slow(),
        Target::new("stream-frames", |bytes| stream_bytes(&with_right_sums(bytes)), [&stream])
            .with_memory(8 << 20, 256)
            .slow(),
        Target::new("stream-directory", stream_directory, [&stream]).with_memory(64 << 20, 256).slow(),
    ]
}

/// A directory in memory where there is one.
pub(crate) fn fast_dir() -> TempDir {
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    dir.expect("a directory")
}

const NAME: &str = "/journal";

fn open(disk: &FaultyDisk) -> Option<FileJournal> {
    let options = FileOptions::default();
    FileJournal::open_on(Arc::new(disk.clone()), NAME, options, Arc::new(|_| {})).ok().map(|(journal, _)| journal)
}

fn journal_of(history: Vec<(Seq, Record)>) -> Vec<u8> {
    let disk = FaultyDisk::new();
    let mut journal = open(&disk).expect("a new one");
    for batch in history.chunks(3) {
        let (first, epoch) = (batch[0].0, hq_core::Epoch(1));
        let records: Vec<Record> = batch.iter().map(|(_, record)| record.clone()).collect();
        journal.append(epoch, first, &records, Urgency::Now).expect("appends");
    }
    drop(journal);
    disk.bytes(Path::new(NAME)).expect("is there")
}

fn disk_with(bytes: &[u8]) -> FaultyDisk {
    let disk = FaultyDisk::new();
    let file = disk.open(Path::new(NAME), How::New).expect("a new file");
    file.write_at(bytes, 0).expect("writes");
    disk
}

fn records(journal: &FileJournal) -> Vec<(Seq, Record)> {
    journal.read(Seq(0)).map_while(Result::ok).collect()
}

/// What opens, opens again and holds the same.
fn journal(bytes: &[u8]) {
    let disk = disk_with(bytes);
    let Some(journal) = open(&disk) else {
        assert_eq!(disk.bytes(Path::new(NAME)).as_deref(), Some(bytes), "a refused file was changed");
        return;
    };
    let first = records(&journal);
    drop(journal);
    let journal = open(&disk).expect("it was opened before");
    assert_eq!(records(&journal), first);
}

/// Any records in any order: they are told and gone on from, or it is said why not.
fn journal_facts(bytes: &[u8]) {
    let disk = disk_with(&with_right_frames(bytes));
    let Some(journal) = open(&disk) else { return };
    let records = records(&journal);
    let (mut chronicle, mut events) = (Chronicle::new(), vec![]);
    for (seq, record) in &records {
        if chronicle.tell(*seq, record, &mut events).is_err() {
            break;
        }
    }
    assert!(chronicle.jobs().all(|job| chronicle.job(job.id).is_some()));
    nodes::go_on_from(records);
}

/// What is repaired opens, and a server can go on from it.
fn journal_repair(bytes: &[u8]) {
    let dir = fast_dir();
    let path = dir.path().join("journal");
    for bytes in [bytes.to_vec(), with_right_frames(bytes)] {
        fs::write(&path, bytes).expect("writes");
        if let Ok(records) = read_file(&path) {
            records.take_while(Result::is_ok).for_each(drop);
        }
        if repair_journal(&path, true).is_ok() {
            let opened = FileJournal::open(&path, FileOptions::default(), Arc::new(|_| {}));
            let (journal, _) = opened.unwrap_or_else(|error| panic!("repaired, and then: {error}"));
            records(&journal);
        }
    }
}

const HEADER: usize = 128;

/// A journal in which the checksums of the header and of the frames are right, and the lengths of these are those that there are.
fn with_right_frames(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let Some(header) = bytes.get_mut(..HEADER) else { return bytes };
    let sum = crc32c::crc32c(&header[..32]).to_le_bytes();
    header[32..36].copy_from_slice(&sum);
    let sum = crc32c::crc32c(&header[36..124]).to_le_bytes();
    header[124..].copy_from_slice(&sum);
    let mut at = HEADER;
    while at + 8 < bytes.len() {
        let left = bytes.len() - at - 8;
        let claimed = u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize;
        let len = claimed.min(left);
        bytes[at..at + 4].copy_from_slice(&(len as u32).to_le_bytes());
        let sum = crc32c::crc32c_append(crc32c::crc32c(&bytes[at..at + 4]), &bytes[at + 8..at + 8 + len]);
        bytes[at + 4..at + 8].copy_from_slice(&sum.to_le_bytes());
        at += 8 + len;
    }
    bytes
}

fn stream_file() -> Vec<u8> {
    let dir = fast_dir();
    let head = Head { server_uid: "uid".to_owned(), worker: WorkerId(1) };
    let mut file = StreamFile::create(dir.path(), head).expect("a new one");
    for task in 0..3 {
        let run = TaskRun { job: JobId(1), task: TaskNumber(task), instance: Instance(task / 2) };
        for (channel, data) in [(Channel::Stdout, &b"out"[..]), (Channel::Stderr, b"err")] {
            file.put(&Chunk { run, channel, time: 1, offset: 0, data });
        }
        file.put_end(&End { run, time: 2, sizes: [3, 3] });
    }
    file.flush().expect("writes");
    fs::read(file.path()).expect("reads")
}

const MARKER: &[u8] = b"\xf5hq\xfa";

/// A stream file in which all salts are that of the first frame, and all checksums are right.
fn with_right_sums(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let mut salt = None;
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.windows(4).position(|window| window == MARKER)) {
        let frame = &mut bytes[at + found..];
        if frame.len() < 16 {
            break;
        }
        let salt = *salt.get_or_insert([frame[4], frame[5], frame[6], frame[7]]);
        frame[4..8].copy_from_slice(&salt);
        let claimed = u32::from_le_bytes([frame[8], frame[9], frame[10], frame[11]]) as usize;
        let len = claimed.min(frame.len() - 16);
        frame[8..12].copy_from_slice(&(len as u32).to_le_bytes());
        let sum = crc32c::crc32c_append(crc32c::crc32c(&frame[4..12]), &frame[16..16 + len]);
        frame[12..16].copy_from_slice(&sum.to_le_bytes());
        at += found + 16 + len;
    }
    bytes
}

/// Frames come in order, each within the file, and no byte is both lost and part of one.
fn stream_bytes(bytes: &[u8]) {
    let Some(mut scan) = Scan::new(bytes).expect("memory") else { return };
    let mut last = None;
    while let Some((at, _)) = scan.next().expect("memory") {
        assert!(last < Some(at) && at < bytes.len() as u64);
        last = Some(at);
    }
    let damage = scan.damage();
    assert!(damage.bytes + damage.tail <= bytes.len() as u64, "{damage:?}");
}

/// All that readers ask of a directory.
fn stream_directory(bytes: &[u8]) {
    let dir = fast_dir();
    fs::write(dir.path().join("abcdefghijkl.hqs"), bytes).expect("writes");
    fs::write(dir.path().join("bbcdefghijkl.hqs"), with_right_sums(bytes)).expect("writes");
    let Ok(stream) = StreamDir::open(dir.path(), None) else { return };
    let summary = stream.summary();
    assert!(summary.files <= 2);
    if let Ok(mut merged) = stream.merged(None, None) {
        while let Ok(Some(chunk)) = merged.next() {
            assert!(chunk.data.len() <= bytes.len());
        }
    }
}
