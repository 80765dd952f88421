//! `hq worker start`, `list`, `info`, `stop` and `wait`, and how workers end.

use std::{fs, thread, time::Duration};

use hq_tests::{ANSWER, Cluster, Signal, Table, alive, eventually, eventually_within, finish, processes_with};
use serde_json::json;

const INFO: [&str; 17] = [
    "Worker",
    "State",
    "Hostname",
    "Started",
    "Data provider",
    "Working directory",
    "Heartbeat",
    "Idle timeout",
    "Overview interval",
    "Resources",
    "Time Limit",
    "Process pid",
    "Group",
    "Manager",
    "Manager Job ID",
    "Last task started",
    "Runtime Info",
];

#[test]
fn list_and_info_in_all_modes() {
    let mut cluster = Cluster::start();
    let header = ["ID", "State", "Hostname", "Resources", "Manager", "Manager Job ID"];
    assert_eq!(
        cluster.hq(&["worker", "list"]).table(),
        Table { header: header.map(str::to_owned).into(), rows: vec![] }
    );

    let first = cluster.worker_with("first", &["--cpus=4x2", "--resource=mem=sum(4000)", "--resource=x=[a,b]"]);
    let _second = cluster.worker_with("second", &["--cpus=1", "--time-limit=1h", "--group=fast", "--heartbeat=2s"]);
    let list = cluster.hq(&["worker", "list"]).table();
    assert_eq!(
        list.rows,
        [
            ["1", "RUNNING", "first", "cpus 4x2; mem 3.91 GiB; x 2", "None", "N/A"],
            ["2", "RUNNING", "second", "cpus 1", "None", "N/A"],
        ]
    );
    assert_eq!(cluster.hq(&["--output-mode=quiet", "worker", "list"]).ok(), "1 RUNNING\n2 RUNNING\n");

    // Printed at the start, without the last row.
    let printed = Table::one(&first.printed());
    assert_eq!(printed.labels(), INFO[..16]);
    let tables = Table::all(cluster.hq(&["worker", "info", "all"]).ok());
    assert_eq!(tables.len(), 2);
    let (one, two) = (&tables[0], &tables[1]);
    assert_eq!(one.labels(), INFO);
    let pid = first.pid().to_string();
    for (label, value) in [
        ("Worker", "1"),
        ("State", "RUNNING"),
        ("Hostname", "first"),
        ("Working directory", cluster.path("work-first").to_str().unwrap()),
        ("Heartbeat", "8s"),
        ("Idle timeout", "None"),
        ("Overview interval", "None"),
        ("Resources", "cpus: 4x2\nmem: 3.91 GiB\nx: 2"),
        ("Time Limit", "None"),
        ("Process pid", &pid),
        ("Group", "default"),
        ("Manager", "None"),
        ("Manager Job ID", "N/A"),
        ("Last task started", ""),
        ("Runtime Info", "assigned tasks: 0"),
    ] {
        assert_eq!(one.get(label), value, "{label}");
        if !["Runtime Info", "State"].contains(&label) {
            assert_eq!(printed.get(label), value, "{label}");
        }
    }
    assert_eq!((two.get("Group"), two.get("Heartbeat"), two.get("Time Limit")), ("fast", "2s", "1h"));

    let job = cluster.submit(&["--array=7-8", "--cpus=8", "sleep", "3600"]);
    cluster.until(job, "running", 1);
    let table = cluster.hq(&["worker", "info", "1"]).table();
    assert_eq!(table.get("Runtime Info"), "assigned tasks: 1; running tasks: 1");
    assert!(table.get("Last task started").starts_with("1@7; Time: "), "{table:?}");
    assert_eq!(cluster.hq(&["--output-mode=quiet", "worker", "info", "1"]).ok(), "");
}

#[test]
fn json_has_exactly_these_keys() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker_with("w", &["--cpus=[2,4]", "--resource=y=[[a,b],[c]]", "--resource=z=sum(1.5)"]);
    let list = cluster.json(&["worker", "list"]);
    let worker = &list[0];
    let started = &worker["started"];
    assert!(started.is_string());
    let listen = &worker["configuration"]["listen_address"];
    assert!(listen.is_string());
    let expected = json!([{
        "id": 1,
        "configuration": {
            "heartbeat_interval": 8.0, "idle_timeout": null, "time_limit": null, "hostname": "w", "group": "default",
            "work_dir": cluster.path("work-w"), "listen_address": listen,
            "resources": {
                "resources": [
                    {"name": "cpus", "kind": "list", "values": ["2", "4"]},
                    {"name": "y", "kind": "groups", "groups": [["a", "b"], ["c"]]},
                    {"name": "z", "kind": "sum", "size": 15000},
                ],
                "coupling": {"weights": []},
            },
            "on_server_lost": "stop", "min_utilization": 0.0,
        },
        "allocation": null, "runtime_info": null, "last_task_started": null, "started": started, "ended": null,
    }]);
    assert_eq!(list, expected);
    let info = cluster.json(&["worker", "info", "1"]);
    let runtime = json!({"SingleNodeTasks": {"assigned_tasks": 0, "running_tasks": 0, "is_reserved": false}});
    assert_eq!(info[0]["runtime_info"], runtime);
    // Floats keep their point.
    let text = cluster.hq(&["--output-mode=json", "worker", "info", "1"]).stdout;
    assert!(text.contains("\"min_utilization\": 0.0") || text.contains("\"min_utilization\":0.0"), "{text}");

    cluster.hq(&["worker", "stop", "1"]).ok();
    cluster.until_worker(1, "STOPPED");
    let ended = cluster.json(&["worker", "info", "1"]);
    assert!(ended[0]["ended"]["at"].is_string() && ended[0]["runtime_info"].is_null(), "{ended}");
}

#[test]
fn stop_tells_what_it_did() {
    let mut cluster = Cluster::start();
    let mut workers: Vec<_> = (1..=3).map(|n| cluster.worker(&format!("w{n}"), "1")).collect();

    let output = cluster.hq(&["worker", "stop", "2"]);
    assert!(output.ok().is_empty() && output.log().contains("Worker 2 stopped"), "{output:?}");
    assert_eq!(workers[1].wait(), 0);
    cluster.until_worker(2, "STOPPED");
    let output = cluster.hq(&["worker", "stop", "2,4"]);
    let log = output.log();
    assert!(log.contains("WARN") && log.contains("Stopping worker 2 failed; worker is already stopped"), "{log}");
    assert!(log.contains("ERROR") && log.contains("Stopping worker 4 failed; worker not found"), "{log}");

    let list = cluster.hq(&["worker", "list"]).table();
    assert_eq!(list.column("ID"), ["1", "3"]);
    assert_eq!(cluster.hq(&["worker", "list", "--filter", "offline"]).table().column("ID"), ["2"]);
    assert_eq!(cluster.hq(&["worker", "list", "--filter", "running"]).table().column("ID"), ["1", "3"]);
    let all = cluster.hq(&["worker", "list", "--all"]).table();
    assert_eq!(all.column("State"), ["RUNNING", "STOPPED", "RUNNING"]);
    cluster.hq(&["worker", "list", "--all", "--filter", "running"]).fails(2);

    cluster.hq(&["worker", "stop", "last"]).ok();
    cluster.hq(&["worker", "stop", "all"]).ok();
    assert_eq!((workers[0].wait(), workers[2].wait()), (0, 0));
    let unknown = cluster.hq(&["worker", "info", "9"]);
    assert!(unknown.log().contains("Worker 9 not found"), "{unknown:?}");
}

#[test]
fn stop_kills_what_runs_under_either_policy() {
    for policy in ["stop", "finish-running"] {
        let mut cluster = Cluster::start();
        let mut worker = cluster.worker_with("w", &["--cpus=1", "--on-server-lost", policy]);
        let job = cluster.submit(&["bash", "-c", "echo $$ > pid; sleep 3600"]);
        cluster.until(job, "running", 1);
        let pid = eventually("pid of the task", || cluster.read("pid"), |text| text.ends_with('\n'));
        cluster.hq(&["worker", "stop", "1"]).ok();
        assert_eq!(worker.wait(), 0, "{policy}");
        assert!(!alive(pid.trim().parse().unwrap()), "{policy}");
        cluster.until_worker(1, "STOPPED");
        // No fault of the task: it waits for another worker.
        cluster.until(job, "waiting", 1);
    }
}

#[test]
fn wait_returns_with_the_last_worker() {
    let mut cluster = Cluster::start();
    let none = cluster.hq(&["worker", "wait", "0"]);
    assert_eq!((none.ok(), none.log()), ("", ""));
    let _one = cluster.worker("one", "1");
    let mut waiting = cluster.background(&["worker", "wait", "2"]);
    thread::sleep(Duration::from_millis(500));
    assert!(waiting.is_running());
    let _two = cluster.worker("two", "1");
    assert_eq!(waiting.wait(), 0);
    assert_eq!(waiting.printed(), "");
}

#[test]
fn wrong_configurations_are_refused_without_a_server() {
    let cluster = Cluster::new();
    for (args, code, text) in [
        (
            &["--detect-resources=none"][..],
            1,
            "You have to specify --cpus explicitly when opting out of CPU automatic detection",
        ),
        (&["--cpus=2", "--resource=cpus=3"], 1, "Parameters --cpus and --resource cpus=... cannot be combined"),
        (&["--cpus=sum(5)"], 1, "Resource kind `sum` cannot be used with CPUs"),
        (&["--resource=cpus=sum(5)"], 1, "Resource kind `sum` cannot be used with CPUs"),
        (&["--cpus=1", "--resource=x=[1]", "--resource=x=[2]"], 1, "Resource x defined twice"),
        (&["--cpus=1", "--min-utilization=1.5"], 2, "Minimal utilization has to be in the interval [0.0, 1.0]"),
        (&["--cpus=1", "--manager=slurm"], 1, ""),
        (&["--cpus=zz"], 2, ""),
        (&["--cpus=1", "--resource=x"], 2, ""),
        (&["--cpus=1", "--on-server-lost=wait"], 2, ""),
        (&["--cpus=1", "--time-limit=soon"], 2, ""),
    ] {
        let output = finish(cluster.command(&["worker", "start"]).args(args));
        assert_eq!(output.code, code, "{output:?}");
        assert!(output.stderr.contains(text) && output.took < ANSWER, "{output:?}");
    }
}

#[test]
fn workers_end_by_themselves() {
    let mut cluster = Cluster::start();
    let mut idle = cluster.worker_with("idle", &["--cpus=1", "--idle-timeout=1s", "--heartbeat=500ms"]);
    let mut limit = cluster.worker_with("limit", &["--cpus=1", "--time-limit=1s"]);
    assert_eq!(idle.wait(), 0);
    limit.wait();
    cluster.until_worker(1, "IDLE TIMEOUT");
    cluster.until_worker(2, "TIME LIMIT REACHED");
    assert_eq!(cluster.json(&["worker", "list"]), json!([]));
}

#[test]
fn a_busy_worker_is_not_idle() {
    let mut cluster = Cluster::start_with(&["--idle-timeout", "1s"]);
    let mut worker = cluster.worker_with("w", &["--cpus=1", "--heartbeat=500ms"]);
    let job = cluster.submit(&["sleep", "3"]);
    cluster.hq(&["job", "wait", "last"]).ok();
    assert_eq!(cluster.stats(job)["finished"], 1);
    assert_eq!(worker.wait(), 0);
    cluster.until_worker(1, "IDLE TIMEOUT");
}

#[test]
fn signals_end_a_worker_and_all_processes_of_its_tasks() {
    for (signal, whole_group) in [(Signal::TERM, true), (Signal::INT, false)] {
        let mut cluster = Cluster::start();
        let mut worker = cluster.worker("w", "1");
        let (job, sleep) = family(&cluster);
        if whole_group {
            worker.signal_group(signal);
        } else {
            worker.signal(signal);
        }
        worker.wait();
        cluster.until_worker(1, "CONNECTION LOST");
        assert_eq!(processes_with(&sleep), [0_u32; 0], "{signal:?}");
        cluster.until(job, "waiting", 1);
    }
}

#[test]
fn nothing_survives_a_killed_worker_and_its_task_runs_again() {
    let mut cluster = Cluster::start();
    let mut worker = cluster.worker("first", "1");
    let (job, sleep) = family(&cluster);
    worker.kill();
    eventually_within(ANSWER, "all processes of the task die", || processes_with(&sleep), Vec::is_empty);
    cluster.until_worker(1, "CONNECTION LOST");
    cluster.until(job, "waiting", 1);

    let _second = cluster.worker("second", "1");
    cluster.until(job, "running", 1);
    eventually("second instance", || cluster.read("instances"), |text| text == "0\n1\n");
    cluster.hq(&["job", "cancel", "last"]).ok();
    eventually_within(ANSWER, "all processes of the task die", || processes_with(&sleep), Vec::is_empty);
}

#[test]
fn a_task_that_loses_its_workers_fails_in_the_end() {
    let mut cluster = Cluster::start();
    let job = cluster.submit(&["--crash-limit=2", "bash", "-c", "sleep 0.3; kill -9 $PPID; sleep 3600"]);
    let never = cluster.submit(&["--crash-limit=never-restart", "bash", "-c", "sleep 0.3; kill -9 $PPID; sleep 3600"]);
    for n in 1..=3 {
        cluster.spawn_worker(&format!("w{n}"), &["--cpus=1"]).wait();
    }
    for (job, text) in [(job, "lost worker 2 times"), (never, "never-restart")] {
        let info = cluster.finished(job);
        let error = info["tasks"][0]["error"].as_str().unwrap_or_else(|| panic!("{info}"));
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn of_ten_tasks_one_ends_after_the_server() {
    for (policy, ended) in [("finish-running", 1), ("stop", 0)] {
        let mut cluster = Cluster::start();
        let mut worker = cluster.worker_with("w", &["--cpus=1", "--on-server-lost", policy]);
        let job = cluster.submit(&["--array=1-10", "bash", "-c", "sleep 2; touch ended-$HQ_TASK_ID"]);
        cluster.until(job, "running", 1);
        cluster.server().kill();
        assert_eq!(worker.wait(), 1, "{policy}");
        let names = fs::read_dir(cluster.dir()).unwrap().map(|entry| entry.unwrap().file_name());
        let count = names.filter(|name| name.to_str().is_some_and(|name| name.starts_with("ended-"))).count();
        assert_eq!(count, ended, "{policy}");
    }
}

#[test]
fn a_worker_that_hangs_is_given_up() {
    let mut cluster = Cluster::start();
    let worker = cluster.worker_with("w", &["--cpus=1", "--heartbeat=500ms"]);
    let job = cluster.submit(&["sleep", "3600"]);
    cluster.until(job, "running", 1);
    worker.signal(Signal::STOP);
    cluster.until_worker(1, "HEARTBEAT LOST");
    cluster.until(job, "waiting", 1);
}

#[test]
fn work_dirs_are_made_and_detected_ones_removed() {
    let mut cluster = Cluster::start();
    let mut command = cluster.command(&["worker", "start", "--cpus=1"]);
    let mut worker = cluster.spawn(&mut command, "worker");
    eventually("worker", || cluster.json(&["worker", "list"]), |list| list[0].is_object());
    let work_dir = cluster.json(&["worker", "list"])[0]["configuration"]["work_dir"].as_str().unwrap().to_owned();
    assert!(fs::metadata(&work_dir).unwrap().is_dir());
    let job = cluster.submit(&["--task-dir", "bash", "-c", "echo $HQ_TASK_DIR; test -d $HQ_TASK_DIR"]);
    assert_eq!(cluster.finished(job)["tasks"][0]["state"], "finished");
    let task_dir = cluster.read("job-1/0.stdout");
    assert!(task_dir.starts_with(&work_dir), "{task_dir}");
    assert!(fs::metadata(task_dir.trim()).is_err(), "{task_dir} is removed");
    cluster.hq(&["worker", "stop", "all"]).ok();
    worker.wait();
    assert!(fs::metadata(&work_dir).is_err(), "{work_dir} is removed");
}

/// A running task with a child and a grandchild that ignore signals; its job, and what is in the command lines of all.
fn family(cluster: &Cluster) -> (u32, String) {
    let dir = cluster.dir().file_name().unwrap().to_str().unwrap();
    // `exec -a` names the sleeping ones after the directory, which no other test has.
    let mark = dir.replace("hq-test", "family");
    let sleep = format!("(exec -a {mark} sleep 86400)");
    let script = format!("trap '' INT TERM HUP; echo $HQ_INSTANCE_ID >> instances; ({sleep} & wait) & {sleep} & wait");
    let job = cluster.submit(&["bash", "-c", &script]);
    cluster.until(job, "running", 1);
    eventually("the family", || processes_with(&mark), |pids| pids.len() >= 4);
    (job, mark)
}
