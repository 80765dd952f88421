//! A billion tasks that never ran are a few numbers in every command, under a limit of memory; who reads only the first lines of
//! an answer has them at once, and nobody complains.

use std::process::Command;

use hq_tests::{Cluster, Output, finish, hq_binary};

/// `hq ARGS | FILTER` with 1 GiB of address space. The exit code is that of `hq`, 141 where its reader has gone.
fn limited(cluster: &Cluster, args: &str, filter: &str) -> Output {
    let script = format!(
        "ulimit -v 1048576; {{ {} {args}; echo \"rc=$?\" >&2; }} | {filter}",
        hq_binary().display().to_string().replace(' ', "\\ ")
    );
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).env("HQ_SERVER_DIR", cluster.server_dir()).current_dir(cluster.dir());
    finish(&mut shell)
}

#[test]
fn every_command_shows_a_billion_canceled_tasks() {
    let journal = std::env::temp_dir().join(format!("hq-billions-{}.journal", std::process::id()));
    let journal = journal.to_string_lossy().into_owned();
    let cluster = Cluster::start_with(&["--journal", &journal]);
    cluster.hq(&["submit", "--array=0-999999999", "--stdout=none", "--stderr=none", "true"]).ok();
    cluster.hq(&["job", "cancel", "1"]).ok();
    for (args, filter, part, code) in [
        ("job list --all", "cat", "1000000000", 0),
        ("job info 1", "cat", "1000000000; Ids: 0-999999999", 0),
        ("--output-mode=json job info 1", "head -c 200", "\"task_count\": 1000000000", 141),
        ("task list 1", "head -n 4", "CANCELED", 141),
        ("task list 1 --tasks 999999998-1000000002", "cat", "| 999999999 | CANCELED |", 0),
        ("task list 1 --task-status finished", "cat", "Task ID", 0),
        ("--output-mode=json task list 1", "head -n 4", "\"id\": 0", 141),
        ("task info 1 5,999999999", "cat", "| Task ID      | 999999999 ", 0),
        ("task info 1 0-999999999", "head -n 2", "| Task ID      | 0 ", 141),
        ("job task-ids 1", "cat", "0-999999999", 0),
        ("--output-mode=json job task-ids 1", "head -n 3", "0", 141),
        ("job cat 1 stdout", "cat", "", 0),
        ("journal replay", "head -c 2000", "job-created", 141),
        (&format!("journal export {journal}"), "head -c 2000", "job-created", 141),
        ("server debug-dump dump.json", "cat", "", 0),
        ("--output-mode=json job list --all", "cat", "\"canceled\": 1000000000", 0),
        ("job rerun 1 --filter canceled", "cat", "job ID: 2", 0),
    ] {
        let output = limited(&cluster, args, filter);
        assert!(output.stdout.contains(part), "{args}: {output:?}");
        assert!(output.stderr.trim_end().ends_with(&format!("rc={code}")), "{args}: {}", output.stderr);
        let errors = ["panicked", "allocation", "ERROR", "Broken pipe"];
        assert!(!errors.iter().any(|error| output.stderr.contains(error)), "{args}: {}", output.stderr);
    }
    let dump = cluster.read("dump.json");
    assert!(dump.len() < 100_000 && dump.contains("\"ids\": \"0-999999999\""), "{} bytes", dump.len());
    assert_eq!(cluster.json(&["job", "list"])[0]["task_stats"]["waiting"], 1_000_000_000);
    let _ = std::fs::remove_file(&journal);
}
