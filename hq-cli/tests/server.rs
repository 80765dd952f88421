//! The quick start with real processes, and the same in all modes.

use std::{
    fs::File,
    path::Path,
    process::{Child, Command, ExitStatus, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A directory with a server in it; whatever still runs at the end is killed.
struct Cluster {
    dir: TempDir,
    children: Vec<Child>,
}

impl Cluster {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(args: &[&str]) -> Self {
        let mut cluster = Self { dir: TempDir::new().expect("a directory"), children: vec![] };
        cluster.spawn(&[&["server", "start", "--host", "localhost"], args].concat(), "server.log");
        cluster.ok(&["server", "wait", "--timeout", "10s"]);
        cluster
    }

    fn worker(&mut self, args: &[&str]) {
        self.spawn(&[&["worker", "start", "--hostname", "w1"], args].concat(), "worker.log");
        self.ok(&["worker", "wait", "1"]);
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hq"));
        command.args(args).current_dir(self.dir.path()).env("HQ_SERVER_DIR", self.dir.path().join("s"));
        command.stdin(Stdio::null()).env_remove("HQ_OUTPUT_MODE").env_remove("RUST_LOG");
        command
    }

    fn spawn(&mut self, args: &[&str], log: &str) {
        let out = File::create(self.dir.path().join(log)).expect("a log");
        let err = out.try_clone().expect("a log");
        self.children.push(self.command(args).stdout(out).stderr(err).spawn().expect("starts"));
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("runs")
    }

    /// Standard output of a command that goes well.
    fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ok(&[&["--output-mode=json"], args].concat())).expect("JSON")
    }

    /// Log lines of a command, without their times.
    fn log(&self, args: &[&str]) -> Vec<String> {
        let output = self.run(args);
        let text = String::from_utf8(output.stderr).expect("UTF-8");
        text.lines().map(|line| line.split_once(' ').map_or(line, |(_, rest)| rest).to_owned()).collect()
    }

    fn exit(&mut self, child: usize) -> ExitStatus {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            if let Some(status) = self.children[child].try_wait().expect("a child") {
                return status;
            }
            assert!(Instant::now() < deadline, "process {child} does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn read(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(name)).expect("a log")
}

#[test]
fn quick_start() {
    let mut cluster = Cluster::start();
    let table = read(cluster.dir.path(), "server.log");
    assert!(table.starts_with("+--") && table.contains("| Server directory |"), "{table}");
    assert_eq!(cluster.ok(&["submit", "echo", "Hello world"]), "Job submitted successfully, job ID: 1\n");
    assert!(cluster.ok(&["job", "list"]).contains("|  1 | echo | WAITING | 1     |"));
    cluster.worker(&["--cpus=2"]);
    let first = cluster.run(&["job", "wait", "last"]);
    assert!(first.status.success() && first.stdout.is_empty() && first.stderr.is_empty());
    assert_eq!(cluster.ok(&["job", "cat", "last", "stdout"]), "Hello world\n");
    let info = cluster.ok(&["job", "info", "last"]);
    assert!(info.contains("| FINISHED") && info.contains("| Hello world"), "{info}");
    assert!(read(cluster.dir.path(), "worker.log").contains("| Worker            | 1 "));
    assert_eq!(cluster.log(&["server", "stop"]), ["INFO Server is stopping"]);
    assert_eq!(cluster.exit(0).code(), Some(0));
    assert_eq!(cluster.exit(1).code(), Some(1));
    assert!(!cluster.dir.path().join("s/hq-current").exists() && cluster.dir.path().join("s/001").is_dir());
}

#[test]
fn outcomes_in_all_modes() {
    let mut cluster = Cluster::start();
    cluster.worker(&["--cpus=2"]);
    assert_eq!(cluster.json(&["submit", "--array=1-3", "--wait", "false"]), json!({ "id": 1 }));
    assert_eq!(cluster.ok(&["--output-mode=quiet", "submit", "sleep", "100"]), "2\n");
    assert_eq!(cluster.ok(&["--output-mode=quiet", "job", "list", "--filter=failed"]), "1 FAILED\n");
    let detail = cluster.json(&["job", "info", "1"]);
    assert_eq!(detail[0]["info"]["task_stats"]["failed"], 3);
    assert_eq!(detail[0]["tasks"][2]["error"], "Program terminated with exit code 1.");
    assert_eq!(cluster.json(&["job", "wait", "1"]), json!({}));
    assert_eq!(cluster.json(&["worker", "list"])[0]["configuration"]["heartbeat_interval"], 8.0);
    assert_eq!(cluster.ok(&["--output-mode=quiet", "worker", "list"]), "1 RUNNING\n");
    let canceled = cluster.log(&["job", "cancel", "all", "--reason=enough"]);
    assert_eq!(canceled, ["INFO Job 2 canceled (1 tasks canceled, 0 tasks already finished)"]);
    let again = cluster.log(&["job", "cancel", "2,9"]);
    let expected =
        ["ERROR Canceling job 2 failed; all tasks are already finished", "ERROR Canceling job 9 failed; job not found"];
    assert_eq!(again, expected);
    assert_eq!(cluster.json(&["job", "info", "2"])[0]["info"]["cancel_reason"], "enough");
    assert_eq!(cluster.log(&["worker", "stop", "1"]), ["INFO Worker 1 stopped"]);
    assert_eq!(cluster.exit(1).code(), Some(0));
    let stopped = cluster.log(&["worker", "stop", "1"]);
    assert_eq!(stopped, ["WARN Stopping worker 1 failed; worker is already stopped"]);
    assert_eq!(cluster.ok(&["--output-mode=quiet", "worker", "list", "--all"]), "1 STOPPED\n");
}

#[test]
fn names_cannot_act_on_a_terminal() {
    let cluster = Cluster::start();
    cluster.ok(&["submit", "--name=\u{1b}[31mx", "--env=A=\u{1b}]0;t\u{7}", "printf", "\u{9b}2J\n\t"]);
    for args in [&["job", "list"][..], &["job", "info", "1"], &["task", "list", "1"]] {
        for mode in ["cli", "json"] {
            let text = cluster.ok(&[&["--output-mode", mode], args].concat());
            let acts = |c: char| c.is_control() && c != '\n' && !(mode == "json" && c > '\u{7f}');
            assert!(!text.contains(acts), "{args:?} {mode}: {text:?}");
        }
    }
}

#[test]
fn what_is_not_there_is_no_failure() {
    let cluster = Cluster::start();
    for (args, stdout, log) in [
        (&["job", "info", "last"][..], "", &[][..]),
        (&["job", "info", "5"], "", &["ERROR Job 5 not found"]),
        (&["job", "cat", "last", "stdout"], "", &["ERROR No jobs were found"]),
        (&["job", "cat", "99", "stdout"], "", &["ERROR Job 99 was not found"]),
        (&["worker", "info", "4"], "", &["ERROR Worker 4 not found"]),
        (&["worker", "stop", "4"], "", &["ERROR Stopping worker 4 failed; worker not found"]),
        (&["job", "cancel", "all"], "", &["INFO There is nothing to cancel"]),
        (&["--output-mode=json", "job", "info", "5"], "[]\n", &["ERROR Job 5 not found"]),
    ] {
        let output = cluster.run(args);
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stdout).as_ref()), (Some(0), stdout));
        assert_eq!(cluster.log(args), log, "{args:?}");
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    let cluster = Cluster::start();
    cluster.ok(&["submit", "true"]);
    for args in [&["job", "list"][..], &["--output-mode=json", "job", "list"], &["job", "info", "1"]] {
        let mut child = cluster.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("ends");
        assert_eq!((output.status.code(), output.stderr), (Some(141), vec![]), "{args:?}");
    }
}

#[test]
fn whether_a_server_is_there_needs_no_time() {
    let cluster = Cluster::start();
    assert_eq!(cluster.ok(&["server", "wait", "--timeout=0"]), "");
    let nowhere = cluster.run(&["server", "wait", "--timeout=0", "--server-dir=nowhere"]);
    assert_eq!(nowhere.status.code(), Some(1));
}

#[test]
fn clients_say_good_bye() {
    let cluster = Cluster::start_with(&["--debug"]);
    cluster.ok(&["submit", "true"]);
    cluster.run(&["worker", "stop", "7"]);
    for args in [&["job", "list"][..], &["server", "info"], &["job", "cancel", "all"], &["job", "wait", "last"]] {
        cluster.ok(args);
    }
    let log = read(cluster.dir.path(), "server.log");
    assert!(log.contains("client") && !log.contains("was cut"), "{log}");
}

/// A server whose files cannot grow past a KiB, as on a full disk.
fn start_on_full_disk(cluster: &mut Cluster) {
    let out = File::create(cluster.dir.path().join("server.log")).expect("a log");
    let err = File::create(cluster.dir.path().join("server.err")).expect("a log");
    let mut shell = Command::new("sh");
    // The signal is ignored, so that writes fail. The unit is 512 bytes.
    shell.args(["-c", r#"trap "" XFSZ; ulimit -f 2; exec "$0" server start --host localhost --journal j"#]);
    shell
        .arg(env!("CARGO_BIN_EXE_hq"))
        .current_dir(cluster.dir.path())
        .env("HQ_SERVER_DIR", cluster.dir.path().join("s"));
    shell.stdin(Stdio::null()).env_remove("HQ_OUTPUT_MODE").env_remove("RUST_LOG");
    cluster.children.push(shell.stdout(out).stderr(err).spawn().expect("starts"));
}

#[test]
fn what_does_not_fit_on_the_disk_is_refused_and_not_shown() {
    let mut cluster = Cluster { dir: TempDir::new().expect("a directory"), children: vec![] };
    start_on_full_disk(&mut cluster);
    cluster.ok(&["server", "wait", "--timeout=10s"]);
    let name = format!("--name={}", "n".repeat(200));
    let mut accepted = vec![];
    let error = loop {
        let output = cluster.run(&["--output-mode=quiet", "submit", &name, "true"]);
        if !output.status.success() {
            break String::from_utf8(output.stderr).expect("UTF-8");
        }
        accepted.push(String::from_utf8(output.stdout).expect("UTF-8"));
    };
    let what = format!("cannot write to the journal `{}`: ", cluster.dir.path().join("j").display());
    let advice = "; nothing more is accepted: make room or mend the disk, and restart the server\n";
    assert!(error.starts_with(&format!("Error: {what}")) && error.ends_with(advice), "{error}");
    assert!(!accepted.is_empty());
    let listed = |cluster: &Cluster| {
        let jobs = cluster.ok(&["--output-mode=quiet", "job", "list", "--all"]);
        jobs.lines().map(|line| format!("{}\n", line.split(' ').next().unwrap_or_default())).collect::<Vec<_>>()
    };
    assert_eq!(listed(&cluster), accepted);
    assert_eq!(cluster.ok(&["--output-mode=quiet", "job", "task-ids", "last"]), "");
    cluster.run(&["server", "stop"]);
    assert!(!cluster.exit(0).success());
    // Each start needs a little room, until there is none.
    for n in 1..20 {
        start_on_full_disk(&mut cluster);
        if cluster.run(&["server", "wait", "--timeout=500ms"]).status.success() {
            assert_eq!(listed(&cluster), accepted);
            cluster.children[n].kill().expect("killed");
            cluster.exit(n);
            continue;
        }
        assert_eq!(cluster.exit(n).code(), Some(1));
        let error = read(cluster.dir.path(), "server.err");
        let last = error.lines().last().unwrap_or_default();
        assert!(last.starts_with("Error: cannot ") && last.contains("/j`: File too large"), "{error}");
        return;
    }
    panic!("there is room without end");
}
