//! What is shown of jobs and tasks: `hq task info|explain`, `hq job status|why|progress`.

use hq_tests::{Cluster, Table, finish};
use serde_json::json;

const LABELS: &str = "Task ID,State,Command,Environment,Worker,Start,End,Makespan,Workdir,Stdout,Stderr,Time limit,\
                      Resources,Priority,Pin,Task dir,Crash limit,Dependencies,Error";

#[test]
fn info_of_tasks() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "1");
    let job =
        cluster.submit(&["--array=1-3", "--env=A=1", "--task-dir", "--crash-limit=7", "bash", "-c", "sleep 1; exit 3"]);
    cluster.until(job, "failed", 1);
    let output = cluster.hq(&["task", "info", "last", "1,3,4"]);
    assert!(output.stderr.contains("WARN Task 4 not found"), "{output:?}");
    let tables = Table::all(output.ok());
    assert_eq!((tables.len(), output.stdout.contains("\n\n")), (2, false));
    let (failed, waiting) = (&tables[0], &tables[1]);
    assert_eq!(failed.labels().join(","), LABELS);
    let dir = cluster.dir().to_str().unwrap();
    for (label, value) in [
        ("Task ID", "1"),
        ("State", "FAILED"),
        ("Command", "bash\n-c\nsleep 1; exit 3"),
        ("Environment", "A=1"),
        ("Worker", "w"),
        ("Workdir", dir),
        ("Stdout", &format!("{dir}/job-1/1.stdout")),
        ("Stderr", &format!("{dir}/job-1/1.stderr")),
        ("Time limit", "None"),
        ("Resources", "cpus: 1 compact"),
        ("Pin", "none"),
        ("Task dir", "yes"),
        ("Crash limit", "7"),
        ("Dependencies", ""),
        ("Error", "Program terminated with exit code 3."),
    ] {
        assert_eq!(failed.get(label), value, "{label}");
    }
    let seconds = |label: &str| failed.get(label).rsplit(':').next().unwrap().parse::<u32>().unwrap();
    assert_eq!((60 + seconds("End") - seconds("Start")) % 60, 1, "{failed:?}");
    assert!(failed.get("Makespan").starts_with("1s "), "{failed:?}");
    for label in ["Worker", "Start", "End", "Makespan", "Workdir", "Stdout", "Stderr", "Error"] {
        assert_eq!(waiting.get(label), "", "{label}");
    }
    let json = cluster.json(&["task", "info", "1", "1,3"]);
    assert_eq!(json[1], json!({ "id": 3, "state": "waiting" }));
    assert_eq!((&json[0]["state"], &json[0]["worker"]), (&json!("failed"), &json!(1)));
    assert_eq!(cluster.json(&["task", "info", "1", "9"]), json!([]));
    assert_eq!(cluster.json(&["task", "info", "9", "0"]), json!([]));
    let missing = cluster.hq(&["task", "info", "9", "0"]);
    assert!(missing.log().contains("ERROR Cannot find job 9") && missing.stdout.is_empty(), "{missing:?}");
    cluster.hq(&["task", "info", "1-2", "0"]).fails(2);
    assert_eq!(cluster.hq(&["--output-mode=quiet", "task", "info", "1", "1"]).ok(), "");
}

#[test]
fn explanations() {
    let mut cluster = Cluster::start();
    let big = cluster.submit(&["--cpus=10", "--time-request=1h", "true"]);
    let nobody = cluster.hq(&["task", "explain", "last", "0"]);
    let expected = "Task 1@0 is ready to run because it has no dependencies.\n\
                    There is no worker where the task can run.\n";
    assert_eq!((nobody.ok(), nobody.log()), (expected, ""));
    let _worker = cluster.worker_with("w", &["--cpus=5", "--time-limit=300s"]);
    let shown = cluster.hq(&["task", "explain", &big.to_string(), "0"]);
    let table = Table::one(shown.ok());
    assert_eq!(table.header.join(","), "Worker Id,Runnable,Variant,Type,Provides,Request");
    let [row] = &table.rows[..] else { panic!("{table:?}") };
    assert_eq!((&row[1][..], &row[2][..], &row[3][..], &row[5][..]), ("No", "0", "time\ncpus", "1h\n10"));
    assert!(row[4].starts_with("4m 5") && row[4].ends_with("s\n5"), "{row:?}");
    let json = cluster.json(&["task", "explain", "1", "0"]);
    let items = &json["explanation"]["workers"][0]["variants"][0];
    assert_eq!(items[0]["Time"]["min_time"], json!({ "secs": 3600, "nanos": 0 }));
    assert_eq!(
        items[1],
        json!({ "Resources": { "resource": "cpus", "request_amount": 100_000, "worker_amount": 50_000 } })
    );
    assert_eq!(json["task_id"], json!({ "job_id": 1, "job_task_id": 0 }));

    let done = cluster.submit(&["true"]);
    cluster.finished(done);
    let ended = cluster.hq(&["task", "explain", &done.to_string(), "0"]).fails(1);
    assert_eq!(ended, "Error: Explain command works only for tasks in WAITING or RUNNING state\n");
    assert_eq!(cluster.hq(&["task", "explain", "9", "0"]).fails(1), "Error: Job not found\n");
    assert_eq!(cluster.hq(&["task", "explain", "1", "9"]).fails(1), "Error: Task 9 not found\n");
}

#[test]
fn why_a_job_waits() {
    let mut cluster = Cluster::start();
    cluster.submit(&["--array=0-9", "--cpus=4", "sleep", "3600"]);
    let why = cluster.hq(&["job", "why", "last"]);
    assert!(why.ok().starts_with("Task 1@0 waits for a worker: there is none."), "{why:?}");
    assert!(why.stdout.contains("10 tasks of job 1 wait"), "{why:?}");
    let _worker = cluster.worker("w", "2");
    let why = cluster.hq(&["job", "why", "1"]);
    assert!(why.ok().contains("  worker 1: has 2 of cpus, 4 wanted\n"), "{why:?}");
    let job = cluster.submit(&["sleep", "3600"]);
    cluster.until(job, "running", 1);
    assert_eq!(cluster.hq(&["job", "why", "2"]).ok(), "No task of job 2 waits.\n");
    assert!(cluster.hq(&["job", "why", "7"]).log().contains("ERROR Job 7 not found"));
    let json = cluster.json(&["job", "why", "1,2"]);
    assert_eq!(
        (json[0]["task_id"]["job_task_id"].as_u64(), json[1]["why"].as_array().map(Vec::len)),
        (Some(0), Some(0))
    );
    // The table of a job stays what scripts expect.
    assert_eq!(Table::all(cluster.hq(&["job", "info", "1"]).ok()).len(), 1);
}

#[test]
fn status_in_a_word() {
    let mut cluster = Cluster::start();
    let waiting = cluster.submit(&["true"]).to_string();
    let word = |job: &str| cluster.hq(&["job", "status", "--snakemake", job]);
    assert_eq!(word(&waiting).ok(), "running\n");
    assert_eq!(cluster.hq(&["job", "status", "last"]).ok(), "WAITING\n");
    assert_eq!(cluster.json(&["job", "status", "1"]), json!({ "id": 1, "state": "waiting" }));
    assert_eq!(word("9").ok(), "failed\n");
    cluster.hq(&["job", "status", "9"]).fails(1);
    let _worker = cluster.worker("w", "1");
    cluster.finished(1);
    let failed = cluster.submit(&["false"]);
    cluster.finished(failed);
    let word = |job: &str| cluster.hq(&["job", "status", "--snakemake", job]);
    assert_eq!((word("1").ok(), word("2").ok()), ("success\n", "failed\n"));
}

#[test]
fn progress_without_a_terminal_is_one_plain_line() {
    let mut cluster = Cluster::start();
    let none = cluster.hq(&["job", "progress", "all"]);
    assert!(none.log().contains("WARN There are no jobs to wait for") && none.stdout.is_empty(), "{none:?}");
    let _worker = cluster.worker("w", "1");
    cluster.submit(&["--array=1-3", "true"]);
    let bar = "#".repeat(40);
    assert_eq!(cluster.hq(&["job", "progress", "last"]).ok(), format!("[{bar}] 1/1 jobs, 3/3 tasks\n"));
    assert_eq!(cluster.json(&["job", "progress", "last"]), json!({}));
    assert_eq!(cluster.hq(&["--output-mode=quiet", "job", "progress", "last"]).ok(), "");
}

#[test]
fn jobs_are_cancelled_word_by_word() {
    let cluster = Cluster::start();
    (0..3).for_each(|_| _ = cluster.submit(&["true"]));
    let output = cluster.hq(&["job", "cancel", "1", "3", "3"]);
    let lines: Vec<_> = output.log().lines().map(|line| line.split_once(' ').unwrap().1).collect();
    let line = |job| format!("INFO Job {job} canceled (1 tasks canceled, 0 tasks already finished)");
    assert_eq!(lines, [line(1), line(3)]);
    cluster.hq(&["job", "cancel", "all", "1"]).fails(1);
}

#[test]
fn words_of_tasks_reach_who_waits() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "4");
    let script = "for i in 1 2 3; do \"$HQ\" task notify \"word $i of $HQ_TASK_ID\" || exit 9; done";
    let log = r#"echo "$HQ_JOB_ID $HQ_TASK_ID $HQ_WORKER_ID $0" >> log"#;
    let notify = format!("--on-notify=bash -c '{log}'");
    let output = cluster.hq(&["submit", "--wait", &notify, "--array=1-4", "bash", "-c", script]);
    assert_eq!(output.ok(), "Job submitted successfully, job ID: 1\n");
    let mut lines: Vec<_> = cluster.read("log").lines().map(str::to_owned).collect();
    assert!(lines.iter().filter(|line| line.starts_with("1 2 ")).is_sorted(), "in order: {lines:?}");
    lines.sort();
    let expected: Vec<_> =
        (1..=4).flat_map(|task| (1..=3).map(move |i| format!("1 {task} 1 word {i} of {task}"))).collect();
    assert_eq!(lines, expected, "all of them, before the command returned");
    assert_eq!(cluster.stats(1)["finished"], 4);
}

#[test]
fn who_is_told_nothing_says_so() {
    let mut cluster = Cluster::start();
    let outside = cluster.hq(&["task", "notify", "hello"]).fails(1);
    assert!(outside.contains("works only inside of a task: the variable HQ_ACCESS_KEY is not set"), "{outside}");
    let wrong = finish(cluster.command(&["task", "notify", "hello"]).env("HQ_ACCESS_KEY", "no key")).fails(1);
    assert!(wrong.contains("expected SOCKET:TOKEN"), "{wrong}");
    cluster.hq(&["submit", "--on-notify=true", "true"]).fails(1);
    cluster.hq(&["submit", "--wait", "--on-notify='", "true"]).fails(2);

    let _worker = cluster.worker("w", "1");
    // The key is good as long as its task runs, and only for so many bytes.
    let script = "echo $HQ_ACCESS_KEY > key; stat -c %a ${HQ_ACCESS_KEY%:*} > mode; \
                  $HQ task notify $(printf %01024d 0) && ! $HQ task notify $(printf %01025d 0)";
    let failing = "--on-notify=bash -c 'exit 3'";
    let output = cluster.hq(&["submit", "--wait", failing, "bash", "-c", script]);
    assert!(output.log().contains("WARN The program of --on-notify failed for task 0: exit status: 3"), "{output:?}");
    assert_eq!((cluster.stats(1)["finished"].as_u64(), cluster.read("mode").trim()), (Some(1), "600"));
    let late =
        finish(cluster.command(&["task", "notify", "x"]).env("HQ_ACCESS_KEY", cluster.read("key").trim())).fails(1);
    assert!(late.contains("it has ended"), "{late}");
}

#[test]
fn what_a_submit_prints_is_what_a_status_takes() {
    let cluster = Cluster::start();
    let sentence = cluster.hq(&["submit", "true"]).ok().to_owned();
    assert_eq!(cluster.hq(&["job", "status", "--snakemake", &sentence]).ok(), "running\n");
    // By that name the program submits, and says the id alone.
    let helper = cluster.path("hq-smk-submit");
    std::os::unix::fs::symlink(hq_tests::hq_binary(), &helper).unwrap();
    let mut command = std::process::Command::new(&helper);
    command.args(["--cpus", "1", "true"]).env("HQ_SERVER_DIR", cluster.server_dir()).current_dir(cluster.dir());
    let output = finish(&mut command);
    assert_eq!((output.ok(), output.stderr.as_str()), ("2\n", ""));
    assert_eq!(cluster.hq(&["job", "status", "--snakemake", "2"]).ok(), "running\n");
}

#[test]
fn an_open_job_is_not_over_and_a_graph_has_a_directory() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "1");
    cluster.hq(&["job", "open"]).ok();
    cluster.hq(&["submit", "--job=1", "true"]).ok();
    cluster.until(1, "finished", 1);
    assert_eq!(cluster.json(&["job", "info", "1"])[0]["finished_at"], serde_json::Value::Null);
    cluster.hq(&["job", "close", "1"]).ok();
    assert!(cluster.json(&["job", "info", "1"])[0]["finished_at"].is_string());
    std::fs::write(cluster.path("job.toml"), "[[task]]\ncommand = [\"true\"]\n[[task]]\ncommand = [\"true\"]\n")
        .unwrap();
    cluster.hq(&["job", "submit-file", "job.toml"]).ok();
    let info = cluster.hq(&["job", "info", "2"]).table();
    assert_eq!(info.get("Submission directory"), cluster.dir().to_str().unwrap());
}
