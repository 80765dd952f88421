//! `hq job list`, `info`, `wait`, `cat` and `cancel`.

use std::{fs, thread, time::Duration};

use hq_tests::{Cluster, Table, eventually};
use serde_json::{Value, json};

#[test]
fn list_shows_what_is_not_done() {
    let mut cluster = Cluster::start();
    let empty = cluster.hq(&["job", "list"]);
    assert_eq!(
        empty.table(),
        Table { header: ["ID", "Name", "State", "Tasks"].map(str::to_owned).into(), rows: vec![] }
    );
    assert_eq!(empty.ok().lines().count(), 3);

    let _worker = cluster.worker("w", "1");
    cluster.finished(cluster.submit(&["true"]));
    cluster.finished(cluster.submit(&["--array=1-3", "false"]));
    let long = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbb";
    let running = cluster.submit(&["--name", long, "--array=1-10", "sleep", "3600"]);
    cluster.until(running, "running", 1);
    cluster.submit(&["sleep", "3600"]);
    cluster.submit(&["--name=gone", "sleep", "3600"]);
    cluster.hq(&["job", "cancel", "last", "--reason", "no need"]).ok();

    let list = cluster.hq(&["job", "list"]);
    assert!(list.ok().contains("There are 5 jobs in total. Use `--all` to display all jobs."), "{list:?}");
    let short = format!("{}...{}", &long[..24], &long[long.len() - 23..]);
    assert_eq!(list.table().rows, [["3", &short, "RUNNING", "10"], ["4", "sleep", "WAITING", "1"]]);
    let all = cluster.hq(&["job", "list", "--all"]);
    assert!(!all.ok().contains("There are"));
    assert_eq!(all.table().column("State"), ["FINISHED", "FAILED", "RUNNING", "WAITING", "CANCELED"]);
    assert_eq!(all.table().column("ID"), ["1", "2", "3", "4", "5"]);
    let filtered = cluster.hq(&["job", "list", "--filter", "failed,canceled", "--verbose"]).table();
    assert_eq!(filtered.header, ["ID", "Name", "State", "Tasks", "Cancel Reason"]);
    assert_eq!(filtered.rows, [["2", "false", "FAILED", "3", ""], ["5", "gone", "CANCELED", "1", "no need"]]);
    cluster.hq(&["job", "list", "--all", "--filter", "failed"]).fails(2);
    assert_eq!(cluster.hq(&["--output-mode=quiet", "job", "list"]).ok(), "3 RUNNING\n4 WAITING\n");

    let json = cluster.json(&["job", "list"]);
    let expected = json!({
        "id": 3, "name": long, "task_count": 10, "is_open": false, "cancel_reason": null,
        "task_stats": {"running": 1, "finished": 0, "failed": 0, "canceled": 0, "aborted": 0, "waiting": 9},
    });
    assert_eq!((json.as_array().unwrap().len(), &json[0]), (2, &expected));
}

#[test]
fn info_of_an_array() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "2");
    let job = cluster.submit(&[
        "--array=1-6,10-20",
        "--cpus=2",
        "--priority=-3",
        "--env=B=2",
        "--env=A=1",
        "--time-limit=1h10m15s",
        "--crash-limit=unlimited",
        "--stderr=none",
        "bash",
        "-c",
        "[ $HQ_TASK_ID = 2 ] && exit 5; [ $HQ_TASK_ID -lt 4 ] || sleep 3600",
    ]);
    cluster.until(job, "finished", 2);
    cluster.until(job, "running", 1);
    let tables = Table::all(cluster.hq(&["job", "info", "1"]).ok());
    let (info, failures) = (&tables[0], &tables[1]);
    let labels = "ID,Name,State,Cancel Reason,Session,Tasks,Workers,Resources,Pin,Priority,Command,Stdout,Stderr,\
                  Environment,Working directory,Task time limit,Crash limit,Submission date,Submission directory,Makespan";
    assert_eq!(info.labels().join(","), labels);
    let dir = cluster.dir().to_str().unwrap();
    let stdout = format!("{dir}/job-1/%{{TASK_ID}}.stdout");
    for (label, value) in [
        ("ID", "1"),
        ("Name", "bash"),
        ("Cancel Reason", ""),
        ("Session", "closed"),
        ("Tasks", "17; Ids: 1-6,10-20"),
        ("Workers", "w"),
        ("Resources", "cpus: 2 compact"),
        ("Pin", "none"),
        ("Priority", "-3"),
        ("Stdout", &stdout),
        ("Stderr", "<None>"),
        ("Environment", "A=1\nB=2"),
        ("Working directory", dir),
        ("Task time limit", "1h 10m 15s"),
        ("Crash limit", "unlimited"),
        ("Submission directory", dir),
    ] {
        assert_eq!(info.get(label), value, "{label}");
    }
    assert!(info.get("Command").starts_with("bash\n-c\n"));
    let state: Vec<_> = info.get("State").lines().collect();
    assert!(state[0].len() == 42 && state[0].starts_with("[#") && state[0].ends_with(".]"), "{state:?}");
    assert_eq!(state[1..], ["RUNNING (1)", "FAILED (1)", "FINISHED (2)", "WAITING (13)"]);
    assert_eq!(failures.header, ["Task ID", "Worker", "Error"]);
    assert_eq!(failures.rows, [["2", "w", "Program terminated with exit code 5."]]);
    assert!(cluster.hq(&["job", "info", "1"]).ok().contains("\n1 tasks failed.\n"));
}

#[test]
fn info_as_json_has_exactly_these_keys() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "1");
    let job =
        cluster.submit(&["--array=1-3", "--max-fails=2", "bash", "-c", "[ $HQ_TASK_ID = 1 ] && exit 1; sleep 3600"]);
    cluster.until(job, "running", 1);
    let all = cluster.json(&["job", "info", "last"]);
    let info = &all[0];
    assert_eq!(keys(info), ["finished_at", "info", "max_fails", "started_at", "submits", "tasks"]);
    assert_eq!((&info["finished_at"], &info["max_fails"]), (&Value::Null, &json!(2)));
    assert!(info["started_at"].is_string());
    let task = &info["tasks"][0];
    let path = |name: &str| cluster.path(name).to_str().unwrap().to_owned();
    let expected = json!({
        "id": 1, "state": "failed", "cwd": path(""), "stdout": path("job-1/1.stdout"), "stderr": path("job-1/1.stderr"),
        "started_at": task["started_at"], "worker": 1, "finished_at": task["finished_at"],
        "error": "Program terminated with exit code 1.",
    });
    let mut seen = task.clone();
    seen["cwd"] = format!("{}/", task["cwd"].as_str().unwrap()).into();
    assert_eq!(seen, expected);
    assert_eq!(keys(&info["tasks"][1]), ["cwd", "id", "started_at", "state", "stderr", "stdout", "worker"]);
    assert_eq!(info["tasks"][2], json!({"id": 3, "state": "waiting"}));
    let description = &info["submits"][0]["array"];
    let expected = json!({
        "program": {
            "args": ["bash", "-c", "[ $HQ_TASK_ID = 1 ] && exit 1; sleep 3600"], "env": {},
            "cwd": cluster.dir(),
            "stdout": path("job-1/%{TASK_ID}.stdout"), "stderr": path("job-1/%{TASK_ID}.stderr"),
        },
        "resources": [{
            "n_nodes": 0, "resources": [{"resource": "cpus", "request": {"Compact": 10000}}], "min_time": 0.0, "weight": 10000,
        }],
        "pin_mode": null, "priority": 0, "time_limit": null, "task_dir": false, "crash_limit": 5,
    });
    assert_eq!(description, &expected);
    assert_eq!(cluster.hq(&["--output-mode=quiet", "job", "info", "1"]).ok(), "");
}

#[test]
fn selectors() {
    let mut cluster = Cluster::start();
    for command in ["info", "cancel"] {
        let none = cluster.hq(&["job", command, "last"]);
        assert_eq!(none.ok(), "", "{command}");
    }
    let cat = cluster.hq(&["job", "cat", "last", "stdout"]);
    assert!(cat.log().contains("No jobs were found"), "{cat:?}");
    cluster.hq(&["job", "wait", "last"]).ok();
    cluster.hq(&["job", "wait", "all"]).ok();

    let _worker = cluster.worker("w", "1");
    for _ in 0..3 {
        cluster.finished(cluster.submit(&["true"]));
    }
    let ids = |selector: &str| -> Vec<String> {
        let output = cluster.hq(&["job", "info", selector]);
        Table::all(output.ok()).iter().map(|table| table.get("ID").to_owned()).collect()
    };
    assert_eq!(ids("last"), ["3"]);
    assert_eq!(ids("all"), ["1", "2", "3"]);
    assert_eq!(ids("1-3:2"), ["1", "3"]);
    let unknown = cluster.hq(&["job", "info", "3,5"]);
    assert!(unknown.log().contains("Job 5 not found"), "{unknown:?}");
    assert_eq!(Table::one(unknown.ok()).get("ID"), "3");
}

#[test]
fn wait_returns_at_the_end() {
    let mut cluster = Cluster::start();
    let job =
        cluster.submit(&["--array=1-2", "bash", "-c", "while ! [ -e go ]; do sleep 0.05; done; exit $HQ_TASK_ID"]);
    let mut waiting = cluster.background(&["job", "wait", &job.to_string()]);
    let _worker = cluster.worker("w", "2");
    cluster.until(job, "running", 2);
    thread::sleep(Duration::from_millis(300));
    assert!(waiting.is_running());
    fs::write(cluster.path("go"), "").unwrap();
    assert_eq!((waiting.wait(), waiting.printed().as_str()), (0, ""));
    assert_eq!(cluster.stats(job)["failed"], 2);

    // What has ended, is canceled or was never there does not block.
    let canceled = cluster.submit(&["--cpus=100", "true"]);
    cluster.hq(&["job", "cancel", "last"]).ok();
    for selector in ["1", "last", "all", "99", &format!("1,{canceled},99")] {
        let output = cluster.hq(&["job", "wait", selector]);
        assert_eq!(output.ok(), "", "{selector}");
    }
    let json = cluster.json(&["job", "wait", "1"]);
    assert_eq!(json, json!({}));

    cluster.submit(&["sleep", "3600"]);
    let mut waiting = cluster.background(&["job", "wait", "last"]);
    thread::sleep(Duration::from_millis(300));
    cluster.server().kill();
    assert_eq!(waiting.wait(), 0, "the server went away");
}

#[test]
fn cat_joins_outputs_byte_for_byte() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "4");
    let script = "printf \"out $HQ_TASK_ID\"; printf \"err $HQ_TASK_ID\\n\" >&2; [ $HQ_TASK_ID != 2 ]";
    cluster.finished(cluster.submit(&["--array=1-10", "bash", "-c", script]));
    cluster.finished(cluster.submit(&["--stderr=none", "printf", "\\0\\377\\n"]));
    let cat = |args: &[&str]| cluster.hq(&[&["job", "cat"], args].concat());
    let expected: String = (1..=10).map(|n| format!("out {n}")).collect();
    assert_eq!(cat(&["1", "stdout"]).ok(), expected);
    assert_eq!(cat(&["--tasks", "9,3-4", "1", "stderr"]).ok(), "err 3\nerr 4\nerr 9\n");
    assert_eq!(cat(&["1", "--tasks=1", "--print-task-header", "stderr"]).ok(), "# Job 1, task 1\nerr 1\n");
    assert_eq!(cat(&["--task-status=failed", "1", "stderr"]).ok(), "err 2\n");
    assert_eq!(cat(&["last", "stdout"]).ok(), "\0\u{fffd}\n");

    for (args, text) in [
        (&["99", "stdout"][..], "Job 99 was not found"),
        (&["--tasks=77", "1", "stdout"], "Task 77 of job 1 not found"),
        (&["2", "stderr"], "Task 0 has no `stderr` stream associated with it"),
        (&["--task-status=waiting", "1", "stdout"], "No tasks were selected for job 1, there is nothing to print"),
    ] {
        let output = cat(args);
        assert!(output.log().contains(text) && output.stdout.is_empty(), "{output:?}");
    }
    fs::remove_file(cluster.path("job-1/3.stdout")).unwrap();
    let missing = cat(&["--tasks=3-4", "1", "stdout"]);
    assert!(missing.log().contains("WARN") && missing.ok() == "out 4", "{missing:?}");
    let json = cluster.hq(&["--output-mode=json", "job", "cat", "1", "stdout"]);
    assert!(json.fails(1).contains("JSON output mode doesn't support job output"), "{json:?}");
    cluster.hq(&["job", "cat", "1", "stdin"]).fails(2);
}

#[test]
fn cancel_tells_what_it_did() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "1");
    cluster.finished(cluster.submit(&["true"]));
    let job = cluster.submit(&["--array=1-5", "bash", "-c", "[ $HQ_TASK_ID -lt 3 ] || sleep 3600"]);
    cluster.until(job, "running", 1);
    cluster.until(job, "finished", 2);
    let cancel = |args: &[&str]| {
        let output = cluster.hq(&[&["job", "cancel"], args].concat());
        assert_eq!(output.ok(), "");
        output.stderr
    };
    let log = cancel(&["2", "--reason", "first"]);
    assert!(log.contains("INFO Job 2 canceled (3 tasks canceled, 2 tasks already finished)"), "{log}");
    let stats = cluster.stats(2);
    assert_eq!((&stats["canceled"], &stats["finished"], &stats["running"]), (&json!(3), &json!(2), &json!(0)));
    let log = cancel(&["2", "--reason", "second"]);
    assert!(log.contains("ERROR Canceling job 2 failed; all tasks are already finished"), "{log}");
    assert_eq!(cluster.json(&["job", "info", "2"])[0]["info"]["cancel_reason"], "first");
    let log = cancel(&["1,4"]);
    assert!(log.contains("Canceling job 1 failed; all tasks are already finished"), "{log}");
    assert!(log.contains("Canceling job 4 failed; job not found"), "{log}");
    assert!(cancel(&["all"]).contains("There is nothing to cancel"));
    cluster.submit(&["sleep", "3600"]);
    let log = cancel(&["all"]);
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.contains("Job 3 canceled (1 tasks canceled, 0 tasks already finished)"), "{log}");
    cluster.hq(&["job", "cancel", "all", "--reason", &"x".repeat(201)]).fails(2);
}

#[test]
fn what_is_canceled_is_dead_and_cleaned_up() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "1");
    let mark = cluster.dir().file_name().unwrap().to_str().unwrap().replace("hq-test", "cancel");
    let script = format!(
        "trap '' INT; echo $HQ_TASK_DIR > dir; (exec -a {mark} sleep 86400) & wait; wait; (exec -a {mark} sleep 86400)"
    );
    let job = cluster.submit(&["--task-dir", "--array=1-3", "bash", "-c", &script]);
    cluster.until(job, "running", 1);
    let dir = eventually("task directory", || cluster.read("dir"), |text| text.ends_with('\n'));
    cluster.hq(&["job", "cancel", "last"]).ok();
    // At once for whoever looks; its processes have a second to end.
    assert_eq!(cluster.stats(job)["canceled"], 3);
    eventually("processes die", || hq_tests::processes_with(&mark), Vec::is_empty);
    eventually("the task directory is removed", || fs::exists(dir.trim()).unwrap(), |there| !there);
    // The worker is free again, and nothing of the rest has been started.
    cluster.finished(cluster.submit(&["true"]));
    assert!(!cluster.path("job-1/2.stdout").exists());
}

#[test]
fn too_many_failures_abort_the_rest() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "1");
    for (max_fails, failed) in [("0", 1), ("3", 4)] {
        let job = cluster.submit(&["--array=1-10", "--max-fails", max_fails, "false"]);
        let stats = &cluster.finished(job)["info"]["task_stats"];
        assert_eq!((&stats["failed"], &stats["aborted"]), (&json!(failed), &json!(10 - failed)));
        let list = cluster.hq(&["job", "list", "--all"]).table();
        assert_eq!(list.column("State").last(), Some(&"FAILED"));
    }
}

fn keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = object.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}
