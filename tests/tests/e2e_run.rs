//! `hq run`: one command with many arguments.

use std::fs;

use hq_tests::{Cluster, Process, Signal, eventually};
use serde_json::json;

fn with_worker() -> (Cluster, Process) {
    let mut cluster = Cluster::start();
    let worker = cluster.worker("node1", "4");
    (cluster, worker)
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// Rows of a log: number, exit code, signal, command.
fn log(cluster: &Cluster) -> Vec<(u32, i32, i32, String)> {
    let text = cluster.read("log");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand"));
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        assert_eq!((fields.len(), fields[1]), (9, "node1"), "{line}");
        (fields[0].parse().unwrap(), fields[6].parse().unwrap(), fields[7].parse().unwrap(), fields[8].to_owned())
    };
    let mut rows: Vec<_> = lines.map(row).collect();
    rows.sort();
    rows
}

#[test]
fn what_tasks_print_is_printed() {
    let (cluster, _worker) = with_worker();
    let output = cluster.hq(&["run", "echo", "[{}]", ":::", "a", "b c", "$HOME", "it's"]);
    assert_eq!(sorted(output.ok()), ["[$HOME]", "[a]", "[b c]", "[it's]"]);
    assert_eq!(output.stderr, "");
    // In order; a command line is read by a shell.
    let output = cluster.hq(&[
        "run",
        "-k",
        "-j8",
        "sleep 0.$((3 - {#})); echo {1}{2} >&2; echo {/.}",
        ":::",
        "d/a.b",
        ":::",
        "x",
        "y.z",
    ]);
    assert_eq!(output.ok(), "a x\na y\n");
    assert_eq!(sorted(&output.stderr), ["d/a.bx", "d/a.by.z"]);
    assert_eq!(cluster.hq(&["run", "-k", "echo", ":::", "a", "b", ":::+", "1", "2"]).ok(), "a 1\nb 2\n");
    fs::write(cluster.path("lines"), "one\ntwo words\n").unwrap();
    assert_eq!(cluster.hq(&["run", "-k", "echo", "::::", "lines"]).ok(), "one\ntwo words\n");
    let refused = cluster.hq(&["--output-mode=json", "run", "echo", ":::", "a"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stdout.contains("no place for what tasks print"), "{refused:?}");
    let json = cluster.json(&["run", "--stdout=none", "exit", "{}", ":::", "0", "1"]);
    assert_eq!(json, json!({"id": 5, "finished": 1, "failed": 1, "canceled": 0}));
    // Nothing is left behind: no open job, no file.
    let list = cluster.hq(&["--output-mode=quiet", "job", "list", "--all"]);
    assert_eq!(list.ok(), "1 FINISHED\n2 FINISHED\n3 FINISHED\n4 FINISHED\n5 FAILED\n");
    let left: Vec<_> = fs::read_dir(cluster.dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".hq-run-")), "{left:?}");
    // Files of one's own, and options of submits.
    let own = [
        "run",
        "--stdout=o-%{TASK_ID}",
        "--stderr=none",
        "--env=A=1",
        "--cpus=2",
        "--name=mine",
        "echo $A",
        ":::",
        "x",
    ];
    assert_eq!(cluster.hq(&own).ok(), "");
    assert_eq!(cluster.read("o-1"), "1 x\n");
    let info = cluster.hq(&["job", "info", "6"]).table();
    assert_eq!((info.get("Name"), info.get("Resources")), ("mine", "cpus: 2 compact"));
}

#[test]
fn a_dry_run_needs_no_server() {
    let cluster = Cluster::new();
    let output = cluster.hq(&["run", "--dry-run", "cp {} {.}.bak{#}", ":::", "a.c", "b c"]);
    assert_eq!(output.ok(), "cp a.c a.bak1\ncp 'b c' 'b c'.bak2\n");
    for (args, text) in [
        (&["run", "--dry-run", "echo", ":::", "a", ":::+"][..], "needs as many arguments as the list before"),
        (&["run", "--array=1-3", "echo", ":::", "a"], "--array cannot be used with `hq run`"),
        (&["run", "echo", "::::", "missing"], "cannot read arguments from `missing`"),
    ] {
        let output = cluster.hq(args);
        assert!(output.fails(1).contains(text), "{output:?}");
    }
    assert_eq!(cluster.hq(&["run", "--resume", "echo", ":::", "a"]).code, 2);
    assert_eq!(cluster.hq(&["run", "--halt=later,fail=1", "echo", ":::", "a"]).code, 2);
}

#[test]
fn a_log_is_resumed() {
    let (cluster, _worker) = with_worker();
    let command =
        "[ -e fixed ] && echo {}; [ {} != b ] || [ -e fixed ] || exit 3; [ {} != c ] || [ -e fixed ] || kill -9 $$";
    let output = cluster.hq(&["run", "--joblog=log", command, ":::", "a", "b", "c"]);
    assert_eq!(output.ok(), "");
    let rows: Vec<_> = log(&cluster).into_iter().map(|(seq, code, signal, _)| (seq, code, signal)).collect();
    assert_eq!(rows, [(1, 0, 0), (2, 3, 0), (3, 0, 9)]);
    fs::write(cluster.path("fixed"), "").unwrap();
    let more = |option: &str| cluster.hq(&["run", "-k", "--joblog=log", option, command, ":::", "a", "b", "c", "d"]);
    assert_eq!(more("--resume").ok(), "d\n");
    assert_eq!(more("--resume-failed").ok(), "b\nc\n");
    let again = more("--resume-failed");
    assert!(again.ok().is_empty() && again.stderr.contains("There is nothing to run"), "{again:?}");
    assert_eq!(log(&cluster).len(), 6);
    assert!(log(&cluster)[0].3.starts_with("[ -e fixed ] && echo a; "), "{:?}", log(&cluster));
}

#[test]
fn failures_are_run_again() {
    let (cluster, _worker) = with_worker();
    // Each task fails twice.
    let command = "echo x >> runs-{}; [ $(wc -l < runs-{}) -ge 3 ] && echo {}";
    let output =
        cluster.hq(&["run", "-k", "--retries=3", "--joblog=log", "--fail-exit-code", command, ":::", "a", "b"]);
    assert_eq!(output.ok(), "a\nb\n");
    assert_eq!(log(&cluster).iter().map(|(seq, code, ..)| (*seq, *code)).collect::<Vec<_>>(), [(1, 0), (2, 0)]);
    let output = cluster.hq(&["run", "--retries=2", "--fail-exit-code=7", "echo {} >> more; exit 1", ":::", "a"]);
    assert_eq!((output.code, cluster.read("more").as_str()), (7, "a\n".repeat(2).as_str()));
    assert!(output.stderr.contains("job 2 finished: 1 failed, of 1; see `hq job info 2`"), "{}", output.stderr);
    let list = cluster.hq(&["--output-mode=quiet", "job", "list", "--all"]);
    assert_eq!(list.ok(), "1 FINISHED\n2 FAILED\n", "closed both");
}

#[test]
fn runs_once_more_are_no_failures_of_more_tasks() {
    let (cluster, _worker) = with_worker();
    let second = "[ -e done-{} ] || { touch done-{}; exit 1; }";
    let args = ["run", "--retries=2", "--max-fails=0", "--fail-exit-code", second, ":::", "a", "b", "c"];
    let output = cluster.hq(&args);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
    let command = "[ {} = 1 ] && exit 1; sleep 3600";
    let output =
        cluster.hq(&["run", "--retries=2", "--max-fails=0", "--fail-exit-code=4", command, ":::", "1", "2", "3"]);
    assert_eq!(output.code, 4);
    let info = cluster.json(&["job", "info", "last"]);
    let stats = &info[0]["info"]["task_stats"];
    assert_eq!((&stats["failed"], &stats["aborted"]), (&json!(1), &json!(2)), "{info}");
}

#[test]
fn what_cannot_be_printed_is_an_error() {
    let (cluster, _worker) = with_worker();
    let output = cluster.hq(&["run", "rm -rf .hq-run-*; echo {}", ":::", "a"]);
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("the working directory has to be shared with the workers"), "{output:?}");
    // Far too many tasks are refused at once, and shown one by one.
    let numbers: Vec<String> = (0..5_000).map(|n| n.to_string()).collect();
    let numbers: Vec<&str> = [":::"].into_iter().chain(numbers.iter().map(String::as_str)).collect();
    let many: Vec<&str> =
        ["run", "echo"].into_iter().chain(numbers.iter().copied()).chain(numbers.iter().copied()).collect();
    let output = cluster.hq(&many);
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("25000000 tasks are more than can be handed over"), "{output:?}");
}

#[test]
fn everything_is_halted() {
    let (mut cluster, _worker) = with_worker();
    let output = cluster.hq(&[
        "run",
        "--halt=now,fail=1",
        "--fail-exit-code",
        "[ {} -gt 1 ] && sleep 3600; exit 1",
        ":::",
        "1",
        "2",
        "3",
    ]);
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("the others are cancelled"), "{output:?}");
    assert_eq!(cluster.stats(1)["failed"], 1);
    assert_eq!(cluster.stats(1)["canceled"], 2);
    let output = cluster.hq(&["run", "--halt=now,success=1", "[ {} -gt 1 ] && sleep 3600; echo {}", ":::", "1", "2"]);
    assert_eq!(output.ok(), "1\n");

    let mut run = cluster.background(&["run", ": {}; sleep 3600", ":::", "a"]);
    cluster.until(3, "running", 1);
    run.signal(Signal::INT);
    assert_eq!(run.wait(), 1);
    assert!(run.printed().contains("SIGINT: the tasks are cancelled"), "{}", run.printed());
    eventually("cancelled", || cluster.stats(3), |stats| stats["canceled"] == 1);
    assert_eq!(cluster.json(&["job", "info", "3"])[0]["info"]["is_open"], false);
}

#[test]
fn what_runs_goes_on_where_the_end_comes_soon() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("node1", "2");
    // The first fails while the second runs; it ends once the others are known to be cancelled.
    let command = "[ {} = 1 ] && { until [ -e ran-2 ]; do sleep 0.02; done; exit 1; }; \
                   touch ran-{}; until [ -e go ]; do sleep 0.02; done; echo {}";
    let numbers: Vec<String> = (1..=50).map(|n| n.to_string()).collect();
    let mut args = vec!["run", "--halt=soon,fail=1", "--fail-exit-code", "--joblog=log", command, ":::"];
    args.extend(numbers.iter().map(String::as_str));
    let mut run = cluster.background(&args);
    eventually("cancelled", || cluster.stats(1), |stats| stats["canceled"].as_u64() >= Some(47));
    fs::write(cluster.path("go"), "").unwrap();
    assert_eq!(run.wait(), 1);
    let printed = run.printed();
    assert!(printed.contains("2\n") && printed.contains("have come to that; no more are started"), "{printed}");
    let stats = cluster.stats(1);
    // A third may have started before the first one's end was heard of.
    let finished = stats["finished"].as_u64().unwrap();
    assert!(stats["failed"] == 1 && (1..=2).contains(&finished), "{stats}");
    assert_eq!(stats["canceled"].as_u64().unwrap(), 49 - finished, "{stats}");
    assert_eq!(log(&cluster).len() as u64, 1 + finished, "what never ran is run when it is resumed");
    let ran = (1..=50).filter(|n| cluster.path(&format!("ran-{n}")).exists()).count() as u64;
    assert_eq!(ran, finished, "nothing that was started was killed");
}

#[test]
fn who_waits_can_be_told_of_failures() {
    let (cluster, _worker) = with_worker();
    for (args, code) in [
        (&["submit", "--wait", "false"][..], 0),
        (&["submit", "--wait", "--fail-exit-code", "false"], 1),
        (&["submit", "--wait", "--fail-exit-code=9", "false"], 9),
        (&["submit", "--wait", "--fail-exit-code=9", "true"], 0),
        (&["submit", "--progress", "--fail-exit-code=9", "false"], 9),
        (&["job", "wait", "1"], 0),
        (&["job", "wait", "1", "--fail-exit-code"], 1),
        (&["job", "wait", "4", "--fail-exit-code"], 0),
        (&["job", "wait", "all", "--fail-exit-code=3"], 3),
        (&["job", "wait", "last", "--fail-exit-code=3"], 3),
        (&["job", "wait", "4,99", "--fail-exit-code=3"], 1),
        (&["submit", "--fail-exit-code", "true"], 1),
        (&["submit", "--wait", "--fail-exit-code=0", "true"], 2),
    ] {
        let output = cluster.hq(args);
        assert_eq!(output.code, code, "{output:?}");
    }
    let output = cluster.hq(&["--output-mode=json", "submit", "--wait", "--fail-exit-code", "false"]);
    assert_eq!(
        (output.code, serde_json::from_str::<serde_json::Value>(&output.stdout).unwrap()),
        (1, json!({"id": 6}))
    );
}

#[test]
fn a_killed_run_leaves_nothing_open_or_running() {
    let (cluster, _worker) = with_worker();
    for (job, retries) in [(1, "--retries=3"), (2, "--retries=1")] {
        let mut command =
            cluster.command(&["run", retries, "sleep", "{}", ":::", "3600", "3601", "3602", "3603", "3604"]);
        let mut run = Process::start(&mut command, cluster.path(&format!("run{job}.log")));
        cluster.until(job, "running", 4);
        run.kill();
        let ask = || cluster.json(&["job", "info", &job.to_string()])[0]["info"].clone();
        let info = eventually("job closed", ask, |info| info["is_open"] == false);
        assert_eq!(info["task_stats"]["canceled"], 5, "{info}");
    }
}

#[test]
fn who_waits_for_what_no_worker_can_run_is_told_once() {
    let mut cluster = Cluster::start();
    cluster.submit(&["true"]);
    let waits = [&["run", "true", ":::", "a"][..], &["submit", "--wait", "true"], &["job", "progress", "1"]];
    let mut waits = waits.map(|args| cluster.background(args));
    let told = |wait: &Process| wait.printed().matches("WARN Waiting: Task ").count();
    eventually("all are told", || waits.each_ref().map(told), |told| told.iter().all(|told| *told == 1));
    let _worker = cluster.worker("w", "1");
    for wait in &mut waits {
        assert_eq!((wait.wait(), told(wait)), (0, 1), "{}", wait.printed());
    }
}
