//! `hq server start`, `stop`, `info` and `wait`.

use std::{
    fs,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use hq_tests::{Cluster, Signal, Table, eventually, finish, hq_binary};
use serde_json::Value;

const INFO: [&str; 9] = [
    "Server UID",
    "Client host",
    "Client port",
    "Worker host",
    "Worker port",
    "Version",
    "Pid",
    "Start date",
    "Journal path",
];

#[test]
fn info_in_all_modes() {
    let mut cluster = Cluster::start_with(&["--host", "abcd123", "--journal", "journal"]);
    let pid = cluster.server().pid().to_string();

    let table = cluster.hq(&["server", "info"]).table();
    assert_eq!(table.labels(), INFO);
    let uid = table.get("Server UID").to_owned();
    assert!(uid.len() == 6 && uid.chars().all(|c| c.is_ascii_alphanumeric()), "{uid}");
    assert_eq!((table.get("Pid"), table.get("Client host"), table.get("Worker host")), (&*pid, "abcd123", "abcd123"));
    assert_eq!(table.get("Journal path"), cluster.path("journal").to_str().unwrap());
    let date = table.get("Start date");
    assert!(date.len() > 19 && date.as_bytes()[4] == b'-' && date.as_bytes()[16] == b':', "%F %T %Z: {date}");

    let json = cluster.json(&["server", "info"]);
    let keys = [
        "client_host",
        "client_port",
        "journal_path",
        "pid",
        "server_dir",
        "server_uid",
        "start_date",
        "version",
        "worker_host",
        "worker_port",
    ];
    assert_eq!(sorted_keys(&json), keys);
    assert_eq!((&json["server_dir"], &json["server_uid"]), (&Value::Null, &Value::from(uid)));
    assert_eq!(json["client_port"].to_string(), table.get("Client port"));

    assert_eq!(cluster.hq(&["--output-mode=quiet", "server", "info"]).ok(), "");
}

#[test]
fn start_prints_what_callers_read() {
    let mut cluster = Cluster::start();
    let dir = cluster.server_dir().to_str().unwrap().to_owned();
    let table = Table::one(&cluster.server().printed());
    assert_eq!(table.labels(), [&["Server directory"][..], &INFO].concat());
    assert_eq!(table.get("Server directory"), dir);
    let pid = cluster.server().pid().to_string();
    assert_eq!((table.get("Pid"), table.get("Journal path")), (&*pid, ""));

    for (mode, right) in [
        ("quiet", (|text: &str, dir: &str| text == format!("{dir}\n")) as fn(&str, &str) -> bool),
        ("json", |text, dir| serde_json::from_str::<Value>(text).is_ok_and(|json| json["server_dir"] == dir)),
    ] {
        let mut cluster = Cluster::new();
        let dir = cluster.server_dir().to_str().unwrap().to_owned();
        let server = cluster.background(&["--output-mode", mode, "server", "start"]);
        eventually(mode, || server.printed(), |text| right(text, &dir));
    }
}

#[test]
fn a_second_server_is_refused() {
    let mut cluster = Cluster::start();
    let second = cluster.hq(&["server", "start"]).fails(1);
    assert!(second.contains("hq server stop --server-dir"), "{second}");
    cluster.hq(&["server", "info"]).ok();

    // What a dead one left behind is replaced without a word.
    cluster.server().kill();
    cluster.start_server(&[]);
    assert_eq!(fs::read_link(cluster.path("server/hq-current")).unwrap(), cluster.path("server/002"));
    let printed = cluster.server().printed();
    assert!(!printed.contains("WARN") && !printed.contains("ERROR"), "{printed}");
}

#[test]
fn stop_ends_server_and_workers() {
    let mut cluster = Cluster::start();
    let mut stop = cluster.worker("one", "1");
    let mut finish_running = cluster.worker_with("two", &["--cpus=1", "--on-server-lost=finish-running"]);
    let output = cluster.hq(&["server", "stop"]);
    assert_eq!(output.ok(), "");
    assert_eq!(cluster.server().wait(), 0);
    assert!(!cluster.path("server/hq-current").exists() && cluster.path("server/001").is_dir());
    assert_eq!((stop.wait(), finish_running.wait()), (1, 1));

    // Callers start the next one at once.
    cluster.start_server(&[]);
    assert!(cluster.path("server/002/access.json").is_file());
    let json = finish(cluster.command(&["--output-mode=json", "server", "stop"]).arg("--debug"));
    assert_eq!(json.ok().trim(), "{}");
}

#[test]
fn signals_end_the_server() {
    for (signal, code) in [(Signal::INT, Some(0)), (Signal::TERM, None)] {
        let mut cluster = Cluster::start();
        let mut worker = cluster.worker("w", "1");
        cluster.server().signal(signal);
        let ended = cluster.server().wait();
        assert!(code.is_none_or(|code| code == ended), "{signal:?} {ended}");
        assert_eq!(worker.wait(), 1);
        assert!(!cluster.path("server/hq-current").exists());
    }
}

#[test]
fn wait_for_a_server() {
    let mut cluster = Cluster::new();
    let none = cluster.hq(&["server", "wait", "--timeout", "2s"]);
    let text = none.fails(1);
    let line = text.lines().find(|line| line.contains("Timeout after 2s")).unwrap_or_else(|| panic!("{text}"));
    let dir = cluster.server_dir().display();
    let expected = format!("Could not connect to server at `{dir}`. Make sure that the server is running.");
    assert!(line.contains(&expected), "{text}");
    let took = none.took.as_secs_f64();
    assert!((1.5..4.0).contains(&took), "{took}");

    // One that starts while it is waited for.
    let mut waiting = cluster.background(&["server", "wait", "--timeout", "30s"]);
    thread::sleep(Duration::from_secs(2));
    cluster.start_server(&[]);
    assert_eq!(waiting.wait_within(Duration::from_secs(4)), 0, "{}", waiting.printed());

    let there = cluster.hq(&["server", "wait"]);
    assert_eq!((there.ok(), there.stderr.as_str()), ("", ""));
    assert!(there.took < Duration::from_secs(2), "{there:?}");
}

#[test]
fn errors_say_where_the_server_should_be() {
    let cluster = Cluster::new();
    let list = |cluster: &Cluster| cluster.hq(&["job", "list"]).fails(1);
    let worker = |cluster: &Cluster| cluster.hq(&["worker", "start", "--cpus=1", "--detect-resources=none"]).fails(1);
    let dir = cluster.server_dir().display().to_string();

    let text = list(&cluster);
    assert!(
        text.contains("Invalid server directory") && text.contains(&format!("\"{dir}\" is not a directory")),
        "{text}"
    );
    let text = worker(&cluster);
    assert!(text.contains("Cannot load server directory") && text.contains("is not a directory"), "{text}");

    fs::create_dir(cluster.server_dir()).unwrap();
    let text = list(&cluster);
    assert!(text.contains("No running instance of HQ found at"), "{text}");

    let json = cluster.hq(&["--output-mode", "json", "job", "list"]);
    assert_eq!(json.code, 1);
    let value: Value = serde_json::from_str(&json.stdout).unwrap();
    assert!(value["error"].as_str().is_some_and(|text| text.contains("No running instance")), "{json:?}");
    assert_eq!(sorted_keys(&value), ["error"]);
}

#[test]
fn the_command_line_is_checked() {
    let cluster = Cluster::new();
    for args in [
        &["--no-such-option"][..],
        &["job", "info"],
        &["job", "info", "1-"],
        &["submit"],
        &["submit", "--array", "3-1", "true"],
        &["submit", "--priority", "high", "true"],
        &["submit", "--env", "", "true"],
        &["--output-mode", "xml", "job", "list"],
        &["--server-dir", "a", "job", "list"],
        &["server", "wait", "--timeout", "soon"],
        &["help"],
    ] {
        cluster.hq(args).fails(2);
    }
    let none = finish(&mut cluster.bare_command());
    assert!(none.code == 2 && none.stdout.is_empty() && none.stderr.contains("Usage"), "{none:?}");
    let version = finish(cluster.bare_command().arg("-V"));
    assert_eq!(version.ok(), format!("hyperqueue {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_server_directory_comes_from_the_environment_too() {
    let cluster = Cluster::start();
    let list = finish(cluster.bare_command().env("HQ_SERVER_DIR", cluster.server_dir()).args(["job", "list"]));
    assert_eq!(list.table().header, ["ID", "Name", "State", "Tasks"]);
    let json = finish(cluster.command(&["job", "list"]).env("HQ_OUTPUT_MODE", "json"));
    assert_eq!(json.json(), serde_json::json!([]));
    for dir in ["server/001", "server/hq-current"] {
        finish(cluster.bare_command().args(["--server-dir", dir, "job", "list"])).ok();
    }
}

#[test]
fn heavy_logging_is_no_error() {
    let mut cluster = Cluster::new();
    let mut command = cluster.command(&["--colors", "never", "--debug", "server", "start"]);
    command.env("RUST_LOG", "tako=trace,hyperqueue=trace").env("RUST_BACKTRACE", "full");
    let server = cluster.spawn(&mut command, "server");
    eventually("table", || server.printed(), |text| text.lines().filter(|line| line.starts_with("+-")).count() == 2);
    Table::one(&server.printed());
    cluster.hq(&["job", "list"]).ok();
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let cluster = Cluster::start();
    let script =
        format!("{} --server-dir server job list --all | true; echo ${{PIPESTATUS[0]}}", hq_binary().display());
    let output = finish(Command::new("bash").args(["-c", &script]).current_dir(cluster.dir()));
    assert_eq!(output.stderr, "", "{output:?}");
}

fn sorted_keys(object: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = object.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// Whoever started it read the first lines and went away.
#[test]
fn it_serves_though_nobody_reads_its_log() {
    let dir = tempfile::tempdir().unwrap();
    let hq = |args: &[&str]| {
        let mut command = Command::new(hq_binary());
        command.arg("--server-dir").arg(dir.path()).args(args).stdin(Stdio::null()).stdout(Stdio::null());
        command
    };
    let unread = |args: &[&str]| {
        let mut child = hq(args).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stderr.take());
        child
    };
    let mut server = unread(&["server", "start"]);
    assert!(hq(&["server", "wait", "--timeout", "60s"]).status().unwrap().success());
    let mut worker = unread(&["worker", "start", "--cpus", "1", "--detect-resources", "none"]);
    assert!(hq(&["worker", "wait", "1"]).status().unwrap().success());
    assert!(hq(&["worker", "stop", "all"]).status().unwrap().success());
    assert_eq!(worker.wait().unwrap().code(), Some(0));
    assert!(hq(&["server", "stop"]).status().unwrap().success());
    assert_eq!(server.wait().unwrap().code(), Some(0));
}
