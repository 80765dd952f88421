//! Workers that outlive their server and come back to the one that follows it.

use std::fs;

use hq_tests::{Cluster, Process, Signal, eventually};

const JOURNAL: [&str; 2] = ["--journal", "journal"];
const RECONNECT: [&str; 3] = ["--on-server-lost=reconnect", "--heartbeat=2s", "--cpus"];

/// Says which run of it this is, and ends when it may.
const SCRIPT: &str = "echo $HQ_INSTANCE_ID >> ran-$HQ_TASK_ID; until [ -e go-$HQ_TASK_ID ]; do sleep 0.05; done; \
                      echo $HQ_INSTANCE_ID >> ended-$HQ_TASK_ID";

fn worker(cluster: &mut Cluster, name: &str, cpus: &str) -> Process {
    cluster.worker_with(name, &[&RECONNECT[..], &[cpus]].concat())
}

fn let_go(cluster: &Cluster, task: u32) {
    fs::write(cluster.path(&format!("go-{task}")), "").unwrap();
}

fn until_file(cluster: &Cluster, name: &str) {
    eventually(name, || cluster.read(name), |text| !text.is_empty());
}

#[test]
fn running_tasks_are_adopted_and_none_runs_twice() {
    let mut cluster = Cluster::start_with(&JOURNAL);
    let mut worker = worker(&mut cluster, "w1", "3");
    let job = cluster.submit(&["--array=1-4", "bash", "-c", SCRIPT]);
    cluster.until(job, "running", 3);
    (1..=3).for_each(|task| until_file(&cluster, &format!("ran-{task}")));
    cluster.server().kill();
    // One ends while nobody is there.
    let_go(&cluster, 1);
    until_file(&cluster, "ended-1");
    cluster.start_server(&JOURNAL);
    cluster.until(job, "finished", 1);
    until_file(&cluster, "ran-4");
    // Once more, and by a signal: the server ends as if it died.
    cluster.server().signal(Signal::TERM);
    assert_eq!(cluster.server().wait(), 0);
    cluster.start_server(&JOURNAL);
    cluster.until(job, "running", 3);
    assert_eq!(cluster.worker_state(1), "RUNNING", "it is the same worker");
    (2..=4).for_each(|task| let_go(&cluster, task));
    cluster.until(job, "finished", 4);
    let ran: Vec<String> = (1..=4).map(|task| cluster.read(&format!("ran-{task}"))).collect();
    assert_eq!(ran, ["0\n"; 4]);
    assert!(worker.is_running());
    // On purpose it ends with its server.
    cluster.hq(&["server", "stop"]).ok();
    assert_eq!(worker.wait(), 1);
}

#[test]
fn a_worker_without_a_server_ends_after_its_time() {
    let mut cluster = Cluster::start();
    let args = ["--on-server-lost=reconnect", "--reconnect-timeout=500ms", "--cpus=1"];
    let mut worker = cluster.worker_with("w1", &args);
    let job = cluster.submit(&["bash", "-c", "echo $$ > pid; sleep 3600"]);
    cluster.until(job, "running", 1);
    until_file(&cluster, "pid");
    cluster.server().kill();
    assert_eq!(worker.wait(), 1);
    let pid = cluster.read("pid").trim().to_owned();
    eventually("the task is gone", || fs::exists(format!("/proc/{pid}")).unwrap(), |there| !there);
}

#[test]
fn a_worker_that_is_unknown_begins_anew() {
    // Without a journal, and by the number that a new server gives.
    let mut cluster = Cluster::start();
    let worker = worker(&mut cluster, "w1", "1");
    let job = cluster.submit(&["sleep", "3600"]);
    cluster.until(job, "running", 1);
    cluster.server().kill();
    cluster.start_server(&[]);
    eventually("it is there", || cluster.json(&["worker", "list"])[0]["id"].clone(), |id| *id == 1);
    cluster.finished(cluster.submit(&["true"]));
    drop(worker);
}

#[test]
fn a_worker_that_stands_still_is_adopted_or_begins_anew() {
    let mut cluster = Cluster::start_with(&JOURNAL);
    let args = ["--on-server-lost=reconnect", "--heartbeat=200ms", "--cpus=1"];
    let worker = cluster.worker_with("w1", &args);
    let job = cluster.submit(&["bash", "-c", SCRIPT.replace("$HQ_TASK_ID", "0").as_str()]);
    until_file(&cluster, "ran-0");
    worker.signal(Signal::STOP);
    cluster.until_worker(1, "HEARTBEAT LOST");
    worker.signal(Signal::CONT);
    // Its run was given away; it comes as a new worker and runs it again.
    eventually("a new worker", || cluster.json(&["worker", "list"])[0]["id"].clone(), |id| *id == 2);
    let_go(&cluster, 0);
    cluster.until(job, "finished", 1);
    eventually("it is run again", || cluster.read("ran-0"), |ran| ran == "0\n1\n");
    assert_eq!(cluster.read("ended-0").lines().last(), Some("1"));
}

#[test]
fn clients_that_wait_outlive_the_server_if_they_are_told_to() {
    let mut cluster = Cluster::start_with(&JOURNAL);
    let _worker = worker(&mut cluster, "w1", "3");
    let script = SCRIPT.replace("$HQ_TASK_ID", "$HQ_JOB_ID");
    let submit = |cluster: &mut Cluster, job: u32, options: &[&str]| {
        let args = [&["submit", "--wait"], options, &["bash", "-c", &script]].concat();
        let client = cluster.background(&args);
        eventually("it waits", || client.printed(), |text| text.contains("Waiting for job"));
        until_file(cluster, &format!("ran-{job}"));
        client
    };
    let mut patient = submit(&mut cluster, 1, &["--fail-exit-code=7", "--reconnect-timeout=60s"]);
    let mut hasty = submit(&mut cluster, 2, &["--reconnect-timeout=100ms"]);
    let mut plain = submit(&mut cluster, 3, &[]);
    let mut stream = cluster.background(&["journal", "stream", "--reconnect-timeout=60s"]);
    eventually("starts are told", || stream.printed(), |text| text.matches("task-started").count() == 3);
    cluster.server().kill();
    assert_eq!(plain.wait(), 0, "as ever");
    assert_eq!(hasty.wait(), 1);
    assert!(hasty.printed().contains("did not come back within 100ms"), "{}", hasty.printed());
    cluster.start_server(&JOURNAL);
    assert!(patient.is_running());
    cluster.submit(&["--array=1-3", "sleep", "0"]);
    (1..=3).for_each(|job| let_go(&cluster, job));
    assert_eq!(patient.wait(), 0, "{}", patient.printed());
    eventually("ends are told", || stream.printed(), |text| text.matches("job-completed").count() == 4);
    // A stop is not told from a death: it is waited for, and another server is no substitute.
    cluster.hq(&["server", "stop"]).ok();
    assert_eq!(cluster.server().wait(), 0);
    cluster.start_server(&[]);
    assert_eq!(stream.wait(), 1);
    let printed = stream.printed();
    assert!(printed.contains("is another one now"), "{printed}");
    // Nothing is missing and nothing doubled in what the stream told.
    let events = |kind: &str| printed.matches(&format!("\"type\":\"{kind}\"")).count();
    let told = ["server-start", "job-created", "task-started", "task-finished", "job-completed"].map(events);
    assert_eq!(told, [2, 4, 6, 6, 4], "{printed}");
}

/// Says something, and something more when it may.
const TALE: &str = "echo one; for n in 1 2 3; do until [ -e go-$n ]; do sleep 0.05; done; echo said-$n; done";

#[test]
fn outputs_are_followed_over_a_restart() {
    let mut cluster = Cluster::start_with(&JOURNAL);
    let _worker = worker(&mut cluster, "w1", "4");
    let kept = cluster.submit(&["--stream=log", "bash", "-c", TALE]);
    let files = cluster.submit(&["bash", "-c", TALE]);
    let follow = |cluster: &mut Cluster, job: u32, options: &[&str]| {
        cluster.background(&[&["job", "cat", &job.to_string(), "stdout", "--follow"], options].concat())
    };
    let mut patient = [kept, files].map(|job| follow(&mut cluster, job, &["--reconnect-timeout=60s"]));
    let mut plain = follow(&mut cluster, kept, &[]);
    let live = ["submit", "--wait", "--output", "--reconnect-timeout=60s", "bash", "-c", TALE];
    let mut live = cluster.background(&live);
    for client in patient.iter().chain([&plain, &live]) {
        eventually("it is heard", || client.printed(), |text| text.contains("one\n"));
    }
    cluster.server().kill();
    assert_eq!(plain.wait(), 0, "as ever");
    // Said while nobody is there.
    let_go(&cluster, 1);
    until_file(&cluster, "job-2/0.stdout");
    eventually("it is said", || cluster.read("job-2/0.stdout"), |text| text.contains("said-1"));
    cluster.start_server(&JOURNAL);
    for client in patient.iter().chain([&live]) {
        eventually("it is back", || client.printed(), |text| text.contains("waiting for it up to 1m"));
    }
    eventually("it listens again", || live.printed(), |text| text.contains("The server is back"));
    // What is in files is shown, said when it may.
    for client in &patient {
        eventually("the gap is filled", || client.printed(), |text| text.contains("said-1\n"));
    }
    (2..=3).for_each(|n| let_go(&cluster, n));
    for client in &mut patient {
        assert_eq!(client.wait(), 0);
        let printed = client.printed();
        let lines: Vec<&str> = printed.lines().filter(|line| !line.contains(" WARN ")).collect();
        assert_eq!(lines, ["one", "said-1", "said-2", "said-3"], "{printed}");
    }
    assert_eq!(live.wait(), 0);
    let printed = live.printed();
    let said: Vec<&str> = printed.lines().filter(|line| !line.contains(" WARN ") && !line.contains("Job ")).collect();
    assert_eq!(said, ["one", "said-2", "said-3"], "{printed}");
    assert!(printed.contains("Task 0: 7 bytes of its stdout came too fast to be shown, or while"), "{printed}");
    cluster.hq(&["job", "cat", "1", "stdout", "--reconnect-timeout=1s"]).fails(1);
}

#[test]
fn messages_are_heard_after_a_restart() {
    let mut cluster = Cluster::start_with(&JOURNAL);
    let _worker = worker(&mut cluster, "w1", "2");
    let script = "$HQ task notify early; until [ -e go-1 ]; do sleep 0.05; done; $HQ task notify late";
    let args = ["submit", "--wait", "--reconnect-timeout=60s", "--on-notify=bash -c 'echo $0 >> heard'"];
    let mut client = cluster.background(&[&args[..], &["bash", "-c", script]].concat());
    until_file(&cluster, "heard");
    cluster.server().kill();
    cluster.start_server(&JOURNAL);
    eventually("it is back", || client.printed(), |text| text.contains("messages that tasks sent meanwhile are lost"));
    cluster.until(1, "running", 1);
    let_go(&cluster, 1);
    assert_eq!(client.wait(), 0, "{}", client.printed());
    assert_eq!(cluster.read("heard"), "early\nlate\n");
    let printed = client.printed();
    assert_eq!(printed.matches("The connection to the server was lost").count(), 1, "{printed}");
}

#[test]
fn an_open_job_whose_client_died_with_the_server_is_cancelled() {
    let mut cluster = Cluster::start_with(&JOURNAL);
    let mut run = cluster.background(&["run", "--retries=2", "sleep", "{}", ":::", "3600", "3601"]);
    cluster.until(1, "waiting", 2);
    eventually("bound", || cluster.json(&["job", "info", "1"])[0]["info"]["is_open"].clone(), |open| *open == true);
    cluster.server().kill();
    assert_eq!(run.wait(), 1);
    assert!(run.printed().contains("it cancels job 1 after its --adopt-timeout"), "{}", run.printed());
    cluster.start_server(&[&JOURNAL[..], &["--adopt-timeout=1s"]].concat());
    let info = eventually(
        "it is closed",
        || cluster.json(&["job", "info", "1"])[0]["info"].clone(),
        |info| info["is_open"] == false,
    );
    assert_eq!(info["task_stats"]["canceled"], 2, "{info}");
    assert_eq!(info["cancel_reason"], "who submitted it is gone", "{info}");
}

#[test]
fn a_run_goes_on_with_the_server_that_comes_back() {
    let mut cluster = Cluster::start_with(&JOURNAL);
    let _worker = worker(&mut cluster, "w1", "2");
    let command = "touch ran-{}; until [ -e go-{} ]; do sleep 0.05; done; echo said-{}; [ {} != 2 ]";
    let args = ["run", "-k", "--reconnect-timeout=60s", "--fail-exit-code=7", "--joblog=log", command, ":::"];
    let mut run = cluster.background(&[&args[..], &["1", "2", "3"]].concat());
    cluster.until(1, "running", 2);
    cluster.server().kill();
    eventually("it waits", || run.printed(), |text| text.contains("waiting for it up to 1m"));
    // One ends while nobody is there; it is heard of once the server is back, and nobody has cancelled the others.
    let_go(&cluster, 1);
    cluster.start_server(&[&JOURNAL[..], &["--adopt-timeout=2s"]].concat());
    eventually("the end is heard of", || run.printed(), |text| text.contains("said-1\n"));
    (2..=3).for_each(|task| let_go(&cluster, task));
    assert_eq!(run.wait(), 7, "{}", run.printed());
    let printed = run.printed();
    let said: Vec<&str> = printed.lines().filter(|line| !line.contains(" WARN ")).collect();
    assert_eq!(said, ["said-1", "said-2", "said-3"], "{printed}");
    assert_eq!(cluster.read("log").lines().count(), 4, "a line for each and none twice: {}", cluster.read("log"));
    let info = cluster.json(&["job", "info", "1"])[0]["info"].clone();
    assert_eq!((&info["is_open"], &info["task_stats"]["finished"]), (&false.into(), &2.into()), "{info}");
}

#[test]
fn the_timeout_belongs_to_the_policy() {
    let cluster = Cluster::start();
    let args = ["worker", "start", "--cpus=1", "--detect-resources=none", "--reconnect-timeout=5s"];
    let error = cluster.hq(&args).fails(1);
    assert!(error.contains("--on-server-lost reconnect"), "{error}");
}
