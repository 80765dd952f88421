//! What workers find and tell of their machines, and how they are started elsewhere.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use hq_tests::{Cluster, eventually, finish};
use rustix::process::Signal;
use serde_json::{Value, json};

/// A program of that name in a directory of its own, and a PATH that begins with it.
fn fake(cluster: &Cluster, name: &str, script: &str) -> String {
    let dir = cluster.path("bin");
    fs::create_dir_all(&dir).unwrap();
    let path: PathBuf = dir.join(name);
    fs::write(&path, format!("#!/bin/bash\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", dir.display(), std::env::var("PATH").unwrap())
}

#[test]
fn what_this_machine_has() {
    let cluster = Cluster::new();
    let detect = |env: &[(&str, &str)], args: &[&str]| {
        let mut command = cluster.bare_command();
        command.env_remove("CUDA_VISIBLE_DEVICES").env_remove("ROCR_VISIBLE_DEVICES");
        finish(command.envs(env.iter().copied()).args(["worker", "hwdetect"]).args(args))
    };
    let found = detect(&[("CUDA_VISIBLE_DEVICES", "foo,bar"), ("ROCR_VISIBLE_DEVICES", "1")], &[]);
    for line in ["Summary:", "\n\nFull Description:\n", "gpus/nvidia: [foo,bar]\n", "gpus/amd: [1]\n", "mem: sum("] {
        assert!(found.ok().contains(line), "{line}: {found:?}");
    }
    assert!(
        detect(&[("CUDA_VISIBLE_DEVICES", "1,3")], &["--no-hyper-threading"]).ok().contains("gpus/nvidia: [1,3]\n")
    );
    let json = detect(&[], &["--output-mode=json"]).json();
    assert_eq!(json["coupling"], json!({ "weights": [] }));
    assert_eq!(json["resources"][0]["name"], "cpus");
    // Only what the process may use counts.
    let mut pinned = std::process::Command::new("taskset");
    pinned.args(["-c", "0"]).arg(hq_tests::hq_binary()).args(["worker", "hwdetect"]);
    let pinned = finish(&mut pinned);
    assert!(pinned.ok().contains("cpus: [0]\n"), "{pinned:?}");
}

#[test]
fn a_worker_offers_what_it_finds() {
    let mut cluster = Cluster::start();
    let mut command =
        cluster.command(&["worker", "start", "--hostname=w", "--cpus=2x2", "--coupling=cpus[1]:gpus[0]=7"]);
    command.args(["--resource=gpus=[[a],[b]]", "--resource=mem=sum(5)"]).env("CUDA_VISIBLE_DEVICES", "x,y");
    let _worker = cluster.spawn(&mut command, "w");
    let list = eventually("a worker", || cluster.json(&["worker", "list"]), |list| list[0].is_object());
    let resources = &list[0]["configuration"]["resources"];
    let names: Vec<_> =
        resources["resources"].as_array().unwrap().iter().map(|def| def["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["cpus", "gpus", "gpus/nvidia", "mem"], "what is given is not looked for");
    assert_eq!(resources["resources"][3]["size"], 50_000);
    let weights = json!([{"resource1_idx": 0, "group1_idx": 1, "resource2_idx": 1, "group2_idx": 0, "weight": 7}]);
    assert_eq!(resources["coupling"]["weights"], weights);
    assert_eq!(cluster.hq(&["worker", "address", "1"]).ok(), "w\n");
    assert!(cluster.hq(&["worker", "address", "9"]).fails(1).contains("Worker 9 not found"));

    for (args, expected) in [
        ("--coupling=cpus[0]:foo[0]", "Resource not found: foo"),
        ("--coupling=cpus[0]:xxx[0]", "Resource 'xxx' has only a single group"),
        ("--coupling=cpus[0]:yyy[3]", "Invalid group id 3 for resource 'yyy'"),
    ] {
        let output = cluster.hq(&["worker", "start", "--cpus=2x2", "--resource=xxx=[1]", "--resource=yyy=2x1", args]);
        assert!(output.fails(1).contains(expected), "{output:?}");
    }
    cluster.hq(&["worker", "start", "--cpus=2x2", "--coupling=cpus"]).fails(2);
}

#[test]
fn overviews_are_complete_from_the_first_one_on() {
    let mut cluster = Cluster::new();
    let journal = cluster.path("journal").display().to_string();
    cluster.start_server(&["--journal", &journal]);
    let path = fake(&cluster, "nvidia-smi", "echo BUS1, 10.0 %, 100 MiB, 200 MiB");
    let mut command = cluster.command(&["worker", "start", "--cpus=1", "--resource=gpus/nvidia=[0]"]);
    command.args(["--overview-interval=10ms", "--detect-resources=none"]).env("PATH", path);
    let mut worker = cluster.spawn(&mut command, "w");
    let export = || cluster.hq(&["journal", "export", &journal]).ok().to_owned();
    let text = eventually("an overview", export, |text| text.contains("worker-overview"));
    let first = text.lines().find(|line| line.contains("worker-overview")).unwrap();
    let event: Value = serde_json::from_str(first).unwrap();
    let state = &event["event"]["hw-state"]["state"];
    let gpu = json!({ "gpus": [{ "id": "BUS1", "processor_usage": 10.0, "mem_usage": 50.0 }] });
    assert_eq!((&state["nvidia_gpus"], &state["amd_gpus"], &event["event"]["id"]), (&gpu, &Value::Null, &1.into()));
    assert!(state["cpu_usage"]["cpu_per_core_percent_usage"][0].is_f64() && state["timestamp"].is_u64(), "{state}");
    assert!(state["memory_usage"]["total"].as_u64().unwrap() > state["memory_usage"]["free"].as_u64().unwrap());
    cluster.hq(&["worker", "stop", "1"]).ok();
    assert_eq!(worker.wait(), 0);
}

#[test]
fn workers_are_started_by_ssh() {
    let mut cluster = Cluster::new();
    let script = "printf '%s\\n' \"$@\" > args-$1; echo hello; [ $1 != bad ] || exit 42";
    let path = fake(&cluster, "ssh", script);
    fs::write(cluster.path("hosts"), "good:1234\nbad\n").unwrap();
    let deploy = |args: &[&str]| {
        let mut command = cluster.bare_command();
        finish(command.env("PATH", &path).args(["worker", "deploy-ssh"]).args(args))
    };
    let output = deploy(&["hosts", "--time-limit", "3s"]);
    let log = output.fails(1);
    assert!(log.contains("ERROR Worker exited with code 42"), "{log}");
    assert!(log.contains("Error: Some workers have ended with an error") && !output.stdout.contains("hello"), "{log}");
    let hq = hq_tests::hq_binary().display().to_string();
    let expected = format!("good\n-t\n-t\n-p\n1234\n--\n{hq}\nworker\nstart\n--time-limit\n3s\n");
    assert_eq!(cluster.read("args-good"), expected);
    fs::write(cluster.path("hosts"), "good\n").unwrap();
    assert_eq!(deploy(&["--show-output", "hosts"]).ok(), "hello\n");
    assert!(deploy(&["hosts", "--time-limit", "soon"]).fails(2).contains("--time-limit"), "checked here");
    fs::write(cluster.path("hosts"), "\n").unwrap();
    assert!(deploy(&["hosts"]).fails(1).contains("the file names no host"));
    assert!(deploy(&["none"]).fails(1).contains("No such file"));

    fs::write(cluster.path("hosts"), "slow\n").unwrap();
    let path = fake(&cluster, "ssh", "echo $$ > pid; exec sleep 3600");
    let mut command = cluster.bare_command();
    command.env("PATH", path).args(["worker", "deploy-ssh", "hosts"]);
    let mut deploy = cluster.spawn(&mut command, "deploy");
    let pid = eventually("ssh runs", || cluster.read("pid"), |pid| pid.ends_with('\n'));
    deploy.signal(Signal::INT);
    assert_eq!(deploy.wait(), 1);
    eventually("ssh is gone", || PathBuf::from(format!("/proc/{}", pid.trim())).exists(), |exists| !exists);
}

#[test]
fn access_records_are_made_without_a_server() {
    let mut cluster = Cluster::new();
    let ports = ["--client-port=18001", "--worker-port=18002"];
    let generate = |args: &[&str]| cluster.hq(&[&["server", "generate-access"], args, &ports[..]].concat());
    generate(&["full", "--client-file=client", "--worker-file=worker", "--host=h", "--worker-host=w"]).ok();
    let read = |name: &str| serde_json::from_str::<Value>(&cluster.read(name)).unwrap();
    let full = read("full");
    assert_eq!((&full["client"]["host"], &full["worker"]["host"]), (&"h".into(), &"w".into()));
    assert_eq!((&full["client"]["port"], &full["worker"]["port"]), (&18001.into(), &18002.into()));
    assert_eq!(full["server_uid"].as_str().map(str::len), Some(6));
    for (name, part) in [("client", "client"), ("worker", "worker")] {
        assert_eq!(read(name), json!({ "version": full["version"], part: full[part] }));
        assert_eq!(fs::metadata(cluster.path(name)).unwrap().permissions().mode() & 0o777, 0o400);
    }
    assert!(generate(&["full"]).fails(1).contains("full"), "it exists");
    assert!(generate(&["other", "--client-file=client"]).fails(1).contains("client"));
    assert!(!cluster.path("other").exists(), "nothing half done");
    cluster.hq(&["server", "generate-access", "x", "--client-port=1"]).fails(2);

    cluster.start_server(&["--access-file", "full"]);
    assert_eq!(cluster.record(), full);
}

#[test]
fn a_dump_has_all_that_is_in_the_books() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "1");
    let job = cluster.submit(&["--array=1-3", "sleep", "3600"]);
    cluster.until(job, "running", 1);
    assert_eq!(cluster.hq(&["server", "debug-dump", "dump.json"]).ok(), "");
    let dump: Value = serde_json::from_str(&cluster.read("dump.json")).unwrap();
    assert_eq!(
        (&dump["tako"]["workers"][0]["id"], dump["tako"]["tasks"].as_array().map(Vec::len)),
        (&1.into(), Some(2)),
        "tasks in a row that are alike are one entry"
    );
    assert_eq!(dump["tako"]["worker_groups"], json!({ "default": [1] }));
    assert_eq!(fs::metadata(cluster.path("dump.json")).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(cluster.hq(&["server", "debug-dump", "no/dir"]).fails(1).contains("cannot write"));
}
