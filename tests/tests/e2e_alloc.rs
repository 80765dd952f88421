//! `hq alloc`: queues that ask batch systems for workers, with programs that answer in their place.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use hq_tests::{Cluster, Process, eventually, finish};
use serde_json::Value;

/// Programs of Slurm and PBS that note their calls in `fake/calls`, and run jobs on this machine if `fake/run` is there.
const PROGRAMS: [(&str, &str); 8] = [
    (
        "sbatch",
        r#"[ "$1" = --test-only ] && exit 0
[ -f "$FAKE/fail" ] && { echo out; echo FOOBAR >&2; exit 1; }
n=$(( $(cat "$FAKE/n" 2>/dev/null || echo 0) + 1 )); echo $n > "$FAKE/n"
pwd > "$FAKE/$n.dir"; echo PENDING > "$FAKE/$n.state"
if [ -f "$FAKE/run" ]; then
  echo RUNNING > "$FAKE/$n.state"
  SLURM_JOB_ID=$n setsid bash "$1" > stdout 2> stderr < /dev/null &
  echo $! > "$FAKE/$n.pid"
fi
echo "some banner"; echo "Submitted batch job $n""#,
    ),
    (
        "scontrol",
        r#"[ -f "$FAKE/$3.state" ] || { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }
echo "JobId=$3 JobName=x"; echo "   JobState=$(cat "$FAKE/$3.state") Reason=None"
echo "   RunTime=00:00:10 TimeLimit=01:00:00"; echo "   WorkDir=$(cat "$FAKE/$3.dir")""#,
    ),
    (
        "scancel",
        r#"[ -f "$FAKE/$1.pid" ] && kill -KILL -- -$(cat "$FAKE/$1.pid") 2>/dev/null
echo CANCELLED > "$FAKE/$1.state"; exit 0"#,
    ),
    ("squeue", "exit 0"),
    ("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1"),
    (
        "qsub",
        r#"n=$(( $(cat "$FAKE/n" 2>/dev/null || echo 0) + 1 )); echo $n > "$FAKE/n"
echo Q > "$FAKE/$n.job.state"; echo "$n.job""#,
    ),
    ("qstat", r#"echo "{\"Jobs\":{\"$2\":{\"job_state\":\"$(cat "$FAKE/$2.state")\"}}}""#),
    ("qdel", r#"echo F > "$FAKE/$1.state""#),
];

/// A server whose PATH begins with those programs, and whose patience is short.
struct Site {
    cluster: Cluster,
    _server: Process,
}

impl Site {
    fn new() -> Self {
        Self::with(&PROGRAMS.map(|(name, _)| name), &[])
    }

    fn with(programs: &[&str], args: &[&str]) -> Self {
        let mut cluster = Cluster::new();
        for dir in ["bin", "fake"] {
            fs::create_dir(cluster.path(dir)).expect("a directory");
        }
        for (name, body) in PROGRAMS.iter().filter(|(name, _)| programs.contains(name)) {
            let path = cluster.path("bin").join(name);
            let text = format!("#!/bin/bash\necho \"{name} $*\" >> \"$FAKE/calls\"\n{body}\n");
            fs::write(&path, text).expect("a program");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
        }
        let server = start(&mut cluster, args);
        Self { cluster, _server: server }
    }

    fn fake(&self, name: &str) -> String {
        self.cluster.read(&format!("fake/{name}"))
    }

    fn set(&self, name: &str, text: &str) {
        fs::write(self.cluster.path("fake").join(name), text).expect("a file");
    }

    fn calls(&self, program: &str) -> Vec<String> {
        let word = format!("{program} ");
        self.fake("calls").lines().filter(|line| line.starts_with(&word)).map(str::to_owned).collect()
    }

    fn allocations(&self, queue: &str) -> Value {
        self.cluster.json(&["alloc", "info", queue])
    }

    /// Waits until the allocations of queue 1 are in these states.
    #[track_caller]
    fn wait_for(&self, states: &[&str]) -> Value {
        let seen = |all: &Value| all.as_array().into_iter().flatten().map(|a| a["status"].clone()).collect::<Vec<_>>();
        eventually("states of allocations", || self.allocations("1"), |all| seen(all) == states)
    }
}

fn start(cluster: &mut Cluster, args: &[&str]) -> Process {
    let mut command = cluster.command(&["server", "start"]);
    let path = std::env::var("PATH").unwrap_or_default();
    command.args(args).env("PATH", format!("{}:{path}", cluster.path("bin").display()));
    command.env("FAKE", cluster.path("fake")).env("HQ_AUTOALLOC_REFRESH_INTERVAL_MS", "100");
    command.env("HQ_AUTOALLOC_SCHEDULE_TICK_INTERVAL_MS", "100");
    let server = cluster.spawn(&mut command, "server");
    finish(&mut cluster.command(&["server", "wait"]));
    server
}

#[test]
fn queues_come_and_go_in_all_modes() {
    let site = Site::new();
    let added = site.cluster.hq(&["alloc", "add", "pbs", "-t", "3m", "-b", "2", "-n", "foo", "--", "-q", "qexp"]);
    assert_eq!(added.ok(), "");
    assert!(added.stderr.contains("Allocation queue 1 successfully created"), "{}", added.stderr);
    assert!(added.stderr.contains("A trial allocation was submitted successfully."), "{}", added.stderr);
    assert!(added.stderr.contains("one allocation at a time"), "{}", added.stderr);
    let second = ["alloc", "add", "slurm", "--time-limit", "1h 10m", "-m", "2", "--max-worker-count=7", "--cpus=4"];
    assert_eq!(site.cluster.json(&second), serde_json::json!({}));
    let rows = site.cluster.hq(&["alloc", "list"]).table().rows;
    assert_eq!(
        rows,
        [
            ["1", "ACTIVE", "2", "1", "0", "3m", "PBS", "<unknown>", "foo", "-q,qexp"],
            ["2", "ACTIVE", "1", "2", "7", "1h 10m", "SLURM", "<unknown>", "", ""],
        ]
    );
    let list = site.cluster.json(&["alloc", "list"]);
    assert_eq!(list[1]["worker_args"][1], "\"4\"");
    assert_eq!((&list[1]["manager"], &list[1]["timelimit"]), (&"Slurm".into(), &4200.0.into()));
    assert_eq!(site.cluster.hq(&["--output-mode=quiet", "alloc", "list"]).ok(), "");
    assert!(site.cluster.hq(&["alloc", "info", "1"]).table().rows.is_empty());

    assert!(site.cluster.hq(&["alloc", "pause", "2"]).stderr.contains("Allocation queue 2 successfully paused"));
    assert_eq!(site.cluster.json(&["alloc", "list"])[1]["state"], "Paused");
    assert!(site.cluster.hq(&["alloc", "resume", "2"]).stderr.contains("Allocation queue 2 successfully resumed"));
    assert!(site.cluster.hq(&["alloc", "remove", "2"]).stderr.contains("Allocation queue 2 successfully removed"));
    assert_eq!(site.cluster.json(&["alloc", "list"]).as_array().map(Vec::len), Some(1));
    for (args, error) in [
        (&["alloc", "info", "99"][..], "Queue 99 not found"),
        (&["alloc", "remove", "99"], "Queue 99 not found"),
        (&["alloc", "pause", "99"], "Queue 99 not found"),
        (&["alloc", "log", "x.job", "stdout"], "Allocation x.job not found"),
        (&["alloc", "add", "pbs", "-t", "1h", "-b", "0"], "Backlog has to be at least 1"),
        (
            &["alloc", "add", "pbs", "-t", "1h", "--worker-time-limit", "2h"],
            "Worker time limit cannot be larger than queue time limit",
        ),
        (&["alloc", "add", "pbs", "-t", "1h", "-n", "../x"], "name of a queue"),
    ] {
        let output = site.cluster.hq(args);
        assert_eq!(output.code, 1, "{args:?}: {}", output.stderr);
        assert!(output.stderr.contains(error), "{args:?}: {}", output.stderr);
    }
}

#[test]
fn tasks_run_on_workers_that_slurm_starts() {
    let site = Site::new();
    site.set("run", "");
    let add =
        ["alloc", "add", "slurm", "-t", "1h", "--no-dry-run", "--cpus=1", "--detect-resources=none", "--", "--x=y z"];
    site.cluster.hq(&add).ok();
    site.cluster.hq(&["submit", "--wait", "--", "true"]).ok();
    let all = site.wait_for(&["running"]);
    let run_dir = site.cluster.server_dir().join("001");
    let dir = run_dir.join("autoalloc/1/001");
    assert_eq!(all[0]["workdir"].as_str().map(Path::new), Some(&*dir));
    assert_eq!(all[0]["target_worker_count"], 1);
    let script = fs::read_to_string(dir.join("hq-submit.sh")).expect("the script");
    let hq = hq_tests::hq_binary().display();
    let command = format!(
        "{hq} worker start --idle-timeout \"5m\" --manager \"slurm\" --server-dir \"{}\" --cpus \"1\" \
         --detect-resources none --on-server-lost \"finish-running\" --time-limit \"1h\"",
        run_dir.display()
    );
    let (out, err) = (dir.join("stdout"), dir.join("stderr"));
    let expected = format!(
        "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --job-name=hq-1-1\n#SBATCH --output={}\n#SBATCH --error={}\n\
         #SBATCH --time=01:00:00\n#SBATCH --x=y z\n\n{command}\n",
        out.display(),
        err.display()
    );
    assert_eq!(script, expected);
    assert_eq!(site.calls("sbatch"), [format!("sbatch {}", dir.join("hq-submit.sh").display())]);
    let workers = site.cluster.json(&["worker", "list"]);
    assert_eq!(workers[0]["allocation"], serde_json::json!({ "manager": "Slurm", "id": "1" }));
    let known = &site.cluster.json(&["alloc", "list"])[0]["known_worker_resources"];
    assert_eq!(known["resources"][0]["name"], "cpus");
    assert!(site.cluster.hq(&["alloc", "log", "1", "stdout"]).ok().contains("Worker"));

    let refused = site.cluster.hq(&["alloc", "remove", "1"]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("Allocation queue has running jobs, so it will not be removed."),
        "{}",
        refused.stderr
    );
    site.cluster.hq(&["alloc", "remove", "1", "--force"]).ok();
    assert_eq!(site.calls("scancel"), ["scancel 1"]);
    assert!(site.cluster.json(&["alloc", "list"]).as_array().is_some_and(Vec::is_empty));
}

#[test]
fn a_trial_that_fails_says_all_that_the_command_said() {
    let site = Site::with(&["sbatch", "scancel"], &[]);
    site.set("fail", "");
    for args in [&["alloc", "add", "slurm", "-t", "1h"][..], &["alloc", "dry-run", "slurm", "-t", "1h"]] {
        let output = site.cluster.hq(args);
        assert_eq!(output.code, 1);
        for part in ["Could not submit allocation: sbatch execution failed", "Exit code", "Stderr: FOOBAR", "Stdout"] {
            assert!(output.stderr.contains(part), "{part}: {}", output.stderr);
        }
    }
    let missing = site.cluster.hq(&["alloc", "add", "pbs", "-t", "1h"]);
    assert_eq!(missing.code, 1);
    // Where PBS is installed, its qsub has something else to say.
    assert!(missing.stderr.contains("Could not submit allocation: qsub"), "{}", missing.stderr);
    assert!(site.cluster.json(&["alloc", "list"]).as_array().is_some_and(Vec::is_empty));
    fs::remove_file(site.cluster.path("fake/fail")).expect("removed");
    let output = site.cluster.hq(&["alloc", "dry-run", "slurm", "-t", "1h"]);
    output.ok();
    assert!(output.stderr.contains("It was immediately canceled"), "{}", output.stderr);
    assert_eq!(site.calls("scancel"), ["scancel 1"]);
}

#[test]
fn a_server_that_stops_leaves_no_allocation_behind() {
    let site = Site::new();
    site.cluster.hq(&["alloc", "add", "slurm", "-t", "1h", "-b", "3", "--cpus=1", "--no-dry-run"]).ok();
    site.cluster.hq(&["submit", "--array=1-3", "true"]).ok();
    site.wait_for(&["queued", "queued", "queued"]);
    site.set("1.state", "RUNNING");
    site.wait_for(&["running", "queued", "queued"]);
    site.cluster.hq(&["server", "stop"]).ok();
    let mut canceled = site.calls("scancel");
    canceled.sort();
    // One more is asked for when the first one begins, unless the stop came first.
    assert!(canceled.len() >= 3, "{canceled:?}");
    assert_eq!(canceled[..3], ["scancel 1", "scancel 2", "scancel 3"]);
    assert_eq!(canceled.len().to_string(), site.fake("n").trim(), "all that there are");
}

#[test]
fn a_restart_goes_on_with_what_there_is() {
    let mut site = Site::with(&PROGRAMS.map(|(name, _)| name), &["--journal=journal"]);
    site.cluster.hq(&["alloc", "add", "slurm", "-t", "1h", "-b", "2", "--cpus=1", "--no-dry-run"]).ok();
    site.cluster.hq(&["submit", "--array=1-9", "true"]).ok();
    let before = (site.wait_for(&["queued", "queued"]), site.cluster.json(&["alloc", "list"]));
    site.cluster.hq(&["journal", "flush"]).ok();
    site._server.signal(hq_tests::Signal::KILL);
    site._server.wait();
    site._server = start(&mut site.cluster, &["--journal=journal"]);
    assert_eq!((site.allocations("1"), site.cluster.json(&["alloc", "list"])), before);
    assert_eq!(site.fake("n").trim(), "2", "nothing was asked for twice");
    // It follows them, and asks for more where there is room.
    site.set("2.state", "FAILED");
    let has_failed = |all: &Value| all[1]["status"] == "failed";
    eventually("the second one fails", || site.allocations("1"), has_failed);
    site.cluster.hq(&["server", "stop"]).ok();
    let canceled = site.calls("scancel");
    assert!(canceled.contains(&"scancel 1".to_owned()), "{canceled:?}");
    assert!(!canceled.contains(&"scancel 2".to_owned()), "it has ended: {canceled:?}");
}

#[test]
fn events_tell_of_queues_and_allocations() {
    let site = Site::with(&PROGRAMS.map(|(name, _)| name), &["--journal=journal"]);
    site.cluster.hq(&["alloc", "add", "pbs", "-t", "1h", "--no-dry-run"]).ok();
    site.cluster.hq(&["submit", "true"]).ok();
    site.wait_for(&["queued"]);
    site.set("1.job.state", "R");
    site.wait_for(&["running"]);
    site.cluster.hq(&["alloc", "remove", "1", "--force"]).ok();
    site.cluster.hq(&["server", "stop"]).ok();
    let export = site.cluster.hq(&["journal", "export", "journal"]);
    let events = export.ok().lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let told = events.filter_map(|line| {
        let event = &line["event"];
        let kind = event["type"].as_str()?.strip_prefix("autoalloc-")?.to_owned();
        Some((kind, event["queue-id"].as_u64()?, event["allocation-id"].as_str().unwrap_or_default().to_owned()))
    });
    let told: Vec<(String, u64, String)> = told.collect();
    let expected = [
        ("queue-created", ""),
        ("allocation-queued", "1.job"),
        ("allocation-started", "1.job"),
        ("allocation-finished", "1.job"),
        ("queue-removed", ""),
    ];
    assert_eq!(told, expected.map(|(kind, id)| (kind.to_owned(), 1, id.to_owned())));
}

#[test]
fn this_machine_gives_workers_too() {
    let site = Site::with(&[], &[]);
    site.cluster.hq(&["alloc", "add", "local", "-t", "1h", "--cpus=2", "--detect-resources=none"]).ok();
    site.cluster.hq(&["submit", "--wait", "--cpus=2", "--", "true"]).ok();
    let workers = site.cluster.json(&["worker", "list"]);
    assert_eq!(workers[0]["allocation"]["manager"], "Local");
    site.cluster.hq(&["alloc", "remove", "1", "--force"]).ok();
    let gone = |all: &Value| all.as_array().is_some_and(Vec::is_empty);
    eventually("the worker goes", || site.cluster.json(&["worker", "list"]), gone);
}
