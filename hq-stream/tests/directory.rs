//! S2: files of many workers, runs that were superseded, and what a directory says of itself.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use hq_core::{Channel, Instance, JobId, TaskNumber, TaskRun, WorkerId};
use hq_stream::{Chunk, End, Head, StreamDir, StreamError, StreamFile, StreamInfo, Summary};

fn create(dir: &Path, uid: &str, worker: u32) -> StreamFile {
    StreamFile::create(dir, Head { server_uid: uid.to_owned(), worker: WorkerId(worker) }).unwrap()
}

fn run(job: u32, task: u32, instance: u32) -> TaskRun {
    TaskRun { job: JobId(job), task: TaskNumber(task), instance: Instance(instance) }
}

fn put(file: &mut StreamFile, run: TaskRun, channel: Channel, time: u64, offset: u64, text: &str) {
    file.put(&Chunk { run, channel, time, offset, data: text.as_bytes() });
}

fn cat(dir: &StreamDir, job: u32, task: u32, channel: Channel) -> Result<String, StreamError> {
    let mut text = vec![];
    dir.copy(JobId(job), TaskNumber(task), channel, |bytes| {
        text.extend_from_slice(bytes);
        Ok::<(), StreamError>(())
    })?;
    Ok(String::from_utf8(text).unwrap())
}

fn show(dir: &StreamDir, job: Option<u32>, channel: Option<Channel>) -> Vec<String> {
    let mut merged = dir.merged(job.map(JobId), channel).unwrap();
    let mut lines = vec![];
    while let Some(chunk) = merged.next().unwrap() {
        let TaskRun { job, task, .. } = chunk.run;
        let text = String::from_utf8_lossy(chunk.data).into_owned();
        lines.push(format!("{job}.{task}:{} {text}", chunk.channel.number()));
    }
    lines
}

#[test]
fn s2_only_the_newest_run_counts() {
    let dir = tempfile::tempdir().unwrap();
    let (mut one, mut two) = (create(dir.path(), "uid", 1), create(dir.path(), "uid", 2));
    put(&mut one, run(1, 0, 0), Channel::Stdout, 1, 0, "Start\n");
    put(&mut two, run(1, 0, 1), Channel::Stdout, 5, 0, "Start\n");
    put(&mut two, run(1, 0, 1), Channel::Stdout, 7, 6, "End 1\n");
    two.put_end(&End { run: run(1, 0, 1), time: 8, sizes: [12, 0] });
    // A worker that was given up goes on for a while.
    put(&mut one, run(1, 0, 0), Channel::Stderr, 9, 0, "late");
    one.flush().unwrap();
    two.flush().unwrap();

    let stream = StreamDir::open(dir.path(), None).unwrap();
    let expected = Summary {
        files: 2,
        jobs: 1,
        tasks: 1,
        streams: 2,
        opened: 0,
        sizes: [12, 0],
        superseded: 1,
        superseded_sizes: [6, 4],
    };
    assert_eq!(stream.summary(), expected);
    assert_eq!(cat(&stream, 1, 0, Channel::Stdout).unwrap(), "Start\nEnd 1\n");
    assert_eq!(cat(&stream, 1, 0, Channel::Stderr).unwrap(), "");
    assert_eq!(show(&stream, None, None), ["1.0:0 Start\n", "1.0:0 End 1\n"]);
    let info = StreamInfo { run: run(1, 0, 1), sizes: [12, 0], is_finished: true, is_damaged: false };
    assert_eq!(stream.tasks(JobId(1)).collect::<Vec<_>>(), [info]);
    assert_eq!(stream.warnings().count(), 0);
}

#[test]
fn s2_many_workers_and_tasks() {
    let dir = tempfile::tempdir().unwrap();
    let mut files: Vec<StreamFile> = (0..4).map(|worker| create(dir.path(), "uid", worker)).collect();
    let mut offsets = vec![0u64; 100];
    // Tasks take turns in the files; what each prints is too much for one window.
    for round in 0..20u64 {
        for task in 0..100u32 {
            let text = format!("{task}/{round} ").repeat(50);
            let offset = &mut offsets[task as usize];
            put(&mut files[task as usize % 4], run(2, task, 0), Channel::Stdout, round, *offset, &text);
            *offset += text.len() as u64;
        }
    }
    files.iter_mut().for_each(|file| file.flush().unwrap());
    let stream = StreamDir::open(dir.path(), None).unwrap();
    for task in 0..100 {
        let expected: String = (0..20).map(|round| format!("{task}/{round} ").repeat(50)).collect();
        assert_eq!(cat(&stream, 2, task, Channel::Stdout).unwrap(), expected);
    }
    let merged = show(&stream, Some(2), Some(Channel::Stdout));
    let rounds: Vec<&str> = merged.iter().map(|line| line.split(['/', ' ']).nth(2).unwrap()).collect();
    let sorted: Vec<String> = (0..20).flat_map(|round| vec![round.to_string(); 100]).collect();
    assert_eq!(rounds, sorted);
    assert_eq!(show(&stream, Some(3), None), Vec::<String>::new());
    assert_eq!((stream.summary().opened, stream.summary().tasks), (100, 100));
}

#[test]
fn what_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let text = |result: Result<StreamDir, StreamError>| result.unwrap_err().to_string();
    assert!(matches!(StreamDir::open(&dir.path().join("x"), None), Err(StreamError::Directory { .. })));
    fs::write(dir.path().join("other.txt"), "").unwrap();
    fs::create_dir(dir.path().join("d.hqs")).unwrap();
    assert!(text(StreamDir::open(dir.path(), None)).starts_with("No log files found"));
    fs::write(dir.path().join("empty.hqs"), "").unwrap();
    fs::write(dir.path().join("foreign.hqs"), "something else").unwrap();
    let stream = StreamDir::open(dir.path(), None).unwrap();
    assert_eq!(stream.summary(), Summary { files: 2, ..Summary::default() });
    assert_eq!(cat(&stream, 1, 0, Channel::Stdout).unwrap_err().to_string(), "Job 1 not found");

    let mut file = create(dir.path(), "aaa", 1);
    put(&mut file, run(1, 0, 0), Channel::Stdout, 1, 0, "x");
    file.flush().unwrap();
    let stream = StreamDir::open(dir.path(), None).unwrap();
    assert_eq!(cat(&stream, 1, 9, Channel::Stdout).unwrap_err().to_string(), "Task 9 not found");
    assert!(!stream.task(JobId(1), TaskNumber(0)).unwrap().is_finished);

    let mut file = create(dir.path(), "bbb", 1);
    put(&mut file, run(1, 0, 0), Channel::Stdout, 1, 0, "y");
    file.flush().unwrap();
    assert_eq!(
        text(StreamDir::open(dir.path(), None)),
        "Found streams from multiple server instances: aaa, bbb; choose one with --server-uid"
    );
    for (uid, expected) in [("aaa", "x"), ("bbb", "y")] {
        let stream = StreamDir::open(dir.path(), Some(uid)).unwrap();
        assert_eq!(cat(&stream, 1, 0, Channel::Stdout).unwrap(), expected);
        assert_eq!((stream.summary().files, stream.summary().superseded), (4, 0));
    }
    assert_eq!(
        text(StreamDir::open(dir.path(), Some("ccc"))),
        "No streams of server `ccc` found; there are those of: aaa, bbb"
    );
}

#[test]
fn files_are_private_and_can_be_gone_on_with() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("a/b");
    let mut file = create(&deep, "uid", 1);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(file.path()), mode(&deep)), (0o600, 0o700));
    put(&mut file, run(1, 0, 0), Channel::Stdout, 1, 0, "one");
    file.flush().unwrap();
    let path = file.path().to_owned();
    let mark = file.bookmark().unwrap();
    drop(file);
    let mut file = StreamFile::reopen(&mark).unwrap();
    put(&mut file, run(1, 1, 0), Channel::Stdout, 2, 0, "two");
    file.put_end(&End { run: run(1, 1, 0), time: 3, sizes: [3, 0] });
    file.flush().unwrap();
    let stream = StreamDir::open(&deep, None).unwrap();
    assert_eq!((cat(&stream, 1, 0, Channel::Stdout).unwrap(), stream.summary().files), ("one".to_owned(), 1));
    assert_eq!(cat(&stream, 1, 1, Channel::Stdout).unwrap(), "two");
    let heads = fs::read(&path).unwrap().windows(3).filter(|bytes| bytes == b"uid").count();
    assert_eq!(heads, 2, "one of whoever writes it");
    let probe = file.probe().unwrap();
    assert!(probe.is_there());
    fs::remove_file(&path).unwrap();
    assert!(!probe.is_there());
    // Another file or link of that name is not gone on with.
    fs::write(&path, "x").unwrap();
    StreamFile::reopen(&mark).unwrap_err();
    fs::remove_file(&path).unwrap();
    symlink("elsewhere", &path).unwrap();
    StreamFile::reopen(&mark).unwrap_err();
}
