//! Tasks that are run again: after which ends, how often and when; over restarts; and what is shown of it.
//!
//! Rows W2, W10 and W13 of the faults.

use std::{fs, io::Write, path::PathBuf, process::Command};

use hq_tests::{Cluster, Process, eventually, hq_binary, skip};
use serde_json::json;

/// Fails as often as its first argument says, with the exit code of its second one.
const FAILS: &str = "echo $HQ_INSTANCE_ID >> runs-$HQ_TASK_ID; [ $HQ_INSTANCE_ID -ge $0 ] || exit $1";

#[test]
fn by_exit_code_as_often_as_the_rule_says() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "2");
    let job = cluster.submit(&["--retry=exit=75:3:10ms", "bash", "-c", FAILS, "2", "75"]);
    let info = cluster.finished(job);
    assert_eq!(info["info"]["task_stats"]["finished"], 1, "{info}");
    assert_eq!(cluster.read("runs-0"), "0\n1\n2\n");
    // Used up; another code; the first rule for a code counts.
    for (args, error) in [
        (&["--retry=exit=75:1:0s..0s", "bash", "-c", FAILS, "9", "75"][..], "exit code 75.\nIt was retried once"),
        (&["--retry=exit=75:3", "bash", "-c", FAILS, "9", "76"], "exit code 76."),
        (&["--retry=exit=76:0", "--retry=any:9", "bash", "-c", FAILS, "9", "76"], "exit code 76."),
    ] {
        let job = cluster.submit(args);
        cluster.until(job, "failed", 1);
        let task = &cluster.json(&["job", "info", &job.to_string()])[0]["tasks"][0];
        assert!(task["error"].as_str().unwrap().contains(error), "{task}");
    }
    // The time limit is a cause of its own, and a signal is.
    let args = ["--retry=time-limit:1:0s..0s", "--time-limit=100ms", "bash", "-c", "echo x >> limited; sleep 3600"];
    cluster.until(cluster.submit(&args), "failed", 1);
    assert_eq!(cluster.read("limited"), "x\nx\n");
    cluster.finished(cluster.submit(&[
        "--retry=signal:1:0s..0s",
        "bash",
        "-c",
        "[ $HQ_INSTANCE_ID = 1 ] || kill -9 $$",
    ]));
}

#[test]
fn while_it_waits_it_is_told_why_and_until_when_and_a_restart_changes_nothing() {
    let mut cluster = Cluster::start_with(&["--journal", "journal"]);
    let worker = cluster.worker("w", "1");
    let args = ["--array=1-2", "--retry=exit=3:1:2h..2h", "bash", "-c", "[ $HQ_TASK_ID = 2 ] || exit 3"];
    let job = cluster.submit(&args).to_string();
    cluster.until(1, "finished", 1);
    let shown = |cluster: &Cluster| {
        let info = cluster.json(&["job", "info", &job]);
        info[0]["tasks"][0].clone()
    };
    let before = eventually("it is to be retried", || shown(&cluster), |task| task["retry"].is_object());
    assert_eq!((&before["state"], &before["retry"]["count"]), (&json!("waiting"), &json!(1)), "{before}");
    assert_eq!(before["retry"]["error"], "Program terminated with exit code 3.");
    drop(worker);
    cluster.server().kill();
    cluster.start_server(&["--journal", "journal"]);
    let _worker = cluster.worker("w2", "1");
    assert_eq!(shown(&cluster), before, "counts and delays are kept");
    let table = cluster.hq(&["job", "info", &job]).table();
    assert!(table.get("To be retried").starts_with("1 (the first in 1h "), "{}", table.get("To be retried"));
    assert_eq!(table.get("Retry"), "exit=3:1:2h..2h");
    let table = cluster.hq(&["task", "info", &job, "1"]).table();
    let text = table.get("To be retried");
    assert!(text.starts_with("in 1h ") && text.contains("(retry 1), after: Program terminated"), "{text}");
    let explained = cluster.hq(&["task", "explain", &job, "1"]);
    assert!(explained.ok().contains("It is run again in 1h "), "{explained:?}");
    assert!(
        cluster.json(&["task", "explain", &job, "1"])["explanation"]["retry"]["after"]["secs"].as_u64() > Some(5_000)
    );
    let events = cluster.hq(&["journal", "export", "journal"]);
    assert!(events.ok().contains("\"type\":\"task-retried\""), "{events:?}");
    cluster.hq(&["job", "cancel", &job]).ok();
    assert_eq!(
        cluster.stats(1),
        json!({"running": 0, "finished": 1, "failed": 0, "canceled": 1, "aborted": 0, "waiting": 0})
    );
}

#[test]
fn crashes_wait_and_poison_is_quarantined() {
    let mut cluster = Cluster::start();
    let script = "echo $HQ_INSTANCE_ID >> ran; sleep 3600";
    let args = ["--crash-limit=2", "--retry=crash:5:10ms..20ms", "bash", "-c", script];
    let job = cluster.submit(&args);
    for run in 1..=2_usize {
        let mut worker = cluster.worker(&format!("w{run}"), "1");
        eventually("it runs", || cluster.read("ran"), |text| text.lines().count() == run);
        worker.kill();
    }
    cluster.until(job, "failed", 1);
    let info = cluster.json(&["job", "info", &job.to_string()]);
    let error = info[0]["tasks"][0]["error"].as_str().unwrap();
    assert!(error.contains("2 times, which is its crash limit (2). It is quarantined"), "{error}");
    assert!(error.contains("those lost were 1, 2."), "{error}");
}

/// W2, here as far as it can be seen: a worker in a batch job that gets a signal was preempted.
#[test]
fn w2_preemption_is_no_crash() {
    let mut cluster = Cluster::start();
    cluster
        .hq(&["alloc", "add", "local", "--name=here", "--time-limit=1h", "--backlog=1", "--max-worker-count=1"])
        .ok();
    let script = "echo $HQ_INSTANCE_ID >> ran; [ $HQ_INSTANCE_ID = 1 ] || sleep 3600";
    let job = cluster.submit(&["--crash-limit=1", "bash", "-c", script]);
    cluster.until(job, "running", 1);
    eventually("it runs", || cluster.read("ran"), |text| text.lines().count() == 1);
    let worker = cluster.hq(&["worker", "info", "1"]).table();
    Command::new("kill").args(["-TERM", worker.get("Process pid")]).status().unwrap();
    // The queue takes its time for another one.
    cluster.until_worker(1, "CONNECTION LOST");
    let _second = cluster.worker("w", "1");
    cluster.until(job, "finished", 1);
    assert_eq!(cluster.read("ran"), "0\n1\n");
}

/// A worker with `limit` for its shell's `ulimit`.
fn limited_worker(cluster: &mut Cluster, name: &str, limit: &str, args: &[&str]) -> Process {
    let hq = cluster.command(&[&["worker", "start"], args].concat());
    let mut command = Command::new("bash");
    command.args(["-c", &format!("ulimit {limit}; exec \"$0\" \"$@\"")]).arg(hq_binary()).args(hq.get_args());
    command.current_dir(hq.get_current_dir().unwrap_or(cluster.dir()));
    for (key, value) in hq.get_envs() {
        match value {
            Some(value) => command.env(key, value),
            None => command.env_remove(key),
        };
    }
    cluster.spawn(&mut command, name)
}

#[test]
fn w10_a_worker_out_of_descriptors_fails_no_task() {
    let mut cluster = Cluster::start();
    let _worker = limited_worker(&mut cluster, "w", "-n 64", &["--cpus=60"]);
    let script = "echo $HQ_INSTANCE_ID > ran-$HQ_TASK_ID; sleep 0.3";
    let job = cluster.submit(&["--array=1-60", "--crash-limit=never-restart", "bash", "-c", script]);
    let info = cluster.finished(job);
    assert_eq!(info["info"]["task_stats"]["finished"], 60, "{}", info["info"]);
    let again = (1..=60).filter(|task| cluster.read(&format!("ran-{task}")).trim() != "0").count();
    assert!(again > 0, "too few descriptors for so many at a time");
}

/// A memory cgroup of its own, removed at the end.
struct Group(PathBuf);

impl Group {
    fn new(bytes: &str) -> Option<Self> {
        let name = format!("hq-test-{}", std::process::id());
        for (root, limit) in [("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")] {
            let dir = PathBuf::from(root).join(&name);
            if fs::create_dir(&dir).is_err() {
                continue;
            }
            let group = Self(dir);
            // No file is made: where there are no cgroups this is a directory like others.
            let set = |name: &str, text: &str| {
                let file = fs::OpenOptions::new().write(true).open(group.0.join(name));
                file.and_then(|mut file| file.write_all(text.as_bytes())).is_ok()
            };
            if set(limit, bytes) {
                set("memory.swap.max", "0");
                return Some(group);
            }
        }
        None
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn w13_want_of_memory_is_told_apart_from_a_kill() {
    let Some(group) = Group::new("96M") else { return skip("cgroups of memory cannot be made here") };
    let mut cluster = Cluster::start();
    let hq = cluster.command(&["worker", "start", "--cpus=2"]);
    let mut command = Command::new("bash");
    let enter = format!("echo $$ > {}/cgroup.procs && exec \"$0\" \"$@\"", group.0.display());
    command.args(["-c", &enter]).arg(hq_binary()).args(hq.get_args());
    command.current_dir(hq.get_current_dir().unwrap_or(cluster.dir()));
    hq.get_envs().for_each(|(key, value)| _ = value.map(|value| command.env(key, value)));
    let mut worker = cluster.spawn(&mut command, "w");
    // What somebody else kills is no want of memory.
    let killed = cluster.submit(&["--retry=oom:5", "bash", "-c", "kill -9 $$"]);
    cluster.until(killed, "failed", 1);
    let task = &cluster.json(&["job", "info", "1"])[0]["tasks"][0];
    assert_eq!(task["error"], "Program terminated with exit code -1. Received signal 9 (SIGKILL).");
    let eats = "[ $HQ_INSTANCE_ID = 1 ] && exit; exec tail /dev/zero";
    let job = cluster.submit(&["--retry=oom:1:0s..0s", "--time-limit=60s", "bash", "-c", eats]);
    cluster.finished(job);
    let job = cluster.submit(&["--time-limit=60s", "tail", "/dev/zero"]);
    cluster.until(job, "failed", 1);
    let task = &cluster.json(&["job", "info", &job.to_string()])[0]["tasks"][0];
    assert!(task["error"].as_str().unwrap().contains("oom-killed"), "{task}");
    worker.kill();
    drop(cluster);
    eventually(
        "nothing is left in the group",
        || fs::read_to_string(group.0.join("cgroup.procs")).unwrap(),
        String::is_empty,
    );
}

#[test]
fn in_job_files_and_with_dependencies_of_all_kinds() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "4");
    let file = r#"
        [[task]]
        id = 1
        command = ["bash", "-c", "echo 1 >> log; exit 3"]
        retry = ["exit=3:2:0s..0s", "any:1"]
        [[task]]
        id = 2
        command = ["bash", "-c", "echo after failure >> log"]
        deps_failed = [1]
        [[task]]
        id = 3
        command = ["bash", "-c", "echo after any end >> log"]
        deps_any = [1]
        deps = [2]
        [[task]]
        id = 4
        command = ["true"]
        deps = [1]
    "#;
    fs::write(cluster.path("job.toml"), file).unwrap();
    cluster.hq(&["job", "submit-file", "job.toml"]).ok();
    cluster.hq(&["job", "wait", "1"]).ok();
    assert_eq!(cluster.read("log"), "1\n1\n1\nafter failure\nafter any end\n");
    assert_eq!(cluster.stats(1)["aborted"], 1);
    fs::write(cluster.path("bad.toml"), "[[task]]\ncommand = [\"p\"]\nretry = [\"exit:x\"]\n").unwrap();
    let bad = cluster.hq(&["job", "submit-file", "bad.toml"]).fails(1);
    assert!(bad.contains("line 3, column 16: expected how often"), "{bad}");
}

#[test]
fn what_is_no_rule_is_refused_with_its_place() {
    let cluster = Cluster::start();
    for (rule, reason) in [
        ("exit", "expected `:` and how often"),
        ("never:1", "expected exit, signal, oom"),
        ("exit=0:1", "expected exit codes from 1 to 255"),
        ("any:x", "expected how often"),
        ("any:1:2m..1m", "the longest delay is shorter"),
    ] {
        let output = cluster.hq(&["submit", &format!("--retry={rule}"), "true"]).fails(2);
        assert!(output.contains(reason) && output.contains('^'), "{output}");
    }
    let output = cluster.hq(&["submit", "--retry=any:1", "--crash-limit=never-restart", "true"]).fails(1);
    assert!(output.contains("must never be restarted"), "{output}");
}
