//! Timing that callers rely on. One test at a time, and bounds that leave room for a busy machine.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use hq_tests::{ANSWER, Cluster, eventually};
use serde_json::json;

/// What a busy machine may add.
const SLACK: Duration = Duration::from_millis(700);

#[test]
fn waves_of_one_second() {
    let _alone = alone();
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "4");
    let start = Instant::now();
    let job = cluster.submit(&["--array=10-19", "sleep", "1"]);
    // The first wave has ended by then, the second not.
    thread::sleep(Duration::from_millis(1600).saturating_sub(start.elapsed()));
    let stats = cluster.stats(job);
    let seen = start.elapsed();
    if seen < Duration::from_millis(1900) {
        let expected = json!({"finished": 4, "running": 4, "waiting": 2, "failed": 0, "canceled": 0, "aborted": 0});
        assert_eq!(stats, expected);
    }
    let info = cluster.finished(job);
    assert!(start.elapsed() >= Duration::from_secs(3) && start.elapsed() < Duration::from_secs(3) + 3 * SLACK);
    assert_eq!(info["info"]["task_stats"]["finished"], 10);
    let makespan = cluster.hq(&["task", "list", "1"]).table();
    assert!(makespan.column("Makespan").iter().all(|text| text.starts_with("1s ")), "{makespan:?}");
}

#[test]
fn a_time_limit_is_kept() {
    let _alone = alone();
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "1");
    let job = cluster.submit(&["--time-limit=500ms", "sleep", "2"]);
    let info = cluster.finished(job);
    assert_eq!(info["info"]["task_stats"]["failed"], 1);
    let makespan =
        cluster.hq(&["job", "info", "last"]).ok().lines().find(|line| line.contains("Makespan")).map(str::to_owned);
    let makespan = makespan.unwrap().split('|').nth(2).unwrap().trim().to_owned();
    // 5xx ms on a machine that has nothing else to do.
    let millis: u64 = makespan.strip_suffix("ms").unwrap_or_else(|| panic!("{makespan}")).parse().unwrap();
    assert!((500..900).contains(&millis), "{makespan}");
}

#[test]
fn parts_of_resources_run_together() {
    let _alone = alone();
    for (def, request, tasks) in
        [("x=sum(2)", "x=0.5", 4), ("x=[a,b]", "x=0.4", 4), ("x=[0,1,2,3,4,5,6,7,8,9]", "x=2.5", 4)]
    {
        let mut cluster = Cluster::start();
        let _worker = cluster.worker_with("w", &["--cpus=8", "--resource", def]);
        let job = cluster.submit(&["--array=1-4", "--resource", request, "sleep", "3600"]);
        cluster.until(job, "running", tasks);
        let starts = starts(&cluster, job);
        assert!(starts[3] - starts[0] < 0.15 + SLACK.as_secs_f64(), "{def}: {starts:?}");
    }
    // Three fit, the fourth waits for the end of the first.
    let mut cluster = Cluster::start();
    let _worker = cluster.worker_with("w", &["--cpus=8", "--resource=x=sum(2.2)"]);
    let job = cluster.submit(&["--array=1-4", "--resource=x=0.6", "sleep", "1"]);
    cluster.finished(job);
    let starts = starts(&cluster, job);
    let gap = starts[3] - starts[0];
    assert!((0.99..1.25 + SLACK.as_secs_f64()).contains(&gap) && starts[2] - starts[0] < 0.9, "{starts:?}");
}

#[test]
fn two_workers_share_short_tasks() {
    let _alone = alone();
    let mut cluster = Cluster::start();
    let _workers = [cluster.worker("w1", "1"), cluster.worker("w2", "1")];
    let job = cluster.submit(&["--array=1-20", "sleep", "0.05"]);
    let info = cluster.finished(job);
    let workers = info["tasks"].as_array().unwrap().iter().map(|task| task["worker"].as_u64().unwrap());
    let first = workers.filter(|worker| *worker == 1).count();
    assert!((1..20).contains(&first), "{first} on worker 1");
}

#[test]
fn a_lost_worker_gives_its_tasks_back_at_once() {
    let _alone = alone();
    let mut cluster = Cluster::start();
    let mut worker = cluster.worker("w1", "2");
    let job = cluster.submit(&["--array=1-4", "sleep", "1"]);
    cluster.until(job, "running", 2);
    worker.kill();
    let lost = Instant::now();
    cluster.until(job, "waiting", 4);
    assert!(lost.elapsed() < Duration::from_millis(250) + SLACK, "{:?}", lost.elapsed());
    let _second = cluster.worker("w2", "2");
    let listed = Instant::now();
    cluster.finished(job);
    assert!(listed.elapsed() < Duration::from_millis(2200) + SLACK, "{:?}", listed.elapsed());
}

#[test]
fn one_more_worker_each_time_fills_the_first_two() {
    let _alone = alone();
    let mut cluster = Cluster::start();
    let mut workers = Vec::new();
    for n in 1..=8 {
        workers.push(cluster.worker(&format!("w{n}"), "4"));
        let job = cluster.submit(&["sleep", "3600"]);
        cluster.until(job, "running", 1);
    }
    let mut used: Vec<_> = (1..=8)
        .map(|job: u32| cluster.json(&["job", "info", &job.to_string()])[0]["tasks"][0]["worker"].as_u64())
        .collect();
    used.sort();
    used.dedup();
    assert_eq!(used.len(), 2, "{used:?}");
}

#[test]
fn a_gang_ends_with_its_program() {
    let _alone = alone();
    let mut cluster = Cluster::start();
    let _workers: Vec<_> = (1..=3).map(|n| cluster.worker(&format!("w{n}"), "1")).collect();
    let job = cluster.submit(&["--nodes=3", "sleep", "1"]);
    cluster.until(job, "running", 1);
    let seen = Instant::now();
    cluster.until(job, "finished", 1);
    assert!(seen.elapsed() < Duration::from_millis(1200) + SLACK, "{:?}", seen.elapsed());
}

#[test]
fn nothing_starts_that_would_outlive_its_worker() {
    let _alone = alone();
    let mut cluster = Cluster::start();
    let start = Instant::now();
    let args = ["--cpus=1", "--time-limit=6s", "--idle-timeout=1s500ms", "--heartbeat=500ms"];
    let mut worker = cluster.worker_with("w", &args);
    let job = cluster.submit(&["--array=1-20", "--time-request=5s", "sleep", "0.5"]);
    assert_eq!(worker.wait(), 0);
    assert!(start.elapsed() < Duration::from_secs(6) + SLACK, "{:?}", start.elapsed());
    let stats = cluster.stats(job);
    let finished = stats["finished"].as_u64().unwrap();
    assert!((1..=3).contains(&finished) && stats["waiting"] == 20 - finished, "{stats}");
}

#[test]
fn clients_are_quick() {
    let _alone = alone();
    let cluster = Cluster::start();
    let start = Instant::now();
    for _ in 0..100 {
        cluster.submit(&["true"]);
    }
    // Tens of milliseconds each.
    assert!(start.elapsed() < 2 * ANSWER, "{:?}", start.elapsed());
    eventually("all are listed", || cluster.json(&["job", "list"]).as_array().unwrap().len(), |&n| n == 100);
}

/// Tests with a clock run one after another.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// When the tasks of a job started, in seconds of a day, sorted.
fn starts(cluster: &Cluster, job: u32) -> Vec<f64> {
    let info = cluster.json(&["job", "info", &job.to_string()])[0].clone();
    let starts = info["tasks"].as_array().unwrap().iter().map(|task| seconds(task["started_at"].as_str().unwrap()));
    let mut starts: Vec<f64> = starts.collect();
    starts.sort_by(f64::total_cmp);
    // Past midnight.
    if starts[starts.len() - 1] - starts[0] > 43_200.0 {
        starts.iter_mut().filter(|at| **at < 43_200.0).for_each(|at| *at += 86_400.0);
        starts.sort_by(f64::total_cmp);
    }
    starts
}

fn seconds(rfc3339: &str) -> f64 {
    let time = rfc3339.split_once('T').unwrap().1.trim_end_matches('Z');
    time.split(':').fold(0.0, |sum, part| sum * 60.0 + part.parse::<f64>().unwrap())
}
