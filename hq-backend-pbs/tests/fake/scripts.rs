//! Scripts, word by word: `testdata/scripts.txt`. `UPDATE=1` writes it anew.

use std::{fmt::Write as _, fs};

use crate::cluster::{Cluster, request};
use hq_backend::{AllocationRequest, AllocatorBackend as _, BatchRequest, ExtraArg, JobName, ShellLine, Word};
use hq_core::Span;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/scripts.txt");

type Change = fn(&mut AllocationRequest);

fn batch(request: &mut AllocationRequest) -> &mut BatchRequest {
    request.batch.as_mut().expect("batch")
}

fn line(text: &str) -> Option<ShellLine> {
    Some(ShellLine::new(text).expect("a line"))
}

/// The command as the command line makes it.
fn worker(request: &mut AllocationRequest, hq: &str) {
    let mut command: Vec<Word> = [hq, "worker", "start"].map(Word::from).to_vec();
    for (option, value) in [("--idle-timeout", "5m"), ("--manager", "pbs"), ("--server-dir", "/home/me/.hq-server/001")]
    {
        command.extend([Word::from(option), Word::quoted(value)]);
    }
    command.extend([Word::from("--on-server-lost"), Word::quoted("finish-running")]);
    request.command = command;
}

#[tokio::test]
async fn scripts_are_as_written_down() {
    let cases: [(&str, Change); 10] = [
        ("one node", |_| {}),
        ("two nodes", |r| r.workers = 2),
        ("no time limit, two arguments", |r| {
            r.time_limit = None;
            batch(r).args = ["-q gpu", "-A 'a b'"].map(|arg| ExtraArg::new(arg).expect("arg")).to_vec();
        }),
        ("a hundred hours", |r| r.time_limit = Some(Span::secs(360_001))),
        ("a trial", |r| batch(r).is_trial = true),
        ("RUST_LOG", |r| batch(r).rust_log = Some("hq=debug,info".to_owned())),
        ("RUST_LOG, start, stop and wrap commands", |r| {
            batch(r).rust_log = Some("debug; reboot".to_owned());
            batch(r).start_command = line("module load x");
            batch(r).stop_command = line("rm -f '/tmp/a b'");
            batch(r).wrap_command = line("numactl --all");
        }),
        ("the same on three nodes", |r| {
            r.workers = 3;
            batch(r).rust_log = Some("debug; reboot".to_owned());
            batch(r).start_command = line("module load x");
            batch(r).stop_command = line("rm -f '/tmp/a b'");
            batch(r).wrap_command = line("numactl --all");
        }),
        ("a wrap command alone on two nodes", |r| {
            r.workers = 2;
            batch(r).wrap_command = line("numactl --all");
        }),
        ("a program with blanks and quotes in its path on two nodes", |r| {
            r.workers = 2;
            worker(r, "/opt/it's $HOME/\"hq\"");
            batch(r).wrap_command = line("A=1 nice");
            batch(r).name = JobName::new("my.queue-7").expect("a name");
        }),
    ];
    let mut text = "# Scripts of PBS jobs; DIR stands for the directory of the allocation.\n".to_owned();
    for (n, (what, change)) in cases.into_iter().enumerate() {
        let cluster = Cluster::new();
        let mut request = request(cluster.dir.path(), &n.to_string());
        worker(&mut request, "/opt/hq/bin/hq");
        change(&mut request);
        cluster.backend.submit(&request).await.expect("submit");
        let dir = batch(&mut request).directory.clone();
        let script = fs::read_to_string(dir.join("hq-submit.sh")).expect("a script");
        writeln!(text, "\n## {what}\n{}", script.replace(&dir.display().to_string(), "DIR").trim_end()).expect("text");
    }
    if std::env::var_os("UPDATE").is_some() {
        fs::write(GOLDEN, &text).expect("write");
    }
    assert_eq!(text, fs::read_to_string(GOLDEN).expect("golden"));
}

#[tokio::test]
async fn a_directory_that_pbs_would_read_otherwise_is_not_named() {
    for name in ["a b", "it's", "host:dir", "$HOME", "a,b"] {
        let cluster = Cluster::new();
        let request = request(&cluster.dir.path().join(name), "x");
        cluster.backend.submit(&request).await.expect(name);
        let script = fs::read_to_string(cluster.dir.path().join(name).join("x/hq-submit.sh")).expect("a script");
        assert!(script.contains("#PBS -o stdout\n#PBS -e stderr\n") && !script.contains(name), "{script}");
    }
}
