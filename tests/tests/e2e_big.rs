//! Submits of several messages: all of it, or nothing.

use std::fs;

use hq_tests::{Cluster, Process, number_from_env};

/// Lines of 60,000 bytes: more than 32 MiB go in several messages.
fn write_lines(cluster: &Cluster, count: u64) {
    let lines = (0..count).map(|n| format!("{n:060000}\n"));
    fs::write(cluster.path("lines"), lines.collect::<String>()).unwrap();
}

/// Clock ticks of a hundredth of a second that a process has used; none once it has ended.
fn ticks(process: &Process) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.pid())).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    if matches!(fields.first(), Some(&"Z" | &"X")) {
        return None;
    }
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

#[test]
fn a_client_that_dies_in_the_middle_of_a_submit_leaves_nothing_or_all() {
    let mut cluster = Cluster::start_with(&["--journal", "journal"]);
    let tasks = number_from_env("HQ_BIG_TASKS", 1_200);
    write_lines(&cluster, tasks);
    let args = ["submit", "--each-line=lines", "--stdout=none", "--stderr=none", "true"];
    let mut whole = cluster.background(&args);
    let mut used = 0;
    while let Some(now) = ticks(&whole) {
        used = now;
        std::thread::yield_now();
    }
    assert_eq!(whole.wait(), 0, "{}", whole.printed());
    assert_eq!(cluster.stats(1)["waiting"], tasks);
    cluster.hq(&["job", "cancel", "1"]).ok();
    let points = number_from_env("HQ_BIG_POINTS", 8);
    let (mut cut, mut complete) = (0, 0);
    for point in 1..=points {
        let before = cluster.json(&["job", "list", "--all"]).as_array().unwrap().len();
        let mut client = cluster.background(&args);
        // After so much of its work; the last pieces go out at the end of it.
        let limit = used / 2 + used * point / (2 * points);
        while ticks(&client).is_some_and(|now| now < limit) {
            std::thread::yield_now();
        }
        client.kill();
        client.wait();
        // What the server does with what it has got is done before it answers anybody else about jobs.
        let jobs = cluster.json(&["job", "list", "--all"]);
        let jobs = jobs.as_array().unwrap();
        if jobs.len() > before {
            complete += 1;
            let job = jobs.iter().map(|job| job["id"].as_u64().unwrap()).max().unwrap();
            assert_eq!(cluster.stats(job as u32)["waiting"], tasks, "all of it");
            cluster.hq(&["job", "cancel", &job.to_string()]).ok();
        } else {
            cut += 1;
        }
    }
    assert!(cut > 0, "none of {points} was cut short, {complete} were complete");
    // Nothing of it comes later, or out of the journal.
    let known = cluster.json(&["job", "list", "--all"]).as_array().unwrap().len() as u64;
    assert_eq!(known, 1 + complete);
    cluster.server().kill();
    cluster.start_server(&["--journal", "journal"]);
    let next = u64::from(cluster.submit(&["true"]));
    assert_eq!(next, known + 1, "no number was used up");
}

#[test]
fn arguments_go_in_several_messages() {
    let mut cluster = Cluster::start();
    // 70 MiB: more than one message holds.
    write_lines(&cluster, 120);
    let short = (0..10).map(|n| format!("{n}\n"));
    fs::write(cluster.path("short"), short.collect::<String>()).unwrap();
    let args = ["run", "--stdout=none", "--stderr=none", "true", "::::", "lines", "::::", "short"];
    let _run = cluster.background(&args);
    cluster.until(1, "waiting", 1_200);
}
