//! The program as its callers see it, without a server: help, exit codes, what is on which stream.

use std::{
    os::unix::process::ExitStatusExt,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// Runs `hq` with a server directory in which no server is.
fn hq(args: &[&str]) -> Output {
    let dir = TempDir::new().expect("a directory");
    command(args).env("HQ_SERVER_DIR", dir.path()).output().expect("runs")
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hq"));
    command.args(args).stdin(Stdio::null());
    for name in ["HQ_SERVER_DIR", "HQ_OUTPUT_MODE", "HQ_DEBUG", "RUST_LOG", "NO_COLOR"] {
        command.env_remove(name);
    }
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

const COMMANDS: &[&[&str]] = &[
    &["server", "start"],
    &["server", "stop"],
    &["server", "info"],
    &["server", "wait"],
    &["worker", "start"],
    &["worker", "stop"],
    &["worker", "list"],
    &["worker", "info"],
    &["server", "generate-access"],
    &["server", "debug-dump"],
    &["worker", "wait"],
    &["worker", "address"],
    &["worker", "hwdetect"],
    &["worker", "deploy-ssh"],
    &["submit"],
    &["run"],
    &["job", "submit"],
    &["job", "submit-file"],
    &["job", "rerun"],
    &["job", "list"],
    &["job", "summary"],
    &["job", "info"],
    &["job", "wait"],
    &["job", "progress"],
    &["job", "status"],
    &["job", "why"],
    &["job", "cat"],
    &["job", "cancel"],
    &["job", "forget"],
    &["job", "task-ids"],
    &["job", "open"],
    &["job", "close"],
    &["task", "list"],
    &["task", "info"],
    &["task", "explain"],
    &["task", "notify"],
    &["journal", "export"],
    &["journal", "stream"],
    &["journal", "replay"],
    &["journal", "flush"],
    &["journal", "report"],
    &["journal", "prune"],
    &["journal", "repair"],
    &["output-log"],
    &["simulate"],
    &["doc"],
    &["generate-completion"],
    &["generate-man"],
];

#[test]
fn every_command_has_help_with_examples() {
    for path in COMMANDS {
        for flag in ["-h", "--help"] {
            let output = hq(&[*path, &[flag]].concat());
            let help = text(&output.stdout);
            assert_eq!(output.status.code(), Some(0), "{path:?}");
            assert!(help.contains(&format!("Usage: hq {}", path.join(" "))), "{path:?}: {help}");
            assert!(help.contains("Examples:\n  hq "), "{path:?}: {help}");
            assert_eq!(
                help.contains("--colors <POLICY>"),
                flag == "--help",
                "{path:?}: global options in {flag}: {help}"
            );
            assert!(!help.contains('\x1b') && output.stderr.is_empty(), "{path:?}");
        }
    }
}

#[test]
fn the_list_of_commands_is_complete() {
    for group in ["server", "worker", "job", "task", "journal"] {
        let help = text(&hq(&[group, "-h"]).stdout);
        let listed = help.split("Commands:\n").nth(1).expect("commands").split("\n\n").next().expect("a block");
        for name in listed.lines().filter_map(|line| line.split_whitespace().next()) {
            assert!(COMMANDS.contains(&&[group, name][..]), "{group} {name} is not tested");
        }
    }
}

#[test]
fn version_at_every_level() {
    let expected = format!("hyperqueue {}\n", env!("CARGO_PKG_VERSION"));
    for args in [&["-V"][..], &["--version"], &["job", "-V"], &["job", "list", "-V"], &["submit", "--version"]] {
        let output = hq(args);
        assert_eq!((text(&output.stdout), output.status.code()), (expected.clone(), Some(0)), "{args:?}");
    }
}

#[test]
fn parse_errors_exit_with_2_on_standard_error() {
    for args in [
        &[][..],
        &["job"],
        &["server"],
        &["help"],
        &["job", "help"],
        &["frobnicate"],
        &["job", "list", "--frobnicate"],
        &["job", "list", "--all", "--filter", "failed"],
        &["job", "list", "--filter", "odd"],
        &["worker", "list", "--all", "--filter", "offline"],
        &["job", "info", "1-"],
        &["job", "cat", "all", "stdout"],
        &["job", "cat", "1", "stdin"],
        &["--output-mode", "xml", "job", "list"],
        &["--server-dir=a", "job", "list", "--server-dir=b"],
        &["submit"],
        &["submit", "--array", "5-1", "true"],
        &["submit", "--name", "", "true"],
        &["job", "open", "--name", ""],
        &["worker", "start", "--time-limit", "0"],
        &["worker", "start", "--heartbeat", "0s"],
        &["worker", "start", "--cpus", "x"],
        &["worker", "start", "--min-utilization", "1.5"],
        &["worker", "start", "--detect-resources", "cpus,foo"],
        &["worker", "start", "--overview-interval", "10"],
        &["worker", "wait", "many"],
    ] {
        let output = hq(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{args:?}");
        assert!(!output.stderr.contains(&0x1b), "{args:?}");
    }
}

#[test]
fn without_a_server_every_client_command_fails_with_1() {
    let cases: &[&[&str]] = &[
        &["server", "info"],
        &["server", "stop"],
        &["job", "list"],
        &["job", "info", "last"],
        &["job", "wait", "last"],
        &["submit", "true"],
        &["worker", "list"],
        &["worker", "stop", "all"],
        &["worker", "start", "--cpus", "1"],
        &["task", "list", "last"],
    ];
    for args in cases {
        let output = hq(args);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {error}");
        assert!(output.stdout.is_empty() && error.contains("Error: No running instance of HQ found at"), "{error}");
        let json = hq(&[&["--output-mode=json"], *args].concat());
        let document: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
        let error = document["error"].as_str().expect("an error");
        assert_eq!((json.status.code(), document.as_object().expect("an object").len()), (Some(1), 1), "{args:?}");
        assert!(error.starts_with("No running instance of HQ found at"), "{error}");
    }
}

#[test]
fn a_missing_directory_is_named() {
    let dir = TempDir::new().expect("a directory");
    let missing = dir.path().join("none");
    for (args, expected) in [
        (&["job", "list"][..], "Error: Invalid server directory: "),
        (&["worker", "start", "--cpus=1"], "Error: Cannot load server directory: "),
    ] {
        let output = command(args).arg("--server-dir").arg(&missing).output().expect("runs");
        let error = text(&output.stderr);
        assert!(error.contains(&format!("{expected}{missing:?} is not a directory")), "{error}");
        let (first, second) = error.trim_end().split_once('\n').expect("an error, and below it what to do");
        assert!(first.starts_with(expected), "{error}");
        assert!(second.starts_with("Hint: start a server with `hq server start") && !second.contains('\n'), "{error}");
    }
}

#[test]
fn a_bad_worker_is_refused_before_a_server_is_looked_for() {
    for (args, expected) in [
        (
            &["--detect-resources=none"][..],
            "You have to specify --cpus explicitly when opting out of CPU automatic detection",
        ),
        (&["--cpus=1", "--resource=cpus=2"], "Parameters --cpus and --resource cpus=... cannot be combined"),
        (&["--cpus=sum(5)"], "Resource kind `sum` cannot be used with CPUs"),
        (&["--resource=cpus=sum(5)"], "Resource kind `sum` cannot be used with CPUs"),
        (&["--cpus=1", "--resource=x=[1]", "--resource=x=[1]"], "Resource x defined twice"),
        (&["--cpus=1", "--resource=x=sum(0)"], "Resource x is empty"),
    ] {
        let output = hq(&[&["worker", "start"], args].concat());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {error}");
        assert!(error.contains(expected), "{args:?}: {error}");
    }
    let outside = command(&["worker", "start", "--cpus=1", "--manager=pbs"]).env_remove("PBS_JOBID").output();
    assert_eq!(outside.expect("runs").status.code(), Some(1));
}

#[test]
fn bad_submits_are_refused() {
    for (args, expected) in [
        (
            &["--cwd=%{CWD}/x", "true"][..],
            "Working directory path cannot contain the working directory placeholder `%{CWD}`.",
        ),
        (&[""], "The command is empty: name the program to run."),
        (&["--cpus=1", "--resource=cpus=1", "true"], "--cpus and --resource cpus=... cannot be combined"),
        (&["--resource=foo=1", "--resource=foo=1", "true"], "Resource 'foo' defined more than once"),
        (&["--job=1", "--name=x", "true"], "Parameter --name is not allowed when submitting to an open job."),
    ] {
        let output = hq(&[&["submit"], args].concat());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {error}");
        assert!(error.contains(expected), "{args:?}: {error}");
    }
}

#[test]
fn server_wait_gives_up_in_time() {
    for timeout in ["1s", "00:01"] {
        let start = Instant::now();
        let output = hq(&["server", "wait", "--timeout", timeout]);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1));
        assert!(error.contains("Timeout after 1s: Could not connect to server at `"), "{error}");
        assert!(error.contains("`. Make sure that the server is running."), "{error}");
        assert!((Duration::from_secs(1)..Duration::from_secs(3)).contains(&start.elapsed()));
    }
}

#[test]
fn warnings_are_log_lines() {
    let output = hq(&["submit", "--env=A=1", "--env=A=\x1b[31m", "--stdout=%{F|O}", "true"]);
    let lines = text(&output.stderr);
    let first = lines.lines().next().expect("a line");
    let (time, rest) = first.split_once(' ').expect("a time");
    assert!(time.len() == 20 && time.ends_with('Z') && time.as_bytes()[10] == b'T', "{time}");
    assert_eq!(rest, "WARN Found unknown placeholder `F¦O` in stdout path");
    let long = hq(&["--debug", "submit", "--stdout=%{FOO}", "true"]);
    let lines = text(&long.stderr);
    let line = lines.lines().find(|line| line.contains("FOO")).expect("a line");
    assert!(line.starts_with('[') && line.contains(" WARN  hq_cli::"), "{line}");
}

#[test]
fn unknown_log_targets_are_no_error() {
    let dir = TempDir::new().expect("a directory");
    let output = command(&["submit", "--stdout=%{FOO}", "true"])
        .env("HQ_SERVER_DIR", dir.path())
        .env("RUST_LOG", "tako=trace,hyperqueue=trace")
        .output()
        .expect("runs");
    let error = text(&output.stderr);
    assert!(error.lines().next().is_some_and(|line| line.contains(" WARN Found unknown placeholder")), "{error}");
}

#[test]
fn a_closed_pipe_ends_the_program_quietly() {
    let mut child = command(&["--help"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("ends");
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    assert!(output.status.signal().is_none() || output.status.signal() == Some(13));
}

#[test]
fn without_a_command_there_is_help() {
    for (args, usage) in [
        (&[][..], "Usage: hq [OPTIONS] <COMMAND>"),
        (&["--debug"], "Usage: hq [OPTIONS] <COMMAND>"),
        (&["job"], "Usage: hq job [OPTIONS] <COMMAND>"),
        (&["job", "--debug"], "Usage: hq job [OPTIONS] <COMMAND>"),
        (&["--debug", "worker", "--colors=never"], "Usage: hq worker [OPTIONS] <COMMAND>"),
    ] {
        // The environment makes no difference.
        for output in [hq(args), command(args).output().expect("runs")] {
            let help = text(&output.stderr);
            assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}");
            assert!(help.contains(usage) && help.contains("Commands:\n"), "{args:?}: {help}");
            assert!(!help.contains("error:"), "{args:?}: {help}");
        }
    }
}

#[test]
fn variables_of_the_environment() {
    let dir = TempDir::new().expect("a directory");
    let list = |name: &str, value: &str| {
        let mut command = command(&["submit", "--stdout=%{FOO}", "true"]);
        command.env("HOME", dir.path()).env(name, value).output().expect("runs")
    };
    for (value, is_long) in [
        ("1", true),
        ("true", true),
        ("yes", true),
        ("on", true),
        ("0", false),
        ("false", false),
        ("no", false),
        ("off", false),
        ("", false),
    ] {
        let output = list("HQ_DEBUG", value);
        assert_eq!(output.status.code(), Some(1), "{value}: {}", text(&output.stderr));
        assert_eq!(text(&output.stderr).starts_with('['), is_long, "{value}");
    }
    assert_eq!(list("HQ_DEBUG", "maybe").status.code(), Some(2));
    for name in ["HQ_SERVER_DIR", "HQ_OUTPUT_MODE"] {
        let error = text(&list(name, "").stderr);
        assert!(error.contains(".hq-server\" is not a directory"), "an empty {name} is none: {error}");
    }
}

#[test]
fn a_journal_that_cannot_be_one_is_named_with_one_cause() {
    let dir = TempDir::new().expect("a directory");
    let (journal, link) = (dir.path().join("j"), dir.path().join("link"));
    std::os::unix::fs::symlink(&journal, &link).expect("a link");
    for (path, expected) in [
        (dir.path(), "Is a directory (os error 21)"),
        (&link, "it is a symbolic link: name the file itself"),
        (&dir.path().join("no/j"), "No such file or directory (os error 2)"),
    ] {
        let start = command(&["server", "start", "--journal"]).arg(path).env("HQ_SERVER_DIR", dir.path()).output();
        let output = start.expect("runs");
        let error = text(&output.stderr);
        assert_eq!(error, format!("Error: cannot open journal `{}`: {expected}\n", path.display()));
        assert_eq!(output.status.code(), Some(1));
    }
}
