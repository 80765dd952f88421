//! What other programs call, call by call as they do it: recorded from Nextflow, AiiDA, Snakemake, batchtools, UM-Bridge and
//! from the scripts of computing sites.

use std::{fs, path::Path, process::Command};

use hq_tests::{Cluster, Output, Process, eventually, finish, hq_binary};
use serde_json::Value;

fn with_worker(args: &[&str]) -> (Cluster, Process) {
    let mut cluster = Cluster::start();
    let worker = cluster.worker_with("w", args);
    (cluster, worker)
}

/// Runs a line of a shell in a directory, with `hq` on the path and `HQ_SERVER_DIR` set.
fn shell(cluster: &Cluster, dir: &Path, line: &str) -> Output {
    let bin = hq_binary();
    let path = format!("{}:{}", bin.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["-c", line]).current_dir(dir).env("PATH", path).env("HOME", cluster.dir());
    finish(command.env("HQ_SERVER_DIR", cluster.server_dir()))
}

#[test]
fn nextflow() {
    let (cluster, _worker) = with_worker(&["--cpus=4", "--resource=mem=sum(4000)"]);
    // The work directory has a blank in its name, and the script is not executable.
    let work = cluster.path("work dir");
    fs::create_dir(&work).unwrap();
    let script = format!(
        "#!/bin/bash\n#HQ --name nf-task_1\n#HQ --stream \"{0}/.command.log\"\n#HQ --cwd \"{0}\"\n#HQ --resource mem=2000\n#HQ --cpus 2\n#HQ --time-limit 60sec\n\
         ### ---\n### name: x\n### ...\nset -e\necho hello\necho 0 > .exitcode\n#HQ --not-an-option\n",
        work.display()
    );
    fs::write(work.join(".command.run"), script).unwrap();
    let submit = shell(&cluster, &work, "hq --output-mode=quiet submit --directives=file .command.run");
    assert_eq!((submit.ok(), submit.stderr.as_str()), ("1\n", ""), "the id and nothing else");
    let list = || shell(&cluster, &work, "hq --output-mode=quiet job list --all 2>&1").ok().to_owned();
    eventually("job list", list, |list| list == "1 FINISHED\n");
    assert_eq!(fs::read_to_string(work.join(".exitcode")).unwrap(), "0\n");
    let info = cluster.json(&["job", "info", "1"])[0].clone();
    assert_eq!(info["info"]["name"], "nf-task_1");
    assert_eq!(info["submits"][0]["array"]["time_limit"], 60.0);
    let log = shell(&cluster, &work, "hq output-log .command.log cat 1 stdout");
    assert_eq!(log.ok(), "hello\n", "a directory, not a file");
    for _ in 0..2 {
        shell(&cluster, &work, "hq --output-mode=quiet submit sleep 3600").ok();
    }
    shell(&cluster, &work, "hq job cancel 2,3").ok();
    assert_eq!(list(), "1 FINISHED\n2 CANCELED\n3 CANCELED\n");
}

#[test]
fn aiida() {
    let (cluster, _worker) = with_worker(&["--cpus=2", "--resource=mem=sum(4000)"]);
    let script = "#!/bin/bash\n#HQ --name=\"aiida-123\"\n#HQ --stdout=_scheduler-stdout.txt\n#HQ --stderr=_scheduler-stderr.txt\n\
                  #HQ --time-request=60s\n#HQ --time-limit=60s\n#HQ --priority=3\n#HQ --cpus=1\n#HQ --resource mem=1000\n\n\
                  while [ ! -e go ]; do sleep 0.1; done; echo out; echo err >&2\n";
    fs::write(cluster.path("_aiidasubmit.sh"), script).unwrap();
    let submit = shell(&cluster, cluster.dir(), "hq submit --output-mode=json _aiidasubmit.sh");
    assert_eq!((submit.json()["id"].clone(), submit.stderr.as_str()), (Value::from(1), ""));
    cluster.until(1, "running", 1);
    let list = shell(&cluster, cluster.dir(), "hq job list --filter waiting,running --output-mode=json").json();
    let job = &list[0];
    assert_eq!((&job["id"], &job["name"], &job["task_count"]), (&1.into(), &"aiida-123".into(), &1.into()));
    let stats = job["task_stats"].as_object().unwrap();
    let live: Vec<&String> = stats.iter().filter(|(_, count)| **count != 0).map(|(key, _)| key).collect();
    assert_eq!(live, ["running"], "exactly one state");
    fs::write(cluster.path("go"), "").unwrap();
    cluster.finished(1);
    assert_eq!(
        (cluster.read("_scheduler-stdout.txt"), cluster.read("_scheduler-stderr.txt")),
        ("out\n".into(), "err\n".into())
    );
    assert_eq!(
        shell(&cluster, cluster.dir(), "hq job list --filter waiting,running --output-mode=json").json(),
        Value::Array(vec![])
    );
    let info = shell(&cluster, cluster.dir(), "hq job info 1 --output-mode json").json();
    assert_eq!(info[0]["info"]["task_stats"]["finished"], 1);
    let table = cluster.hq(&["job", "info", "1"]).table();
    assert_eq!(
        (table.get("Name"), table.get("State"), table.get("Resources")),
        ("aiida-123", "FINISHED", "cpus: 1 compact\nmem: 1000 compact")
    );
    shell(&cluster, cluster.dir(), "hq submit sleep 3600").ok();
    let cancel = shell(&cluster, cluster.dir(), "hq job cancel 2");
    assert!(cancel.log().contains("Job 2 canceled") && !cancel.stderr.contains("ERROR"), "{cancel:?}");
}

#[test]
fn snakemake() {
    let (cluster, _worker) = with_worker(&["--cpus=5"]);
    let script = cluster.path("snakejob.1.sh");
    fs::write(&script, "#!/bin/sh\n# properties = {\"rule\": \"a\"}\ncd . && touch done-1 && exit 0 || exit 1\n")
        .unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&script, mode).unwrap();
    let submit = shell(&cluster, cluster.dir(), &format!("hq submit --cpus 5 \"{}\"", script.display()));
    assert_eq!(submit.ok().lines().next(), Some("Job submitted successfully, job ID: 1"));
    cluster.finished(1);
    assert!(cluster.path("done-1").exists());
    for line in ["hq submit sleep 3600", "hq submit sleep 3600", "hq submit sleep 3600"] {
        shell(&cluster, cluster.dir(), line).ok();
    }
    shell(&cluster, cluster.dir(), "hq job cancel 2 3 4").ok();
    let list = shell(&cluster, cluster.dir(), "hq --output-mode=quiet job list --all");
    assert_eq!(list.ok(), "1 FINISHED\n2 CANCELED\n3 CANCELED\n4 CANCELED\n");
    let status = |id: u32| shell(&cluster, cluster.dir(), &format!("hq job status --snakemake '{id}'")).ok().to_owned();
    assert_eq!((status(1).trim(), status(2).trim()), ("success", "failed"));
}

#[test]
fn batchtools() {
    let (cluster, _worker) = with_worker(&["--cpus=4", "--resource=mem=sum(4000)"]);
    let line = "hq submit --name=abc123 --stdout=none --stderr=none --cpus=2 --resource mem=1000MiB --time-limit=3600s \
                --time-request=60s -- bash -c 'batchtools::doJobCollection(\"f.rds\")' || true";
    let submit = shell(&cluster, cluster.dir(), line);
    assert!(submit.ok().starts_with("Job submitted successfully, job ID: 1\n"), "{submit:?}");
    let list = |state: &str| {
        shell(&cluster, cluster.dir(), &format!("hq job list --filter {state} --output-mode json")).json()
    };
    cluster.finished(1);
    assert_eq!((list("waiting"), list("running")), (Value::Array(vec![]), Value::Array(vec![])));
    shell(&cluster, cluster.dir(), "hq submit -- sleep 3600").ok();
    cluster.until(2, "running", 1);
    assert_eq!(list("running")[0]["id"], 2);
    shell(&cluster, cluster.dir(), "hq job cancel 2").ok();
}

#[test]
fn um_bridge() {
    let (cluster, _worker) = with_worker(&["--cpus=1"]);
    fs::write(
        cluster.path("job.sh"),
        "#!/bin/bash\n#HQ --cpus=1\n#HQ --time-request=1m\n#HQ --time-limit=2m\nsleep 3600\n",
    )
    .unwrap();
    let submit = shell(&cluster, cluster.dir(), "hq submit --output-mode=quiet --priority=-3 job.sh");
    assert_eq!(submit.ok(), "1\n");
    cluster.until(1, "running", 1);
    let state = || shell(&cluster, cluster.dir(), "hq job info 1 | grep State | awk '{print $4}'").ok().to_owned();
    assert_eq!(state(), "RUNNING\n");
    shell(&cluster, cluster.dir(), "hq job cancel 1").ok();
    assert_eq!(state(), "CANCELED\n");
}

#[test]
fn scripts_of_sites() {
    let cluster = Cluster::new();
    fs::write(cluster.path("lines"), "a\nb\n").unwrap();
    fs::write(cluster.path("json"), "[1, {\"k\": 2}]").unwrap();
    let script = r#"
set -eu
hq server start --journal journal > server.log 2>&1 &
until hq job list &>/dev/null; do sleep 0.1; done
hq worker start --manager none --on-server-lost finish-running --idle-timeout 5m --cpus=4 --detect-resources=none --resource "mem=sum(1000)" > worker.log 2>&1 &
hq worker wait 1
hq submit --each-line lines --stdout 'x-%{TASK_ID}' --stderr none bash -c 'echo $HQ_ENTRY'
hq submit --from-json json --stdout 'y-%{TASK_ID}' --stderr none bash -c 'echo $HQ_ENTRY'
hq submit --array 1-3 --pin taskset --max-fails 1 --crash-limit 2 --stdout none --stderr none bash -c 'taskset -p $$ >&2'
hq submit --nodes 1 --progress --stdout nodes --stderr none bash -c 'cat $HQ_NODE_FILE | wc -l'
hq submit --stdout none --stderr none false
hq job wait all
if hq job list --all | grep -q "RUNNING\|PENDING"; then exit 7; fi
test "$(hq job list | wc -l)" -le 4
hq worker stop all
hq server stop
wait || true
"#;
    let output = shell(&cluster, cluster.dir(), script);
    assert_eq!(output.code, 0, "{output:?}\n{}\n{}", cluster.read("server.log"), cluster.read("worker.log"));
    assert_eq!((cluster.read("x-0"), cluster.read("x-1")), ("a\n".into(), "b\n".into()));
    assert_eq!((cluster.read("y-0"), cluster.read("y-1")), ("1\n".into(), "{\"k\":2}\n".into()));
    assert_eq!(cluster.read("nodes"), "1\n");
}
