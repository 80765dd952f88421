//! `hq journal export|stream|replay|flush`: the event log.

use std::fs;

use hq_tests::{Cluster, Process, eventually};
use serde_json::Value;

fn events(text: &str) -> Vec<Value> {
    let parsed = text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line:?}")));
    parsed.map(|mut line: Value| line["event"].take()).collect()
}

fn kinds(text: &str) -> Vec<String> {
    events(text).iter().map(|event| event["type"].as_str().expect("a type").to_owned()).collect()
}

fn printed(process: &Process, count: usize) -> String {
    eventually("lines of the stream", || process.printed(), |text| text.lines().count() >= count)
}

#[test]
fn a_stream_tells_the_past_and_goes_on() {
    let mut cluster = Cluster::new();
    let journal = cluster.path("journal").display().to_string();
    cluster.start_server(&["--journal", &journal]);
    cluster.submit(&["true"]);
    let mut stream = cluster.background(&["journal", "stream"]);
    printed(&stream, 2);
    cluster.submit(&["true"]);
    let text = printed(&stream, 3);
    cluster.hq(&["server", "stop"]).ok();
    assert_eq!(stream.wait(), 0);
    assert_eq!(
        (kinds(&text), &stream.printed()),
        (vec!["server-start".into(), "job-created".into(), "job-created".into()], &text)
    );
    let export = cluster.hq(&["journal", "export", &journal]);
    assert_eq!(kinds(export.ok()), ["server-start", "job-created", "job-created", "server-stop"]);
    assert!(export.stderr.contains("INFO 4 events"), "{export:?}");
}

#[test]
fn the_life_of_jobs_out_of_a_journal_and_out_of_memory() {
    for journal in [true, false] {
        let mut cluster = Cluster::new();
        let path = cluster.path("journal").display().to_string();
        let args: &[&str] = if journal { &["--journal", &path] } else { &[] };
        cluster.start_server(args);
        let _worker = cluster.worker("w", "1");
        let array = cluster.submit(&["--array=1-3", "--name=a", "bash", "-c", "exit $((HQ_TASK_ID == 2))"]);
        cluster.finished(array);
        cluster.submit(&["sleep", "3600"]);
        cluster.until(2, "running", 1);
        cluster.hq(&["job", "cancel", "2", "--reason=no need"]).ok();
        let replay = cluster.hq(&["journal", "replay"]);
        let told = events(replay.ok());
        assert_eq!(replay.stderr, "");
        let of = |kind: &str| told.iter().filter(|event| event["type"] == kind).cloned().collect::<Vec<_>>();
        assert_eq!(told[0]["type"], "server-start");
        let created = &of("job-created")[0];
        assert_eq!((created["closed_job"].as_bool(), created["job_desc"]["name"].as_str()), (Some(true), Some("a")));
        assert_eq!(created["submit_desc"]["task_desc"]["ids"]["ranges"][0]["count"], 3);
        assert_eq!(created["submit_desc"]["submit_dir"].as_str(), cluster.dir().to_str());
        assert_eq!((of("task-started").len(), of("task-finished").len(), of("task-failed").len()), (4, 2, 1));
        for start in of("task-started") {
            let keys: Vec<_> = start.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(keys, ["instance", "job", "task", "type", "worker"]);
        }
        let failed = &of("task-failed")[0];
        assert_eq!(
            (&failed["task"], failed["error"].as_str()),
            (&2.into(), Some("Program terminated with exit code 1."))
        );
        assert_eq!(of("task-canceled")[0]["tasks"][0]["job_id"], 2);
        assert_eq!(of("job-cancel")[0]["reason"], "no need");
        let times: Vec<_> =
            replay.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["time"].clone()).collect();
        let times: Vec<jiff_text::Key> = times.iter().map(|time| jiff_text::key(time.as_str().unwrap())).collect();
        assert!(times.is_sorted(), "{}", replay.stdout);
        for event in &told {
            let kind = event["type"].as_str().unwrap();
            assert!(!kind.contains("job") || event.get("job").or(event.get("job_id")).is_some(), "{event}");
            assert!(!kind.contains("worker") || event.get("id").is_some(), "{event}");
        }
        if journal {
            let text = cluster.hq(&["journal", "export", &path]).ok().to_owned();
            assert_eq!(kinds(&text).len(), told.len(), "the file says the same while the server works on it");
        }
    }
}

/// Times as texts differ in the number of their digits.
mod jiff_text {
    pub(super) type Key = (String, String);

    pub(super) fn key(time: &str) -> Key {
        let (second, rest) = time.trim_end_matches('Z').split_once('.').unwrap_or((time.trim_end_matches('Z'), ""));
        (second.to_owned(), format!("{rest:0<9}"))
    }
}

#[test]
fn a_journal_goes_on_over_restarts_and_loses_only_its_torn_end() {
    let mut cluster = Cluster::new();
    let path = cluster.path("journal").display().to_string();
    cluster.start_server(&["--journal", &path]);
    cluster.submit(&["true"]);
    cluster.hq(&["server", "stop"]).ok();
    cluster.server().wait();
    cluster.start_server(&["--journal", &path]);
    cluster.submit(&["true"]);
    let replay = cluster.hq(&["journal", "replay"]);
    assert_eq!(kinds(replay.ok()), ["server-start", "job-created", "server-start", "job-created"]);
    cluster.hq(&["journal", "flush"]).ok();
    cluster.server().kill();
    let whole = fs::read(&path).unwrap();
    fs::write(cluster.path("cut"), &whole[..whole.len() - 1]).unwrap();
    let cut = cluster.hq(&["journal", "export", "cut"]);
    assert_eq!(kinds(cut.ok())[..3], ["server-start", "job-created", "server-stop"]);
    let mut hole = whole;
    hole[200..240].fill(0);
    fs::write(cluster.path("hole"), hole).unwrap();
    let hole = cluster.hq(&["journal", "export", "hole"]).fails(1);
    assert!(hole.contains("is damaged at byte"), "{hole}");
    fs::write(cluster.path("text"), "hello, this is no journal").unwrap();
    assert!(cluster.hq(&["journal", "export", "text"]).fails(1).contains("is not a journal"));
    assert!(cluster.hq(&["journal", "export", "none"]).fails(1).contains("No such file"));
    fs::write(cluster.path("empty"), "").unwrap();
    assert_eq!(cluster.hq(&["journal", "export", "empty"]).ok(), "");
}

#[test]
fn words_of_tasks_are_in_the_stream_and_not_in_the_journal() {
    let mut cluster = Cluster::new();
    let path = cluster.path("journal").display().to_string();
    cluster.start_server(&["--journal", &path]);
    let _worker = cluster.worker("w", "1");
    let stream = cluster.background(&["journal", "stream"]);
    printed(&stream, 2);
    let job = cluster.submit(&["bash", "-c", "$HQ task notify hello"]);
    cluster.finished(job);
    let told = events(&printed(&stream, 7));
    let word = told.iter().find(|event| event["type"] == "notify").expect("a word");
    assert_eq!(
        (&word["message"], &word["worker_id"], &word["task_id"]["job_id"]),
        (&"hello".into(), &1.into(), &1.into())
    );
    assert!(!cluster.hq(&["journal", "export", &path]).ok().contains("hello"));
}

#[test]
fn a_report_is_one_page() {
    let mut cluster = Cluster::new();
    let path = cluster.path("journal").display().to_string();
    cluster.start_server(&["--journal", &path]);
    let _worker = cluster.worker("w", "2");
    let job = cluster.submit(&["--array=1-4", "--name=<b>bold", "bash", "-c", "exit $((HQ_TASK_ID == 2))"]);
    cluster.finished(job);
    cluster.hq(&["journal", "report", &path, "report.html"]).ok();
    let page = cluster.read("report.html");
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    assert!(
        page.contains("&lt;b&gt;bold") && page.contains("3 finished, 1 failed") && !page.contains("src="),
        "{page}"
    );
    cluster.hq(&["journal", "report", &path, "report.html", "--start-time", "0s", "--end-time", "1h"]).ok();
    assert!(cluster.hq(&["journal", "report", &path, "r", "--start-time", "9h"]).fails(1).contains("nothing is left"));
    assert!(cluster.hq(&["journal", "report", "none", "r"]).fails(1).contains("No such file"));
}

#[test]
fn a_past_that_the_feed_has_lost_is_told_by_what_is_there() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "1");
    // Events that are large enough to drive out the first ones.
    let env = format!("--env=A={}", "x".repeat(120_000));
    const JOBS: usize = 200;
    (0..JOBS).for_each(|_| _ = cluster.submit(&[&env, "true"]));
    cluster.hq(&["job", "wait", "all"]).ok();
    let told = events(cluster.hq(&["journal", "replay"]).ok());
    let count = |kind: &str| told.iter().filter(|event| event["type"] == kind).count();
    assert_eq!(told[0]["type"], "server-start");
    let counts = ["server-start", "worker-connected", "job-created", "task-started", "task-finished", "job-completed"]
        .map(count);
    assert_eq!(counts, [1, 1, JOBS, JOBS, JOBS, JOBS]);
}
