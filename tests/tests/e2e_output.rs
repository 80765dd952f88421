//! The output as such: the published JSON schema, names that would act on a terminal, streams that are closed.

use std::{fs, process::Command};

use hq_tests::{Cluster, finish, root, violations};
use serde_json::Value;

fn schema() -> Value {
    serde_json::from_str(&fs::read_to_string(root().join("docs/schema/v1.json")).unwrap()).unwrap()
}

#[test]
fn every_document_fits_the_published_schema() {
    let mut cluster = Cluster::start();
    let _worker =
        cluster.worker_with("w", &["--cpus=2x1", "--resource=x=[a]", "--resource=y=sum(1.5)", "--time-limit=1h"]);
    cluster.submit(&[
        "--array=1-3",
        "--env=A=1",
        "--time-limit=1m",
        "--pin=taskset",
        "--stderr=none",
        "bash",
        "-c",
        "exit $((HQ_TASK_ID == 2))",
    ]);
    cluster.finished(1);
    cluster.submit(&["--nodes=2", "sleep", "3600"]);
    cluster.submit(&["--cpus=all", "--resource=x=1", "--crash-limit=unlimited", "sleep", "3600"]);
    cluster.until(3, "running", 1);
    cluster.submit(&["--cpus=99", "--time-request=1m", "--array=0-8:4", "true"]);
    let schema = schema();
    let mut documents = 0;
    let mut check = |args: &[&str]| {
        let output = cluster.hq(&[&["--output-mode=json-v1"], args].concat());
        let document: Value =
            serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        assert_eq!(violations(&schema, &document), Vec::<String>::new(), "{args:?}");
        assert_eq!(document["schema"], 1);
        assert!(args.join(" ").contains(document["command"].as_str().unwrap()), "{document}");
        // What was selected and is not there, or has nothing left to cancel, is no failure of the command, but it is told.
        let is_missing = args.contains(&"9") || args == ["job", "cancel", "5"];
        assert_eq!(
            (document.get("data").is_some(), document.get("error").is_some()),
            (output.code == 0, output.code == 1 || is_missing),
            "{document}"
        );
        documents += 1;
    };
    for args in [
        &["job", "list", "--all"][..],
        &["job", "summary"],
        &["job", "info", "all"],
        &["job", "task-ids", "all"],
        &["job", "status", "1"],
        &["job", "why", "all"],
        &["job", "open"],
        &["job", "submit", "true"],
        &["job", "cancel", "5"],
        &["job", "close", "5"],
        &["job", "wait", "1"],
        &["job", "progress", "1"],
        &["job", "cat", "1", "stdout"],
        &["submit", "true"],
        &["task", "list", "1-4"],
        &["task", "info", "3", "0"],
        &["task", "info", "9", "0"],
        &["task", "explain", "4", "0"],
        &["task", "explain", "2", "0"],
        &["task", "explain", "9", "0"],
        &["worker", "list", "--all"],
        &["worker", "info", "all"],
        &["worker", "address", "1"],
        &["worker", "wait", "1"],
        &["worker", "hwdetect"],
        &["job", "forget", "all"],
        &["server", "info"],
        &["doc", "faq"],
        &["worker", "stop", "9"],
        &["worker", "info", "9"],
        &["worker", "address", "9"],
        &["job", "info", "9"],
        &["job", "why", "9"],
        &["job", "task-ids", "9"],
        &["job", "status", "9"],
        &["job", "wait", "9"],
        &["job", "cancel", "9"],
        &["job", "close", "9"],
        &["job", "forget", "9"],
        &["task", "list", "9"],
        &["alloc", "info", "9"],
        &["alloc", "pause", "9"],
        &["alloc", "resume", "9"],
        &["alloc", "remove", "9"],
        &["alloc", "log", "9", "stdout"],
    ] {
        check(args);
    }
    assert_eq!(documents, 45);
    // What is there is told beside what is not.
    let mixed: Value =
        serde_json::from_str(cluster.hq(&["--output-mode=json-v1", "job", "info", "3,99"]).ok()).unwrap();
    assert_eq!((&mixed["error"], &mixed["data"][0]["info"]["id"]), (&"Job 99 not found".into(), &3.into()), "{mixed}");
    // What existing callers read stays as it is.
    assert!(cluster.json(&["job", "list"]).is_array());
    assert_eq!(
        cluster.hq(&["--output-mode=json", "job", "status", "99"]).fails(1),
        "{\n  \"error\": \"Job 99 not found\"\n}\n"
    );
}

#[test]
fn names_do_nothing_to_a_terminal() {
    let evil = "\u{1b}[31mred\u{202e}\u{9b}2J<script>alert(1)</script>";
    let mut cluster = Cluster::new();
    let journal = cluster.path("journal").display().to_string();
    cluster.start_server(&["--journal", &journal]);
    let mut command = cluster.command(&["worker", "start", "--cpus=1", "--group", evil, "--hostname", evil]);
    let _worker = cluster.spawn(&mut command, "w");
    let env = format!("--env={evil}={evil}");
    let job = cluster.submit(&["--name", evil, &env, "--cwd", evil, "--stdout", evil, &format!("./{evil}"), evil]);
    cluster.finished(job);
    cluster.submit(&["--name", evil, "sleep", "3600"]);
    cluster.hq(&["job", "cancel", "2", "--reason", evil]).ok();
    for args in [
        &["job", "list", "--all", "--verbose"][..],
        &["job", "info", "all"],
        &["job", "why", "all"],
        &["task", "list", "1-2", "-v"],
        &["task", "info", "1", "0", "-v"],
        &["worker", "list"],
        &["worker", "info", "1"],
        &["worker", "address", "1"],
        &["job", "open", "--name", evil],
        &["job", "info", evil],
        &["submit", "--array", evil, "true"],
        &["journal", "export", evil],
        &["journal", "replay"],
        &["journal", "export", &journal],
    ] {
        for mode in ["cli", "json", "json-v1", "quiet"] {
            let output = cluster.hq(&[&["--output-mode", mode], args].concat());
            let text = format!("{}{}", output.stdout, output.stderr);
            let acts = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{202d}\u{200f}".contains(c);
            assert!(!text.contains(acts), "{mode} {args:?}: {text:?}");
        }
    }
    // Escaped, it is still the same name.
    assert_eq!(cluster.json(&["job", "list", "--all"])[0]["name"], evil);
}

#[test]
fn closed_streams_end_commands_quietly() {
    let cluster = Cluster::start();
    (0..200).for_each(|_| _ = cluster.submit(&["true"]));
    let shell = |script: &str| {
        let hq = format!("'{}' --server-dir '{}'", hq_tests::hq_binary().display(), cluster.server_dir().display());
        finish(Command::new("bash").args(["-c", &script.replace("HQ", &hq)]).current_dir(cluster.dir()))
    };
    for (script, expected) in [
        ("HQ job list <&- >&-", 0),
        ("HQ job list <&- 2>&-", 0),
        ("HQ job list | head -1 > /dev/null; exit ${PIPESTATUS[1]}", 0),
        ("HQ job info all | head -1 > /dev/null; exit ${PIPESTATUS[0]}", 141),
        ("HQ --output-mode=json job info all | head -c1 > /dev/null; exit ${PIPESTATUS[0]}", 141),
        ("HQ job submit --stdin cat <&- > /dev/null", 0),
    ] {
        let output = shell(script);
        assert_eq!(output.code, expected, "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }
    // A full disk is told, and is no success.
    let full = shell("HQ job list > /dev/full");
    assert!(full.fails(1).contains("cannot write to standard output"), "{full:?}");
}

/// Runs a command on a terminal of so many columns; what it printed.
fn on_terminal(cluster: &Cluster, columns: u32, env: &str, command: &str) -> Option<String> {
    let hq = format!("'{}' --server-dir '{}'", hq_tests::hq_binary().display(), cluster.server_dir().display());
    let inner = format!("stty rows 24 cols {columns}; {}", command.replace("HQ", &format!("env {env} {hq}")));
    let mut script = Command::new("script");
    script.args(["-qec", &inner, "/dev/null"]).env("TERM", "xterm").env_remove("NO_COLOR");
    let has_script = Command::new("script").arg("--version").output().is_ok_and(|output| output.status.success());
    has_script.then(|| finish(&mut script).ok().to_owned())
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let mut cluster = Cluster::start();
    cluster.submit(&["--array=1-9", "sleep", "3600"]);
    for (env, colored) in [("A=1", true), ("NO_COLOR=1", false), ("NO_COLOR=", true), ("TERM=dumb", false)] {
        let Some(text) = on_terminal(&cluster, 40, env, "HQ job list") else {
            return hq_tests::skip("no program script");
        };
        assert_eq!(text.contains("\u{1b}[36mWAITING"), colored, "{env}: {text:?}");
    }
    let never = on_terminal(&cluster, 40, "A=1", "HQ --colors=never job list").unwrap();
    assert!(!never.contains('\u{1b}') && never.contains("| WAITING | 9"), "tables are never cut: {never:?}");
    let info = on_terminal(&cluster, 40, "NO_COLOR=1", "HQ job info 1").unwrap();
    assert!(info.contains("Task 1@1 waits for a worker: there is none."), "people are told why: {info:?}");

    let _worker = cluster.worker("w", "1");
    cluster.submit(&["true"]);
    let progress = on_terminal(&cluster, 40, "NO_COLOR=1", "HQ job cancel 1; HQ job progress 2").unwrap();
    let line = progress.trim_end().rsplit("\u{1b}[2K").next().unwrap();
    assert_eq!(line, format!("[{}] 1/1 jobs, 1/1 tasks", "#".repeat(17)), "in one line of 39 characters: {progress:?}");
}

#[test]
fn completions_and_manual_pages() {
    let cluster = Cluster::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = cluster.hq(&["generate-completion", shell]);
        assert!(output.ok().contains("task-ids") && !output.stderr.is_empty(), "{shell}");
    }
    cluster.hq(&["generate-completion", "csh"]).fails(2);
    cluster.hq(&["generate-man", "man"]).ok();
    for (page, text) in [("hq.1", "job"), ("hq-job-list.1", "hq job list \\-\\-all"), ("hq-submit.1", "\\-\\-array")] {
        let found = cluster.read(&format!("man/{page}"));
        assert!(found.starts_with(".ie") || found.contains(".TH"), "{page}: {found}");
        assert!(found.contains(text), "{page}: {found}");
    }
    assert!(cluster.hq(&["doc", "pbs"]).ok().starts_with("https://"));
    cluster.hq(&["doc", "cooking"]).fails(2);
}
