//! Streamed output: `--stream`, `hq output-log` and `hq job cat`.

use std::{fs, path::PathBuf};

use hq_tests::{Cluster, Output, Signal, eventually};
use serde_json::json;

const SUMMARY: [&str; 8] = [
    "Path",
    "Files",
    "Jobs",
    "Tasks",
    "Opened streams",
    "Stdout/stderr size",
    "Superseded streams",
    "Superseded stdout/stderr size",
];

fn log(cluster: &Cluster, args: &[&str]) -> Output {
    cluster.hq(&[&["output-log", "log"], args].concat())
}

/// What a read-only command prints where all is well.
#[track_caller]
fn quiet(output: Output) -> String {
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
    output.stdout
}

fn summary(cluster: &Cluster) -> [String; 8] {
    let table = log(cluster, &["summary"]).table();
    SUMMARY.map(|label| table.get(label).to_owned())
}

fn files(cluster: &Cluster, dir: &str) -> Vec<PathBuf> {
    fs::read_dir(cluster.path(dir)).map_or_else(|_| vec![], |dir| dir.map(|entry| entry.unwrap().path()).collect())
}

#[test]
fn outputs_of_an_array_are_in_one_file() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "4");
    let script = "echo Hello from $HQ_TASK_ID; echo Problem $HQ_TASK_ID >&2";
    let job = cluster.submit(&["--stream=log", "--array=1-12", "bash", "-c", script]);
    let info = cluster.finished(job);
    let program = &info["submits"][0]["array"]["program"];
    assert_eq!((&program["stdout"], &program["stderr"]), (&json!("<pipe>"), &json!("<pipe>")));
    assert_eq!(info["tasks"][3]["stdout"], "<pipe>");
    let table = cluster.hq(&["job", "info", "1"]).table();
    assert_eq!((table.get("Stdout"), table.get("Stderr")), ("<Stream>", "<Stream>"));
    assert_eq!(cluster.hq(&["task", "info", "1", "3"]).table().get("Stdout"), "<Stream>");
    assert!(!cluster.path("job-1").exists());
    let names = files(&cluster, "log");
    assert!(names.len() == 1 && names[0].extension().is_some_and(|it| it == "hqs"), "{names:?}");

    assert_eq!(summary(&cluster), ["log", "1", "1", "12", "0", "159 B / 123 B", "0", "0 B / 0 B"]);
    let document = cluster.json(&["output-log", "log", "summary"]);
    assert_eq!(document["filename"], "log");
    let expected = json!({
        "n_files": 1, "n_jobs": 1, "n_tasks": 12, "n_streams": 12, "n_opened": 0, "stdout_size": 159, "stderr_size": 123,
        "n_superseded": 0, "superseded_stdout_size": 0, "superseded_stderr_size": 0,
    });
    assert_eq!(document["summary"], expected);
    assert_eq!(quiet(cluster.hq(&["--output-mode=quiet", "output-log", "log", "summary"])), "");
    assert_eq!(quiet(log(&cluster, &["jobs"])), "1\n");

    let all: String = (1..=12).map(|n| format!("Hello from {n}\n")).collect();
    assert_eq!(quiet(log(&cluster, &["cat", "1", "stdout"])), all);
    assert_eq!(quiet(cluster.hq(&["job", "cat", "1", "stdout"])), all);
    assert_eq!(quiet(log(&cluster, &["cat", "1", "stderr", "--task=3-4,2"])), "Problem 3\nProblem 4\nProblem 2\n");
    assert_eq!(
        quiet(cluster.hq(&["job", "cat", "last", "stderr", "--tasks=3-4,2"])),
        "Problem 2\nProblem 3\nProblem 4\n"
    );
    let mut lines: Vec<String> = quiet(log(&cluster, &["show"])).lines().map(str::to_owned).collect();
    lines.sort();
    let expected = |n| [format!("1.{n:02}:0> Hello from {n}"), format!("1.{n:02}:1> Problem {n}")];
    assert_eq!(lines, (1..=12).flat_map(expected).collect::<Vec<_>>());
    let shown = quiet(log(&cluster, &["show", "--job=1", "--channel=stderr"]));
    assert!(shown.lines().count() == 12 && shown.contains("1.02:1> Problem 2\n"), "{shown}");
    // Printed the same in every mode.
    let mut export = cluster.json(&["output-log", "log", "export", "1", "--task=2,12"]);
    assert_eq!(
        export.take(),
        json!([
            {"finished": true, "id": 2, "stdout": "Hello from 2\n"},
            {"finished": true, "id": 12, "stdout": "Hello from 12\n"},
        ])
    );
}

#[test]
fn what_is_not_there() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "1");
    let fails = |args: &[&str], phrase: &str| {
        let text = log(&cluster, args).fails(1);
        assert!(text.contains(phrase), "{args:?}: {text}");
    };
    fails(&["summary"], "No such file or directory");
    fs::create_dir(cluster.path("log")).unwrap();
    fails(&["jobs"], "No log files found");
    fs::write(cluster.path("log/a.hqs"), "").unwrap();
    fs::write(cluster.path("log/b.hqs"), "something else").unwrap();
    assert_eq!(summary(&cluster)[..4], ["log", "2", "0", "0"]);
    fails(&["cat", "1", "stdout"], "Job 1 not found");
    cluster.finished(cluster.submit(&["--stream=log", "--array=2-3", "bash", "-c", "printf 'a\\nb'"]));
    fails(&["cat", "2", "stdout"], "Job 2 not found");
    fails(&["show", "--job=2"], "Job 2 not found");
    fails(&["export", "2"], "Job 2 not found");
    fails(&["cat", "1", "stdout", "--task=2,9"], "Task 9 not found");
    assert_eq!(log(&cluster, &["cat", "1", "stdout", "--task=2,9"]).stdout, "", "nothing is half done");
    assert_eq!(quiet(log(&cluster, &["cat", "1", "stdout"])), "a\nba\nb");
    let mut lines: Vec<String> = quiet(log(&cluster, &["show"])).lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["1.2:0> a", "1.2:0> b", "1.3:0> a", "1.3:0> b"]);
    fails(&["summary", "--server-uid=other"], "No streams of server `other` found");
}

#[test]
fn only_what_has_no_file_is_streamed_and_paths_have_placeholders() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "1");
    let uid = cluster.json(&["server", "info"])["server_uid"].as_str().unwrap().to_owned();
    let stream = "--stream=%{SUBMIT_DIR}/deep/log-%{JOB_ID}-%{SERVER_UID}";
    let job = cluster.submit(&[stream, "--stdout=out", "bash", "-c", "echo out; echo err >&2"]);
    let info = cluster.finished(job);
    assert_eq!(cluster.read("out"), "out\n");
    let dir = format!("deep/log-1-{uid}");
    assert_eq!(quiet(cluster.hq(&["output-log", &dir, "cat", "1", "stderr"])), "err\n");
    assert_eq!(quiet(cluster.hq(&["output-log", &dir, "cat", "1", "stdout"])), "");
    assert_eq!(quiet(cluster.hq(&["job", "cat", "1", "stdout"])), "out\n");
    assert_eq!(quiet(cluster.hq(&["job", "cat", "1", "stderr"])), "err\n");
    assert_eq!(
        (&info["tasks"][0]["stdout"], &info["tasks"][0]["stderr"]),
        (&json!(cluster.path("out").to_str().unwrap()), &json!("<pipe>"))
    );
    let none = cluster.submit(&["--stream=log", "--stdout=none", "--stderr=none", "true"]);
    cluster.finished(none);
    assert!(!cluster.path("log").exists());
    let warned = cluster.hq(&["job", "cat", "2", "stdout"]);
    assert!(warned.log().contains("Task 0 has no `stdout` stream associated with it"), "{warned:?}");
    let warned = cluster.hq(&["submit", "--stream=%{FOO}", "true"]);
    assert!(warned.log().contains("Found unknown placeholder `FOO` in log path"), "{warned:?}");
}

/// As Nextflow writes it.
#[test]
fn a_directive_names_the_stream() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "1");
    let work = cluster.path("work");
    fs::create_dir(&work).unwrap();
    let script = format!(
        "#!/bin/bash\n#HQ --name nf-hello\n#HQ --stream \"{0}/.command.log\"\n#HQ --cwd \"{0}\"\n#HQ --cpus 1\n\
         #HQ --time-limit 60sec\necho Hello; pwd\n",
        work.display()
    );
    fs::write(work.join(".command.run"), script).unwrap();
    let mut command = cluster.command(&["--output-mode=quiet", "submit", "--directives=file", ".command.run"]);
    let output = hq_tests::finish(command.current_dir(&work));
    assert_eq!((output.ok(), output.stderr.as_str()), ("1\n", ""));
    cluster.finished(1);
    let expected = format!("Hello\n{}\n", work.display());
    assert_eq!(quiet(cluster.hq(&["output-log", "work/.command.log", "cat", "1", "stdout"])), expected);
}

#[test]
fn what_runs_is_seen_before_its_end() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "1");
    let script = "echo begin; until [ -e go ]; do sleep 0.02; done; echo end";
    let job = cluster.submit(&["--stream=log", "bash", "-c", script]);
    cluster.until(job, "running", 1);
    assert_eq!(files(&cluster, "log").len(), 1, "the file is there as soon as the task is seen running");
    let unfinished = |args: &[&str]| log(&cluster, &[&["cat", "1", "stdout"], args].concat());
    let look = || unfinished(&["--allow-unfinished"]);
    eventually("the output is on disk", look, |output| output.code == 0 && output.stdout == "begin\n");
    let text = unfinished(&[]).fails(1);
    assert!(text.contains("Stream for task 0 is not finished"), "{text}");
    assert_eq!(quiet(cluster.hq(&["job", "cat", "1", "stdout"])), "begin\n");
    assert_eq!(cluster.json(&["output-log", "log", "export", "1"])[0]["finished"], false);
    assert_eq!(summary(&cluster)[4], "1");
    fs::write(cluster.path("go"), "").unwrap();
    cluster.finished(job);
    assert_eq!(quiet(log(&cluster, &["cat", "1", "stdout"])), "begin\nend\n");
    assert_eq!(summary(&cluster)[4], "0");
}

#[test]
fn much_output_is_on_disk_while_its_task_runs() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "1");
    let job = cluster.submit(&["--stream=log", "bash", "-c", "head -c 40000 /dev/zero; sleep 1000"]);
    let size = || files(&cluster, "log").first().map_or(0, |file| fs::metadata(file).unwrap().len());
    eventually("8 KiB are on disk", size, |size| *size >= 8192);
    cluster.hq(&["job", "cancel", "1"]).ok();
    cluster.until(job, "canceled", 1);
    eventually(
        "all of it is there",
        || summary(&cluster),
        |summary| summary[4] == "0" && summary[5] == "39.06 KiB / 0 B",
    );
}

/// S2, and what an interrupted run wrote.
#[test]
fn s2_a_run_that_was_superseded_is_only_counted() {
    let mut cluster = Cluster::start();
    let mut first = cluster.worker("w1", "1");
    let script = "echo Start; [ -e go ] || sleep 1000; echo End $HQ_INSTANCE_ID";
    let job = cluster.submit(&["--stream=log", "bash", "-c", script]);
    cluster.until(job, "running", 1);
    let started = || log(&cluster, &["cat", "1", "stdout", "--allow-unfinished"]);
    eventually("the first run has printed", started, |output| output.stdout == "Start\n");
    first.signal_group(Signal::TERM);
    assert_eq!(first.wait(), 1);
    cluster.until(job, "waiting", 1);
    assert!(log(&cluster, &["cat", "1", "stdout"]).fails(1).contains("Stream for task 0 is not finished"));
    fs::write(cluster.path("go"), "").unwrap();
    let _second = cluster.worker("w2", "1");
    cluster.finished(job);
    assert_eq!(summary(&cluster), ["log", "2", "1", "1", "0", "12 B / 0 B", "1", "6 B / 0 B"]);
    assert_eq!(quiet(log(&cluster, &["cat", "1", "stdout"])), "Start\nEnd 1\n");
    assert_eq!(quiet(cluster.hq(&["job", "cat", "1", "stdout"])), "Start\nEnd 1\n");
    assert_eq!(quiet(log(&cluster, &["show"])), "1.0:0> Start\n1.0:0> End 1\n");
}

#[test]
fn every_end_is_in_the_file() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "3");
    cluster.finished(cluster.submit(&["--stream=log", "--time-limit=300ms", "bash", "-c", "echo limited; sleep 1000"]));
    cluster.finished(cluster.submit(&["--stream=log", "bash", "-c", "echo failed; exit 3"]));
    cluster.finished(cluster.submit(&["--stream=log", "no-such-program"]));
    for (job, expected) in [("1", "limited\n"), ("2", "failed\n"), ("3", "")] {
        assert_eq!(quiet(log(&cluster, &["cat", job, "stdout"])), expected, "job {job}");
    }
    assert_eq!(quiet(log(&cluster, &["jobs"])), "1\n2\n3\n");
}

#[test]
fn streams_of_several_servers_are_told_apart() {
    let mut cluster = Cluster::start();
    let mut worker = cluster.worker("w", "1");
    cluster.finished(cluster.submit(&["--stream=log", "echo", "one"]));
    let first = cluster.json(&["server", "info"])["server_uid"].as_str().unwrap().to_owned();
    cluster.hq(&["server", "stop"]).ok();
    worker.wait();
    cluster.server().wait();
    cluster.start_server(&[]);
    let _worker = cluster.worker("w", "1");
    cluster.finished(cluster.submit(&["--stream=log", "echo", "two"]));
    let text = log(&cluster, &["cat", "1", "stdout"]).fails(1);
    assert!(text.contains("Found streams from multiple server instances"), "{text}");
    assert_eq!(quiet(log(&cluster, &["--server-uid", &first, "cat", "1", "stdout"])), "one\n");
    // The server of the job is known here.
    assert_eq!(quiet(cluster.hq(&["job", "cat", "1", "stdout"])), "two\n");
}

/// S1
#[test]
fn s1_a_damaged_file_shows_what_is_whole() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "1");
    cluster.finished(cluster.submit(&["--stream=log", "--array=0-9", "bash", "-c", "echo task $HQ_TASK_ID"]));
    let file = files(&cluster, "log").remove(0);
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.windows(6).position(|window| window == b"task 4").unwrap();
    bytes[at] ^= 0x20;
    fs::write(&file, &bytes).unwrap();
    let output = log(&cluster, &["cat", "1", "stdout"]);
    let expected: String = (0..10).filter(|n| *n != 4).map(|n| format!("task {n}\n")).collect();
    assert_eq!(output.ok(), expected);
    assert!(
        output.stderr.contains("is damaged") && output.stderr.contains("The output of task 4 is partial"),
        "{output:?}"
    );
    let output = cluster.hq(&["job", "cat", "1", "stdout", "--tasks=4"]);
    assert!(output.log().contains("is damaged") && output.log().contains("task 4 is partial"), "{output:?}");
    let exported = log(&cluster, &["export", "1"]);
    let exported: serde_json::Value = serde_json::from_str(exported.ok()).unwrap();
    let finished = |task: usize| exported[task]["finished"].as_bool().unwrap();
    assert_eq!((finished(3), finished(4)), (true, false), "what lost some of it is not all there is");
    // Cut in the middle of the end of task 9.
    fs::write(&file, &bytes[..bytes.len() - 3]).unwrap();
    assert!(log(&cluster, &["cat", "1", "stdout"]).fails(1).contains("Stream for task 9 is not finished"));
}

#[test]
fn a_file_that_takes_no_more_fails_its_tasks_and_not_the_worker() {
    let mut cluster = Cluster::start();
    // No file of this worker may grow past 64 KiB.
    let command = cluster.command(&["worker", "start", "--hostname=w", "--cpus=1", "--detect-resources=none"]);
    let mut limited = std::process::Command::new("bash");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\""]).arg(command.get_program());
    limited.args(command.get_args()).current_dir(cluster.dir()).env("HOME", cluster.dir());
    let _worker = cluster.spawn(&mut limited, "w");
    let job = cluster.submit(&["--stream=log", "bash", "-c", "head -c 1000000 /dev/zero; sleep 1000"]);
    let info = cluster.finished(job);
    let error = info["tasks"][0]["error"].as_str().unwrap();
    assert!(error.starts_with("cannot write the output of the task to the stream file `"), "{error}");
    assert!(error.ends_with("File too large (os error 27)"), "{error}");
    let other = cluster.finished(cluster.submit(&["--stream=other", "echo", "fine"]));
    assert_eq!(other["tasks"][0]["state"], "finished");
    assert_eq!(quiet(cluster.hq(&["output-log", "other", "cat", "2", "stdout"])), "fine\n");
    assert_eq!(cluster.worker_state(1), "RUNNING");
}

#[test]
fn output_comes_to_the_client_that_waits() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "2");
    let output = cluster.hq(&["submit", "--wait", "--output", "bash", "-c", "echo out; echo err >&2; seq 1 50000"]);
    let lines: String = (1..=50_000).map(|n| format!("{n}\n")).collect();
    assert!(output.ok() == format!("Job submitted successfully, job ID: 1\nout\n{lines}"), "{}", output.stdout.len());
    assert_eq!(output.stderr, "err\n");
    assert_eq!(fs::read_dir(cluster.dir()).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir()).count(), 2);
    assert_eq!(cluster.hq(&["job", "info", "1"]).table().get("Stdout"), "<Stream>");
    let array =
        ["--output-mode=quiet", "submit", "--wait", "--output", "--array=1-20", "bash", "-c", "echo $HQ_TASK_ID"];
    let output = cluster.hq(&array);
    let mut numbers: Vec<u32> = output.ok().lines().map(|line| line.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [&[1, 2], &(2..=20).collect::<Vec<u32>>()[..]].concat());
    assert!(cluster.hq(&["submit", "--output", "true"]).fails(2).contains("--wait"));
    let kept = cluster.hq(&["submit", "--wait", "--output", "--stream=log", "echo", "both"]);
    assert!(kept.ok().ends_with("\nboth\n"));
    assert_eq!(quiet(log(&cluster, &["cat", "3", "stdout"])), "both\n");
}

#[test]
fn a_client_that_leaves_holds_up_nobody() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "1");
    // A reader that takes a line and stays: the program waits, until the client is gone.
    let hq = hq_tests::hq_binary().display().to_string();
    let mut shell = std::process::Command::new("bash");
    let line = format!(
        "'{hq}' --server-dir server submit --wait --output bash -c 'yes | head -c 60000000; echo > done' | (read; sleep 1000)"
    );
    shell.args(["-c", &line]).current_dir(cluster.dir());
    let mut pipeline = cluster.spawn(&mut shell, "pipeline");
    let running = || cluster.hq(&["job", "list", "--all"]).stdout;
    eventually("the job runs", running, |text| text.contains("RUNNING"));
    assert!(!cluster.path("done").exists());
    pipeline.signal_group(Signal::KILL);
    pipeline.kill();
    eventually("the program goes on", || cluster.path("done").exists(), |done| *done);
    cluster.finished(1);
}

#[test]
fn output_can_be_followed() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "1");
    let script = "echo begin; until [ -e go ]; do sleep 0.02; done; echo end; seq 1 20000";
    let job = cluster.submit(&["--stream=log", "bash", "-c", script]);
    cluster.until(job, "running", 1);
    let follower = cluster.background(&["job", "cat", "1", "stdout", "--follow"]);
    eventually("the beginning is shown", || follower.printed(), |text| text == "begin\n");
    fs::write(cluster.path("go"), "").unwrap();
    let lines: String = (1..=20_000).map(|n| format!("{n}\n")).collect();
    let whole = format!("begin\nend\n{lines}");
    eventually("all of it is shown", || follower.printed(), |text| *text == whole);
    let mut follower = follower;
    assert_eq!(follower.wait(), 0);
    // One that has ended.
    assert!(quiet(cluster.hq(&["job", "cat", "1", "stdout", "--follow"])) == whole);
    cluster.finished(cluster.submit(&["echo", "in a file"]));
    assert_eq!(quiet(cluster.hq(&["job", "cat", "2", "stdout", "--follow"])), "in a file\n");
    assert!(cluster.hq(&["job", "cat", "1-2", "stdout", "--follow"]).fails(1).contains("one job"));
    // What goes into a file is shown while the task runs, too.
    cluster.submit(&[
        "bash",
        "-c",
        "echo one; until [ -e on ]; do sleep 0.05; done; echo two; until [ -e off ]; do sleep 0.05; done",
    ]);
    let mut follower = cluster.background(&["job", "cat", "3", "stdout", "--follow"]);
    eventually("the first line is shown", || follower.printed(), |text| text == "one\n");
    fs::write(cluster.path("on"), "").unwrap();
    eventually("the second line is shown", || follower.printed(), |text| text == "one\ntwo\n");
    fs::write(cluster.path("off"), "").unwrap();
    assert_eq!(follower.wait(), 0);
    assert_eq!(follower.printed(), "one\ntwo\n");
}
