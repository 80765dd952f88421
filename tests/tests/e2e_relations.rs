//! Jobs that wait for jobs, parameter sweeps, reruns, and whose tasks are whose.

use std::fs;

use hq_tests::Cluster;
use serde_json::json;

/// What tasks of a job printed.
fn printed(cluster: &Cluster, job: u32, ids: std::ops::Range<u32>) -> Vec<String> {
    ids.map(|id| cluster.read(&format!("job-{job}/{id}.stdout")).trim_end().to_owned()).collect()
}

#[test]
fn jobs_wait_for_jobs() {
    let mut cluster = Cluster::start();
    cluster.submit(&["--array=1-3", "bash", "-c", "echo first >> log"]);
    cluster.submit(&["false"]);
    cluster.submit(&["--dependency=afterok:1", "bash", "-c", "echo after 1 >> log"]);
    cluster.submit(&["--dependency=afterok:1,2", "true"]);
    cluster.submit(&["--dependency=afterany:1:2,afternotok:2", "bash", "-c", "echo after both >> log2"]);
    cluster.submit(&["--dependency=afternotok:1", "--array=1-5", "true"]);
    assert!(cluster.hq(&["submit", "--dependency=afterok:99", "true"]).fails(1).contains("Job 99 not found"));
    assert!(cluster.hq(&["submit", "--dependency=after:1", "true"]).fails(2).contains("expected afterok:"));
    let explained = cluster.hq(&["task", "explain", "3", "0"]);
    assert!(!explained.ok().contains("is ready to run"), "{explained:?}");
    let _worker = cluster.worker("w", "4");
    cluster.hq(&["job", "wait", "all"]).ok();
    assert_eq!(cluster.read("log"), "first\nfirst\nfirst\nafter 1\n");
    assert_eq!(cluster.read("log2"), "after both\n");
    let list = cluster.hq(&["--output-mode=quiet", "job", "list", "--all"]);
    assert_eq!(list.ok(), "1 FINISHED\n2 FAILED\n3 FINISHED\n4 ABORTED\n5 FINISHED\n6 ABORTED\n");
}

#[test]
fn they_go_on_waiting_after_a_restart() {
    let mut cluster = Cluster::new();
    let journal = cluster.path("journal").to_str().unwrap().to_owned();
    cluster.start_server(&["--journal", &journal]);
    cluster.hq(&["job", "open"]).ok();
    cluster.submit(&["--dependency=afterok:1", "bash", "-c", "echo second >> log"]);
    cluster.server().kill();
    cluster.start_server(&["--journal", &journal]);
    let _worker = cluster.worker("w", "2");
    cluster.hq(&["submit", "--job=1", "bash", "-c", "echo first >> log"]).ok();
    cluster.until(1, "finished", 1);
    assert_eq!(cluster.stats(2)["waiting"], 1, "more may come");
    cluster.hq(&["job", "close", "1"]).ok();
    cluster.finished(2);
    assert_eq!(cluster.read("log"), "first\nsecond\n");
}

#[test]
fn sweeps_make_combinations() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "4");
    fs::write(cluster.path("rates"), "0.1\n0.01\n").unwrap();
    let job = cluster.submit(&[
        "--sweep=rate=@rates",
        "--sweep=seed=1..3",
        "--stdout=out/%{SWEEP_rate}-%{SWEEP_seed}",
        "--stderr=none",
        "bash",
        "-c",
        "echo \"$HQ_SWEEP_rate $HQ_SWEEP_seed $HQ_TASK_ID $1\"",
        "name",
        "--rate=%{SWEEP_rate}%{TASK_ID}",
    ]);
    let info = cluster.finished(job);
    assert_eq!(info["info"]["task_stats"]["finished"], 6, "{info}");
    assert_eq!(cluster.read("out/0.1-1"), "0.1 1 0 --rate=0.1%{TASK_ID}\n");
    assert_eq!(cluster.read("out/0.01-3"), "0.01 3 5 --rate=0.01%{TASK_ID}\n");
    assert_eq!(info["tasks"][5]["stdout"], cluster.path("out/0.01-3").to_str().unwrap());
    let command = cluster.hq(&["job", "info", "1"]).table();
    assert!(command.get("Command").contains("--rate=%{SWEEP_rate}"), "{}", command.get("Command"));

    let job =
        cluster.submit(&["--zip", "--sweep=x=a,b", "--sweep=y=1..2", "--array=1-9", "echo", "%{SWEEP_x}%{SWEEP_y}"]);
    cluster.finished(job);
    assert_eq!(printed(&cluster, job, 1..2), ["b2"]);
    fs::write(cluster.path("s.sh"), "#HQ --sweep x=1..2 --env HQ_SWEEP_x=mine\necho $HQ_SWEEP_x\n").unwrap();
    let job = cluster.submit(&["--directives=file", "--", "s.sh"]);
    let _ = job;
    for (args, text) in [
        (&["--zip", "--sweep=x=1", "--sweep=y=1,2"][..], "`x` has 1, `y` has 2"),
        (&["--sweep=x=1", "--sweep=x=2"], "--sweep x is given more than once"),
        (&["--sweep=x=@missing"], "cannot read values of `x` from `missing`"),
        (&["--sweep=x=1", "--array=5"], "there is nothing to submit"),
    ] {
        let output = cluster.hq(&[&["submit"], args, &["true"]].concat());
        assert!(output.fails(1).contains(text), "{output:?}");
    }
    for args in [&["--sweep=x=1", "--each-line=rates"][..], &["--zip"], &["--sweep=x"]] {
        assert_eq!(cluster.hq(&[&["submit"], args, &["true"]].concat()).code, 2, "{args:?}");
    }
    let output = cluster.hq(&["submit", "--sweep=x=1", "--stdout=%{SWEEP_y}", "true"]);
    assert!(output.log().contains("Found unknown placeholder `SWEEP_y` in stdout path"), "{output:?}");
}

#[test]
fn an_empty_entry_is_one() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "4");
    fs::write(cluster.path("lines"), "a\n\nb\n").unwrap();
    let script = "echo \"${HQ_ENTRY-unset}$(cat)\"";
    let job = cluster.submit(&["--each-line=lines", "--env=HQ_ENTRY=mine", "bash", "-c", script]);
    cluster.finished(job);
    assert_eq!(printed(&cluster, job, 0..3), ["a", "", "b"]);
    let job = cluster.submit(&["bash", "-c", script]);
    cluster.finished(job);
    assert_eq!(printed(&cluster, job, 0..1), ["unset"]);
}

#[test]
fn what_failed_is_run_again() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "4");
    fs::write(cluster.path("lines"), "a\nb\nc\nd\n").unwrap();
    let script = "[ -e fixed ] || exit $((HQ_TASK_ID % 2)); echo $HQ_ENTRY";
    let job = cluster.submit(&["--name=n", "--each-line=lines", "bash", "-c", script]);
    cluster.finished(job);
    assert_eq!(cluster.stats(1)["failed"], 2);
    fs::write(cluster.path("fixed"), "").unwrap();
    assert_eq!(cluster.hq(&["job", "rerun", "1"]).ok(), "Job submitted successfully, job ID: 2\n");
    let info = cluster.finished(2);
    assert_eq!((&info["info"]["name"], &info["info"]["task_count"]), (&json!("n"), &json!(2)));
    assert_eq!(cluster.hq(&["job", "task-ids", "2"]).ok(), "1,3\n");
    assert_eq!((cluster.read("job-2/1.stdout"), cluster.read("job-2/3.stdout")), ("b\n".into(), "d\n".into()));
    assert!(cluster.hq(&["job", "rerun", "2"]).fails(1).contains("no task of job 2 is FAILED or ABORTED"));
    assert!(cluster.hq(&["job", "rerun", "9"]).fails(1).contains("Job 9 not found"));

    // A graph, of several submits: what is waited for and has finished is not.
    fs::remove_file(cluster.path("fixed")).unwrap();
    let task = |id: u32, deps: &str, code: &str| {
        format!(
            "[[task]]\nid={id}\ndeps=[{deps}]\ncommand=[\"bash\",\"-c\",\"echo {id} >> order; [ -e fixed ] || exit {code}\"]\n"
        )
    };
    cluster.hq(&["job", "open", "--name=graph"]).ok();
    for text in [task(1, "", "0") + &task(2, "1", "1"), task(3, "2, 1", "0") + &task(4, "3", "0")] {
        fs::write(cluster.path("g.toml"), text).unwrap();
        cluster.hq(&["job", "submit-file", "g.toml", "--job=3"]).ok();
    }
    cluster.hq(&["job", "close", "3"]).ok();
    cluster.finished(3);
    fs::write(cluster.path("fixed"), "").unwrap();
    assert_eq!(cluster.json(&["job", "rerun", "3"]), json!({"id": 4}));
    let info = cluster.finished(4);
    assert_eq!((&info["info"]["name"], &info["info"]["task_stats"]["finished"]), (&json!("graph"), &json!(3)));
    assert_eq!(info["info"]["is_open"], false);
    assert_eq!(cluster.read("order"), "1\n2\n2\n3\n4\n");
    assert_eq!(cluster.hq(&["--output-mode=quiet", "job", "rerun", "3", "--filter=failed"]).ok(), "5\n");
    assert_eq!(cluster.hq(&["job", "task-ids", "5"]).ok(), "2\n");
}

#[test]
fn why_tasks_were_aborted_is_told() {
    let mut cluster = Cluster::start();
    cluster.submit(&["false"]);
    cluster.submit(&["--dependency=afterok:1", "--array=0-999999999", "true"]);
    cluster.submit(&["--max-fails=0", "--array=1-3", "false"]);
    let _worker = cluster.worker("w", "1");
    cluster.hq(&["job", "wait", "all"]).ok();
    let why = cluster.hq(&["job", "why", "2-3"]);
    let reason = "Aborted: not all jobs it waits for ended as it needs: afterok:1.";
    assert!(why.ok().contains(&format!("Task 2@0: {reason} Now job 1 is FAILED. 1000000000 tasks")), "{why:?}");
    assert!(why.stdout.contains("Aborted: 1 tasks of the job failed, and its max-fails is 0."), "{why:?}");
    assert!(cluster.hq(&["job", "info", "2"]).ok().contains(reason));
    assert!(cluster.hq(&["task", "info", "2", "7"]).table().get("Error").starts_with("Aborted: not all jobs"));
    assert_eq!(cluster.json(&["task", "info", "2", "7"]), json!([{"id": 7, "state": "aborted"}]));
    let tasks = cluster.hq(&["task", "list", "2", "-v", "--tasks=5"]);
    assert!(tasks.ok().contains(reason), "{tasks:?}");
}
