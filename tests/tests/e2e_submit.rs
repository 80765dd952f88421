//! `hq submit`: what tasks are, where they run, what they see, and how they fail.

use std::fs;

use hq_tests::{Cluster, eventually, finish};
use serde_json::json;

#[test]
fn the_answer_is_an_id() {
    let cluster = Cluster::start();
    assert_eq!(cluster.hq(&["submit", "true"]).ok(), "Job submitted successfully, job ID: 1\n");
    assert_eq!(cluster.json(&["submit", "true"]), json!({"id": 2}));
    assert_eq!(cluster.hq(&["--output-mode=quiet", "job", "submit", "--", "true", "--flag"]).ok(), "3\n");
    // What follows the program belongs to it.
    cluster.hq(&["submit", "echo", "--name", "x", "--array=1-3"]).ok();
    let info = &cluster.json(&["job", "info", "4"])[0];
    let program = &info["submits"][0]["array"]["program"];
    assert_eq!((&info["info"]["name"], &info["info"]["task_count"]), (&json!("echo"), &json!(1)));
    assert_eq!(program["args"], json!(["echo", "--name", "x", "--array=1-3"]));
}

#[test]
fn names_directories_and_outputs() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "2");
    let job = cluster.submit(&[
        "--name=my job",
        "--cwd=in/%{TASK_ID}",
        "--stdout=out-%{JOB_ID}-%{TASK_ID}.txt",
        "--stderr=%{SUBMIT_DIR}/err/%{TASK_ID}-%{INSTANCE_ID}",
        "--array=3,5",
        "bash",
        "-c",
        "pwd; echo failure >&2",
    ]);
    let info = cluster.finished(job);
    assert_eq!((&info["info"]["name"], &info["info"]["task_stats"]["finished"]), (&json!("my job"), &json!(2)));
    for task in [3, 5] {
        let cwd = cluster.path(&format!("in/{task}"));
        assert_eq!(cluster.read(&format!("in/{task}/out-1-{task}.txt")), format!("{}\n", cwd.display()));
        assert_eq!(cluster.read(&format!("err/{task}-0")), "failure\n");
    }
    let table = cluster.hq(&["job", "info", "1"]).table();
    assert_eq!(table.get("Working directory"), cluster.path("in/%{TASK_ID}").to_str().unwrap());
    assert_eq!(table.get("Stderr"), cluster.path("err/%{TASK_ID}-%{INSTANCE_ID}").to_str().unwrap());

    cluster.finished(cluster.submit(&["echo", "default"]));
    assert_eq!((cluster.read("job-2/0.stdout").as_str(), cluster.read("job-2/0.stderr").as_str()), ("default\n", ""));
    cluster.finished(cluster.submit(&["--stdout=none", "--stderr=none", "echo", "nothing"]));
    assert!(!cluster.path("job-3").exists());
    assert_eq!(cluster.hq(&["job", "info", "3"]).table().get("Stdout"), "<None>");
    let kept =
        cluster.submit(&["--stdout=:rm-if-finished", "--stderr=e:rm-if-finished", "bash", "-c", "echo x; exit 1"]);
    cluster.finished(kept);
    assert_eq!(cluster.read("job-4/0.stdout"), "x\n");
    cluster.finished(cluster.submit(&["--stdout=:rm-if-finished", "--stderr=e:rm-if-finished", "echo", "x"]));
    assert!(!cluster.path("job-5/0.stdout").exists() && !cluster.path("e").exists());

    let bad = cluster.submit(&["--cwd=/dev/null/foo", "true"]);
    assert_eq!(cluster.finished(bad)["tasks"][0]["state"], "failed");
    let bad = cluster.submit(&["--stdout=/dev/null/foo.txt", "true"]);
    assert_eq!(cluster.finished(bad)["tasks"][0]["state"], "failed");
    assert_eq!(cluster.worker_state(1), "RUNNING");
}

#[test]
fn what_a_task_sees() {
    let mut cluster = Cluster::start();
    let mut command =
        cluster.command(&["worker", "start", "--hostname=w", "--cpus=[3,5,8]", "--detect-resources=none"]);
    command.args(["--resource=gpus/nvidia=[0,1]", "--resource=mem=sum(100)"]).env("FROM_WORKER", "yes");
    let _worker = cluster.spawn(&mut command, "w");
    let job = cluster.submit(&[
        "--env=MINE=a=b",
        "--env=HQ_JOB_ID=77",
        "--env=EMPTY",
        "--array=4",
        "--cpus=2",
        "--resource=gpus/nvidia=1",
        "--resource=mem=50.5",
        "--task-dir",
        "env",
    ]);
    let info = cluster.finished(job);
    assert_eq!(info["tasks"][0]["state"], "finished", "{info}");
    let text = cluster.read("job-1/4.stdout");
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    for (name, expected) in [
        ("FROM_WORKER", Some("yes")),
        ("MINE", Some("a=b")),
        ("EMPTY", Some("")),
        ("HQ_JOB_ID", Some("1")),
        ("HQ_TASK_ID", Some("4")),
        ("HQ_INSTANCE_ID", Some("0")),
        ("HQ_SUBMIT_DIR", cluster.dir().to_str()),
        ("HQ_ENTRY", None),
        ("HQ_CPUS", Some("3,5")),
        ("HQ_RESOURCE_REQUEST_cpus", Some("2 compact")),
        ("HQ_RESOURCE_VALUES_cpus", Some("3,5")),
        ("HQ_RESOURCE_REQUEST_gpus_nvidia", Some("1 compact")),
        ("HQ_RESOURCE_VALUES_gpus_nvidia", Some("0")),
        ("HQ_RESOURCE_REQUEST_mem", Some("50.5 compact")),
        ("HQ_RESOURCE_VALUES_mem", None),
        ("HQ_RESOURCE_VARIANT", None),
        ("CUDA_VISIBLE_DEVICES", Some("0")),
        ("CUDA_DEVICE_ORDER", Some("PCI_BUS_ID")),
        ("OMP_NUM_THREADS", Some("2")),
    ] {
        assert_eq!(value(name), expected, "{name}");
    }
    assert!(value("HQ_TASK_DIR").is_some_and(|dir| !fs::exists(dir).unwrap()), "{text}");
    let record = cluster.record();
    for role in ["client", "worker"] {
        assert!(!text.contains(record[role]["secret_key"].as_str().unwrap()), "a task sees no key");
    }
}

#[test]
fn input_session_and_signals_of_a_task() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "1");
    let script = "readlink /proc/self/fd/0; ps -o pid=,pgid=,sid= -p $$; grep -E 'Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd | wc -l";
    cluster.finished(cluster.submit(&["bash", "-c", script]));
    let text = cluster.read("job-1/0.stdout");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "/dev/null");
    let offset = if lines.len() == 5 {
        let ids: Vec<_> = lines[1].split_whitespace().collect();
        assert!(ids[0] == ids[1] && ids[1] == ids[2], "a session and a group of its own: {text}");
        2
    } else {
        1 // No `ps` here.
    };
    for line in &lines[offset..offset + 2] {
        assert!(line.ends_with(&"0".repeat(16)), "no signal blocked or ignored: {text}");
    }
    // 0, 1, 2 and the directory that `ls` reads.
    assert_eq!(lines[offset + 2].trim(), "4", "no open file of the worker: {text}");
}

#[test]
fn resources_are_exact() {
    let mut cluster = Cluster::start();
    let args = ["--cpus=[[0,1,2,3],[4,5,6,7]]", "--resource=gpus/nvidia=[a,b]", "--resource=mem=sum(4)"];
    let _worker = cluster.worker_with("w", &args);
    // Eight run together at most, each with half of a GPU: four.
    let halves = cluster.submit(&[
        "--array=1-8",
        "--resource=gpus/nvidia=0.5",
        "bash",
        "-c",
        "echo $HQ_RESOURCE_VALUES_gpus_nvidia; sleep 3600",
    ]);
    cluster.until(halves, "running", 4);
    assert_eq!(printed(&cluster, 1, 4), ["a\n", "a\n", "b\n", "b\n"]);
    cluster.hq(&["job", "cancel", "1"]).ok();

    // Both sockets together, never one across them while four are free in one.
    let compact = cluster.submit(&["--array=1-2", "--cpus=4 compact!", "bash", "-c", "echo $HQ_CPUS; sleep 3600"]);
    cluster.until(compact, "running", 2);
    assert_eq!(printed(&cluster, 2, 2), ["0,1,2,3\n", "4,5,6,7\n"]);
    cluster.hq(&["job", "cancel", "2"]).ok();

    let all = cluster.submit(&["--cpus=all", "bash", "-c", "echo $HQ_CPUS"]);
    cluster.finished(all);
    assert_eq!(cluster.read("job-3/0.stdout"), "0,1,2,3,4,5,6,7\n");

    for impossible in [&["--cpus=9"][..], &["--resource=gpus/amd=1"], &["--resource=mem=4.5"], &["--nodes=2"]] {
        let mut args = impossible.to_vec();
        args.push("true");
        let job = cluster.submit(&args);
        let after = cluster.submit(&["true"]);
        cluster.finished(after);
        assert_eq!(cluster.stats(job)["waiting"], 1, "{impossible:?}");
    }
}

#[test]
fn higher_priorities_go_first() {
    let mut cluster = Cluster::start();
    let script = "echo $HQ_JOB_ID-$HQ_TASK_ID >> order";
    for priority in ["-1", "2", "0", "2"] {
        cluster.submit(&["--array=1-2", "--priority", priority, "bash", "-c", script]);
    }
    let _worker = cluster.worker("w", "1");
    cluster.hq(&["job", "wait", "all"]).ok();
    assert_eq!(cluster.read("order"), "2-1\n2-2\n4-1\n4-2\n3-1\n3-2\n1-1\n1-2\n");
}

#[test]
fn wait_ends_with_the_job() {
    let mut cluster = Cluster::start();
    let mut waiting = cluster.background(&["submit", "--wait", "bash", "-c", "echo done; exit 3"]);
    let _worker = cluster.worker("w", "1");
    // The result is no matter of the exit code.
    assert_eq!(waiting.wait(), 0);
    assert!(waiting.printed().contains("Job submitted successfully, job ID: 1\n"), "{}", waiting.printed());
    assert_eq!((cluster.stats(1)["failed"].clone(), cluster.read("job-1/0.stdout")), (json!(1), "done\n".into()));

    let mut waiting = cluster.background(&["submit", "--wait", "sleep", "3600"]);
    cluster.until(2, "running", 1);
    assert!(waiting.is_running());
    cluster.hq(&["server", "stop"]).ok();
    assert_eq!(waiting.wait(), 0);
}

#[test]
fn a_time_limit_kills_the_whole_tree() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "2");
    let mark = cluster.dir().file_name().unwrap().to_str().unwrap().replace("hq-test", "limit");
    let script = format!("trap '' INT TERM; (exec -a {mark} sleep 86400) & (exec -a {mark} sleep 86400); wait");
    let stubborn = cluster.submit(&["--time-limit=300ms", "bash", "-c", &script]);
    let polite =
        cluster.submit(&["--time-limit=300ms", "bash", "-c", "trap 'echo bye; exit 0' INT; sleep 86400 & wait"]);
    let quick = cluster.submit(&["--time-limit=1h", "true"]);
    for job in [stubborn, polite] {
        let info = cluster.finished(job);
        assert_eq!(info["tasks"][0]["error"], "Time limit reached", "{info}");
    }
    assert_eq!(hq_tests::processes_with(&mark), [0_u32; 0]);
    assert_eq!(cluster.read("job-2/0.stdout"), "bye\n");
    assert_eq!(cluster.finished(quick)["tasks"][0]["state"], "finished");
}

#[test]
fn failures_say_what_happened() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "4");
    fs::write(cluster.path("here"), "").unwrap();
    fs::write(cluster.path("test.sh"), "echo x\n").unwrap();
    let exists =
        format!("The file `{}` exists, maybe you have meant `./here` instead?", cluster.path("here").display());
    for (command, expected) in [
        (&["bash", "-c", "exit 1"][..], vec!["Program terminated with exit code 1."]),
        (&["bash", "-c", "kill -9 $$"], vec!["Program terminated with exit code -1. Received signal 9 (SIGKILL)."]),
        (
            &["foo-bar", "--bar", "--baz=5"],
            vec![
                "Cannot execute \"foo-bar --bar --baz=5\": No such file or directory (os error 2)",
                "The program that you have tried to execute (`foo-bar`) was not found.",
            ],
        ),
        (
            &["here"],
            vec![
                "Cannot execute \"here\": No such file or directory (os error 2)",
                "The program that you have tried to execute (`here`) was not found.",
                &exists,
            ],
        ),
        (
            &["./test.sh"],
            vec![
                "Cannot execute \"./test.sh\": Permission denied (os error 13)",
                "The script that you have tried to execute (`./test.sh`) is not executable.",
                "Try making it executable or add a shebang line to it.",
            ],
        ),
        (&["--task-dir", "bash", "-c", "echo -n 'my error' > $HQ_ERROR_FILENAME; exit 1"], vec!["my error"]),
        (
            &["--task-dir", "bash", "-c", "touch $HQ_ERROR_FILENAME; exit 1"],
            vec!["Task created an error file, but it is empty"],
        ),
    ] {
        let submit = finish(cluster.command(&["--output-mode=quiet", "submit"]).args(command));
        let job = submit.ok().trim().parse().unwrap();
        let info = cluster.finished(job);
        let error = info["tasks"][0]["error"].as_str().unwrap_or_else(|| panic!("{info}"));
        assert_eq!(error.lines().collect::<Vec<_>>(), expected, "{command:?}");
        // Both output files are there whatever happened.
        let stdout = info["tasks"][0]["stdout"].as_str().unwrap();
        assert!(fs::exists(stdout).unwrap(), "{command:?}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let cluster = Cluster::start();
    for (args, code, text) in [
        (&["--name", "a\nb", "true"][..], None, ""),
        (&["--cpus=2", "--resource=cpus=3", "true"], Some(1), "--cpus and --resource cpus=... cannot be combined"),
        (&["--resource=foo=1", "--resource=foo=2", "true"], Some(1), "Resource 'foo' defined more than once"),
        (&["--resource=foo=0", "true"], None, "Zero resources cannot be requested"),
        (
            &["--cwd=%{CWD}/x", "true"],
            Some(1),
            "Working directory path cannot contain the working directory placeholder `%{CWD}`.",
        ),
        (&["--crash-limit=0", "true"], None, ""),
        (&["--array=1-5,3", "true"], None, "Ranges overlap"),
        (&["--array=5-1", "true"], None, "Invalid range"),
        (&["--nodes=2", "--cpus=2", "true"], Some(2), ""),
        (&["--job=123", "true"], Some(1), "Job 123 not found"),
        (&["--stdout=foo:bar", "true"], Some(2), ""),
        (&["--time-limit=soon", "true"], Some(2), ""),
    ] {
        let output = finish(cluster.command(&["submit"]).args(args));
        assert!(output.code != 0 && code.is_none_or(|code| code == output.code), "{output:?}");
        assert!(output.stderr.contains(text), "{text}: {output:?}");
    }
    assert_eq!(cluster.json(&["job", "list", "--all"]), json!([]));
}

#[test]
fn doubtful_paths_are_warned_of() {
    let cluster = Cluster::start();
    let warning = "You have submitted an array job, but the `stdout` path does not contain the task ID placeholder.";
    for (args, text) in [
        (&["--array=1-4", "--stdout=foo", "true"][..], Some(warning)),
        (&["--array=1-4", "--stdout=foo-%{TASK_ID}", "true"], None),
        (&["--array=1-4", "--stdout=%{CWD}/foo", "--cwd=%{TASK_ID}", "true"], None),
        (&["--array=1", "--stdout=foo", "true"], None),
        (&["--stdout=log-%{FOO}", "true"], Some("Found unknown placeholder `FOO` in stdout path")),
        (&["--stderr=%{BAR}-%{BAZ}", "true"], Some("Found unknown placeholders `BAR, BAZ` in stderr path")),
        (&["--cwd=x-%{FOO}", "true"], Some("Found unknown placeholder `FOO` in working directory path")),
    ] {
        let output = finish(cluster.command(&["submit"]).args(args));
        assert!(output.ok().starts_with("Job submitted successfully"));
        match text {
            Some(text) => assert!(output.log().contains(text) && output.log().contains("WARN"), "{output:?}"),
            None => assert!(!output.log().contains("WARN"), "{output:?}"),
        }
    }
}

#[test]
fn gangs_have_whole_nodes() {
    let mut cluster = Cluster::start();
    let _workers: Vec<_> = (1..=4).map(|n| cluster.worker(&format!("node{n}"), "2")).collect();
    let job = cluster.submit(&["--nodes=3", "bash", "-c", "echo $HQ_NUM_NODES; cat $HQ_NODE_FILE; sleep 3600"]);
    cluster.until(job, "running", 1);
    let task = &cluster.json(&["job", "info", "1"])[0]["tasks"][0];
    let workers = task["workers"].as_array().unwrap_or_else(|| panic!("{task}"));
    assert_eq!(workers.len(), 3);
    let text = eventually("node file", || cluster.read("job-1/0.stdout"), |text| text.lines().count() == 4);
    let hosts: Vec<_> = workers.iter().map(|id| format!("node{id}")).collect();
    assert_eq!(text.lines().collect::<Vec<_>>(), [&["3".to_owned()][..], &hosts].concat());
    let main = workers[0].to_string();
    let info = cluster.hq(&["worker", "info", &main]).table();
    assert_eq!(info.get("Runtime Info"), "running multinode task; main node");
    let info = cluster.hq(&["worker", "info", &workers[1].to_string()]).table();
    assert_eq!(info.get("Runtime Info"), "running multinode task; secondary node");
    // The fourth is free for others.
    cluster.finished(cluster.submit(&["true"]));
    cluster.hq(&["job", "cancel", "1"]).ok();
    let small = cluster.submit(&["--array=1-8", "sleep", "3600"]);
    cluster.until(small, "running", 8);
}

/// The line that each of the first tasks of a job printed, sorted.
fn printed(cluster: &Cluster, job: u32, tasks: u32) -> Vec<String> {
    let look = || (1..=tasks).map(|task| cluster.read(&format!("job-{job}/{task}.stdout"))).collect::<Vec<_>>();
    let mut lines = eventually("a line of each", look, |lines| lines.iter().all(|line| line.ends_with('\n')));
    lines.sort();
    lines
}

/// C2
#[test]
fn c2_a_resource_that_nobody_offers_is_warned_of_once() {
    let mut cluster = Cluster::start();
    let warned = |args: &[&str]| {
        let output = cluster.hq(args);
        output.ok();
        output.stderr.matches("no worker offers").count()
    };
    assert_eq!(warned(&["submit", "--resource=gpuz=1", "true"]), 0, "nobody is there yet");
    let _worker = cluster.worker_with("w", &["--cpus=1", "--resource", "gpus=[a]"]);
    let warned = |args: &[&str]| {
        let output = cluster.hq(args);
        output.ok();
        output.stderr
    };
    let text = warned(&["submit", "--array=1-9", "--resource=gpuz=1", "--resource=gpus=1", "true"]);
    assert_eq!(text.matches("WARN no worker offers the resource `gpuz`").count(), 1, "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert_eq!(warned(&["submit", "--resource=gpus=1", "true"]), "");
    let json = cluster.hq(&["--output-mode=json", "submit", "--resource=gpuz=1", "true"]);
    assert_eq!(json.json(), json!({"id": 4}));
}
