//! Many tasks, many workers. One test at a time.

use std::{
    fs,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use hq_tests::{ANSWER, Cluster, eventually, finish, number_from_env};
use serde_json::{Value, json};

#[test]
fn ten_million_tasks_at_once() {
    let _alone = alone();
    let mut cluster = Cluster::start_with(&["--journal", "journal"]);
    let before = resident_kib(&mut cluster);
    let args = ["submit", "--array=1-10_000_000", "--stdout=none", "--stderr=none", "true"];
    let quick = |what: &str, args: &[&str]| {
        let output = cluster.hq(args);
        assert!(output.took < ANSWER, "{what} took {:?}", output.took);
        output
    };
    quick("submit", &args).ok();
    let list = quick("list", &["job", "list"]).table();
    assert_eq!(list.rows, [["1", "true", "WAITING", "10000000"]]);
    quick("summary of the list", &["--output-mode=json", "job", "list"]).json();
    let canceled = quick("cancel", &["job", "cancel", "1"]);
    assert!(
        canceled.log().contains("Job 1 canceled (10000000 tasks canceled, 0 tasks already finished)"),
        "{canceled:?}"
    );
    assert!(fs::metadata(cluster.path("journal")).unwrap().len() < 64 << 10);
    let after = resident_kib(&mut cluster);
    assert!(after < before + (16 << 10), "{before} KiB before, {after} KiB after");

    // With a worker that runs some of them.
    let _worker = cluster.worker("w", "2");
    let job = cluster.submit(&args[1..]);
    eventually("some end", || cluster.json(&["job", "list"])[0]["task_stats"]["finished"].as_u64(), |n| n > &Some(20));
    let start = Instant::now();
    cluster.hq(&["job", "cancel", "last"]).ok();
    assert!(start.elapsed() < ANSWER, "{:?}", start.elapsed());
    let list = cluster.json(&["job", "list", "--all"]);
    let stats = &list[1]["task_stats"];
    let count = |state: &str| stats[state].as_u64().unwrap();
    assert_eq!(
        (list[1]["id"].as_u64(), count("finished") + count("canceled")),
        (Some(job.into()), 10_000_000),
        "{stats}"
    );
}

#[test]
fn an_array_of_twenty_thousand_is_submitted_and_canceled() {
    let _alone = alone();
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "4");
    let start = Instant::now();
    let job = cluster.submit(&["--array=1-20000", "--stdout=none", "--stderr=none", "sleep", "1"]);
    cluster.until(job, "running", 4);
    cluster.hq(&["job", "cancel", "all"]).ok();
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    let stats = cluster.stats(job);
    assert!(stats["running"] == 0 && stats["waiting"] == 0, "{stats}");
}

#[test]
fn real_tasks_without_a_loss() {
    let _alone = alone();
    let tasks = number_from_env("HQ_E2E_TASKS", 5_000);
    let mut cluster = Cluster::start_with(&["--journal", "journal"]);
    let mut workers: Vec<_> = (1..=4).map(|n| cluster.worker(&format!("w{n}"), "2")).collect();
    let array = format!("--array=0-{}", tasks - 1);
    let start = Instant::now();
    let args = [&array, "--stdout=none", "--stderr=none", "/bin/true"];
    // With some that leave a trace, so that none is only said to have run.
    let trace = ["--array=1-100", "--stdout=none", "--stderr=none", "bash", "-c", "echo x >> ran-$HQ_TASK_ID"];
    let (job, traced) = (cluster.submit(&args), cluster.submit(&trace));
    wait_long(&cluster, job, Duration::from_secs(60 + tasks / 200));
    let took = start.elapsed();
    let stats = cluster.json(&["job", "list", "--all"])[0]["task_stats"].clone();
    let expected = json!({"finished": tasks, "running": 0, "waiting": 0, "failed": 0, "canceled": 0, "aborted": 0});
    assert_eq!(stats, expected);
    report(&format!("{tasks} real tasks on 4 workers: {took:?}"));

    cluster.finished(traced);
    assert!((1..=100).all(|task| cluster.read(&format!("ran-{task}")) == "x\n"));
    let listed = cluster.json(&["worker", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 4);
    assert!(workers.iter_mut().all(hq_tests::Process::is_running));

    // All of it is in the journal.
    cluster.server().kill();
    cluster.start_server(&["--journal", "journal"]);
    let later = cluster.json(&["job", "list", "--all"]);
    let known = later.as_array().unwrap().iter().find(|known| known["id"] == job);
    // Jobs that have ended may be forgotten by a restart.
    assert!(known.is_none_or(|known| known["task_stats"] == stats), "{later}");
}

#[test]
fn a_busy_cluster_that_loses_workers_loses_no_task() {
    let _alone = alone();
    let tasks = number_from_env("HQ_E2E_TASKS", 5_000).min(20_000) / 5;
    let mut cluster = Cluster::start();
    let mut workers: Vec<_> = (1..=3).map(|n| cluster.worker(&format!("w{n}"), "2")).collect();
    let array = format!("--array=1-{tasks}");
    let script = "sleep 0.005; echo $HQ_INSTANCE_ID >> runs-$HQ_TASK_ID";
    let job =
        cluster.submit(&[&array, "--crash-limit=unlimited", "--stdout=none", "--stderr=none", "bash", "-c", script]);
    for n in 0..3 {
        let finished = |stats: &Value| stats["finished"].as_u64().unwrap() > tasks * (n + 1) / 5;
        eventually("progress", || cluster.json(&["job", "list", "--all"])[0]["task_stats"].clone(), finished);
        workers.remove(0).kill();
        workers.push(cluster.worker(&format!("new-{n}"), "2"));
    }
    wait_long(&cluster, job, Duration::from_secs(120));
    let stats = cluster.stats(job);
    assert_eq!(stats["finished"], tasks, "{stats}");
    for task in 1..=tasks {
        let runs = cluster.read(&format!("runs-{task}"));
        let instances: Vec<u32> = runs.lines().map(|line| line.parse().unwrap()).collect();
        let grows = instances.windows(2).all(|pair| pair[0] < pair[1]);
        assert!(!instances.is_empty() && grows, "task {task} ran as instances {instances:?}");
    }
}

#[test]
fn thirty_two_workers_at_one_server() {
    let _alone = alone();
    let mut cluster = Cluster::start();
    let mut workers: Vec<_> = (1..=32).map(|n| cluster.spawn_worker(&format!("w{n}"), &["--cpus=1"])).collect();
    cluster.hq(&["worker", "wait", "32"]).ok();
    assert_eq!(cluster.json(&["worker", "list"]).as_array().unwrap().len(), 32);
    let job = cluster.submit(&["--array=1-32", "bash", "-c", "while ! [ -e go ]; do sleep 0.1; done"]);
    cluster.until(job, "running", 32);
    fs::write(cluster.path("go"), "").unwrap();
    let info = cluster.finished(job);
    let mut used: Vec<_> = info["tasks"].as_array().unwrap().iter().map(|task| task["worker"].as_u64()).collect();
    used.sort_unstable();
    used.dedup();
    assert_eq!((used.len(), &info["info"]["task_stats"]["finished"]), (32, &json!(32)));
    cluster.hq(&["server", "stop"]).ok();
    for worker in &mut workers {
        assert_eq!(worker.wait(), 1);
    }
}

/// Waits for a job that may take longer than commands are given.
fn wait_long(cluster: &Cluster, job: u32, bound: Duration) {
    let start = Instant::now();
    loop {
        let mut command = std::process::Command::new("timeout");
        let wait = cluster.command(&["job", "wait", &job.to_string()]);
        command.arg("30").arg(wait.get_program()).args(wait.get_args()).current_dir(cluster.dir());
        if finish(&mut command).code == 0 {
            return;
        }
        assert!(start.elapsed() < bound, "job {job} does not end: {}", cluster.json(&["job", "list", "--all"]));
    }
}

#[expect(clippy::print_stderr, reason = "a figure for whoever runs the test with --nocapture")]
fn report(text: &str) {
    eprintln!("{text}");
}

fn resident_kib(cluster: &mut Cluster) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", cluster.server().pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Tests that load the machine run one after another.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
