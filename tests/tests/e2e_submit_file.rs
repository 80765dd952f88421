//! `hq job submit-file`: graphs and arrays from TOML.

use std::fs;

use hq_tests::Cluster;
use serde_json::json;

fn write(cluster: &Cluster, text: &str) {
    fs::write(cluster.path("job.toml"), text).unwrap();
}

#[test]
fn a_graph_runs_in_its_order() {
    let mut cluster = Cluster::start();
    write(
        &cluster,
        r#"
        name = "diamond"
        [[task]]
        id = 4
        command = ["bash", "-c", "echo 4 >> order"]
        deps = [3, 2]
        [[task]]
        id = 2
        command = ["bash", "-c", "echo $A-$(cat) >> order"]
        deps = [1]
        env = { A = "two" }
        stdin = "input"
        stdout = "none"
        [[task]]
        id = 3
        command = ["bash", "-c", "cat order; echo > order3"]
        cwd = "."
        deps = [1]
        [[task]]
        id = 1
        command = ["bash", "-c", "echo 1 >> order"]
        [[task.request]]
        resources = { gpus = 1 }
        [[task.request]]
        resources = { cpus = 1 }
        "#,
    );
    let output = cluster.hq(&["job", "submit-file", "job.toml"]);
    assert_eq!((output.ok(), output.stderr.as_str()), ("Job submitted successfully, job ID: 1\n", ""));
    let _worker = cluster.worker("w", "2");
    let info = cluster.finished(1);
    assert_eq!((&info["info"]["name"], &info["info"]["task_stats"]["finished"]), (&json!("diamond"), &json!(4)));
    assert_eq!(info["submits"][0]["graph"].as_array().unwrap().len(), 4, "{info}");
    let order = cluster.read("order");
    assert_eq!(order, "1\ntwo-input\n4\n");
    assert!(!cluster.path("job-1/2.stdout").exists() && cluster.path("job-1/2.stderr").exists());
    assert_eq!(cluster.hq(&["job", "task-ids", "1"]).ok(), "1-4\n");
}

#[test]
fn a_failure_aborts_what_waits_for_it() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "2");
    let tasks: String =
        (1..=50).map(|n| format!("[[task]]\nid = {n}\ndeps = [{}]\ncommand = [\"true\"]\n", n + 1)).collect();
    write(&cluster, &format!("{tasks}[[task]]\nid = 51\ncommand = [\"false\"]\n"));
    assert_eq!(cluster.json(&["job", "submit-file", "job.toml"]), json!({"id": 1}));
    let stats = cluster.finished(1)["info"]["task_stats"].clone();
    assert_eq!((&stats["failed"], &stats["aborted"]), (&json!(1), &json!(50)));
}

#[test]
fn arrays_and_open_jobs() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "2");
    cluster.hq(&["job", "open"]).ok();
    write(&cluster, "[array]\nentries = [\"a\", \"b\"]\ncommand = [\"bash\", \"-c\", \"echo $HQ_ENTRY\"]\n");
    for _ in 0..2 {
        assert_eq!(cluster.hq(&["--output-mode=quiet", "job", "submit-file", "job.toml", "--job", "1"]).ok(), "1\n");
    }
    // What a task waits for may be in the job already.
    write(&cluster, "[[task]]\nid = 9\ndeps = [3]\ncommand = [\"true\"]\n");
    cluster.hq(&["job", "submit-file", "job.toml", "--job=1"]).ok();
    assert!(
        cluster.hq(&["job", "submit-file", "job.toml", "--job=1"]).fails(1).contains("Task 9 already exists in job 1")
    );
    write(&cluster, "[[task]]\nid = 10\ndeps = [77]\ncommand = [\"true\"]\n");
    assert!(cluster.hq(&["job", "submit-file", "job.toml", "--job=1"]).fails(1).contains("Invalid dependency on 77"));
    cluster.hq(&["job", "close", "1"]).ok();
    let info = cluster.finished(1);
    assert_eq!(info["info"]["task_stats"]["finished"], 5, "{info}");
    assert_eq!((cluster.read("job-1/2.stdout"), cluster.read("job-1/3.stdout")), ("a\n".into(), "b\n".into()));
}

#[test]
fn errors_name_the_place() {
    let cluster = Cluster::start();
    for (text, error) in [
        ("nam = 1\n", "Error: Invalid job file `job.toml`, line 1, column 1: unknown field `nam`, expected one of"),
        (
            "[[task]]\ncommand = [\"x\"]\n  cmd = 1\n",
            "line 3, column 3: unknown field `cmd`, expected one of `id`, `deps`,",
        ),
        ("[[task]]\ncommand = [\"x\"]\n  cmd = 1\n", "`deps_failed`, `command`, "),
        (
            "[array]\ncommand = [\"x\"]\n  cmd = 1\n",
            "unknown field `cmd`, expected one of `ids`, `entries`, `command`, ",
        ),
        (
            "[[task]]\nid = 1\ncommand = [\"x\"]\ndeps = [1]\n",
            "line 4, column 9: Task 1 is part of dependency cycle or has an invalid dependencies: 1 → 1",
        ),
        ("[array]\nids = \"1\"\ncommand = [\"x\"]\n[[task]]\ncommand = [\"x\"]", "cannot be mixed"),
        ("name = \"\u{1}\"", "line 1, column 9: "),
    ] {
        write(&cluster, text);
        let output = cluster.hq(&["job", "submit-file", "job.toml"]);
        assert!(output.fails(1).contains(error), "{text}: {output:?}");
        assert_eq!(output.stderr.lines().count(), 3, "the error, the line and a caret: {output:?}");
    }
    let json = cluster.command(&["--output-mode=json", "job", "submit-file", "no.toml"]);
    let mut json = json;
    let output = hq_tests::finish(&mut json);
    assert!(
        output.code == 1 && output.stdout.contains("\"error\": \"cannot read the job file `no.toml`"),
        "{output:?}"
    );
    assert!(cluster.hq(&["job", "submit-file", "/"]).fails(1).contains("Is a directory"));
    assert_eq!(cluster.json(&["job", "list", "--all"]), json!([]));
}

#[test]
fn a_long_chain() {
    let mut cluster = Cluster::start();
    let count = 20_000;
    let task =
        |n: u32| format!("[[task]]\nid={n}\ndeps=[{}]\ncommand=[\"true\"]\nstdout=\"none\"\nstderr=\"none\"\n", n + 1);
    let text: String = (0..count).map(task).collect();
    write(&cluster, &format!("{text}[[task]]\nid={count}\ncommand=[\"false\"]\nstdout=\"none\"\nstderr=\"none\"\n"));
    cluster.hq(&["job", "submit-file", "job.toml"]).ok();
    let _worker = cluster.worker("w", "1");
    cluster.hq(&["job", "wait", "1"]).ok();
    let stats = cluster.json(&["job", "list", "--all"])[0]["task_stats"].clone();
    assert_eq!((&stats["failed"], &stats["aborted"]), (&json!(1), &json!(count)));
}

#[test]
fn errors_show_the_line_and_the_place() {
    let cluster = Cluster::start();
    write(&cluster, "name = \"x\"\n[[task]]\ncommand = [\"p\"]\nenv = { A = \"1\", \"B=C\" = \"2\" }\n");
    let text = cluster.hq(&["job", "submit-file", "job.toml"]).fails(1);
    let expected = "line 4, column 18: `B=C` cannot be the name of an environment variable\n  \
                    env = { A = \"1\", \"B=C\" = \"2\" }\n                   ^\n";
    assert!(text.ends_with(expected), "{text}");
    write(&cluster, "[array]\nids = \"1-5,3\"\ncommand = [\"p\"]\n");
    let text = cluster.hq(&["job", "submit-file", "job.toml"]).fails(1);
    assert!(text.ends_with("line 2, column 12: Ranges overlap\n  ids = \"1-5,3\"\n             ^\n"), "{text}");
}
