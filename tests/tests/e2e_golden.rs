//! What each command prints, in the three modes, on both streams, and with which exit code: `tests/golden/commands.txt`,
//! which `UPDATE_GOLDEN=1` rewrites.

use std::fmt::Write as _;

use hq_tests::{Cluster, normal, root};

const COMMANDS: &[&[&str]] = &[
    &["server", "info"],
    &["server", "wait", "--timeout=5s"],
    &["server", "debug-dump", "dump.json"],
    &["worker", "list"],
    &["worker", "list", "--all"],
    &["worker", "list", "--filter=offline"],
    &["worker", "info", "1"],
    &["worker", "info", "9"],
    &["worker", "address", "1"],
    &["worker", "address", "9"],
    &["worker", "wait", "1"],
    &["job", "list"],
    &["job", "list", "--all", "--verbose"],
    &["job", "list", "--filter=failed,canceled"],
    &["job", "summary"],
    &["job", "info", "1"],
    &["job", "info", "2"],
    &["job", "info", "4"],
    &["job", "info", "5"],
    &["job", "info", "9"],
    &["job", "status", "2"],
    &["job", "status", "--snakemake", "2"],
    &["job", "status", "9"],
    &["job", "why", "all"],
    &["job", "task-ids", "1"],
    &["job", "task-ids", "1,2"],
    &["job", "task-ids", "1", "--filter=failed"],
    &["job", "task-ids", "9"],
    &["job", "cat", "1", "stdout"],
    &["job", "cat", "9", "stdout"],
    &["job", "wait", "1"],
    &["job", "wait", "5", "--without-close"],
    &["job", "progress", "1"],
    &["task", "list", "1"],
    &["task", "list", "1,2,4", "-v"],
    &["task", "list", "1", "--task-status=failed"],
    &["task", "list", "9"],
    &["task", "info", "2", "1-2"],
    &["task", "info", "4", "0,7"],
    &["task", "info", "9", "0"],
    &["task", "explain", "4", "0"],
    &["task", "explain", "1", "0"],
    &["task", "explain", "9", "0"],
    &["task", "notify", "hello"],
    &["journal", "flush"],
    &["journal", "prune"],
    &["journal", "prune", "none/journal"],
    &["journal", "repair", "none"],
    &["doc", "resources"],
];

/// Run once each: they change something.
const CHANGES: &[&[&str]] = &[
    &["job", "cancel", "1"],
    &["job", "cancel", "4", "--reason=no need"],
    &["job", "cancel", "4"],
    &["job", "cancel", "9"],
    &["job", "cancel", "all"],
    &["job", "close", "5"],
    &["job", "close", "5"],
    &["job", "close", "9"],
    &["job", "close", "all"],
    &["job", "forget", "1,9"],
    &["job", "forget", "2"],
    &["job", "forget", "2"],
    &["worker", "stop", "1"],
    &["worker", "stop", "1"],
    &["worker", "stop", "9"],
    &["server", "stop"],
];

#[test]
fn what_commands_print() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w", "1");
    let one = cluster.submit(&["--name=one", "--env=A=1", "echo", "hello"]);
    cluster.finished(one);
    let array = cluster.submit(&["--array=1-3", "--priority=2", "--max-fails=1", "bash", "-c", "exit 7"]);
    cluster.finished(array);
    cluster.submit(&["true"]);
    cluster.finished(3);
    cluster.submit(&["--cpus=4", "--stdout=none", "sleep", "3600"]);
    cluster.hq(&["job", "open", "--name=open"]).ok();

    let info = cluster.json(&["server", "info"]);
    let worker = cluster.json(&["worker", "list"]);
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut names = vec![
        (cluster.dir().display().to_string(), "DIR"),
        (text(&info["server_uid"]), "UID"),
        (text(&info["client_port"]), "CPORT"),
        (text(&info["worker_port"]), "WPORT"),
        (text(&info["pid"]), "PID"),
        (text(&info["client_host"]), "HOST"),
        (env!("CARGO_PKG_VERSION").to_owned(), "VERSION"),
    ];
    assert_eq!(worker[0]["id"], 1);
    let pid = cluster.hq(&["worker", "info", "1"]).table().get("Process pid").to_owned();
    names.push((pid, "WPID"));

    let mut seen = String::new();
    for args in COMMANDS {
        for mode in ["cli", "json", "quiet"] {
            show(&cluster, &["--output-mode", mode], args, &names, &mut seen);
        }
    }
    for args in CHANGES {
        show(&cluster, &[], args, &names, &mut seen);
    }
    let path = root().join("tests/golden/commands.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &seen).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let differ = seen.lines().zip(golden.lines()).enumerate().find(|(_, (seen, golden))| seen != golden);
    assert_eq!(differ, None, "the first line that is not as it should be (seen, golden)");
    assert_eq!(seen.lines().count(), golden.lines().count());
}

fn show(cluster: &Cluster, mode: &[&str], args: &[&str], names: &[(String, &str)], seen: &mut String) {
    let output = cluster.hq(&[mode, args].concat());
    _ = writeln!(seen, "$ hq {} => {}", [mode, args].concat().join(" "), output.code);
    *seen += &normal(&output.stdout, names);
    for line in normal(&output.stderr, names).lines() {
        _ = writeln!(seen, "2> {line}");
    }
}
