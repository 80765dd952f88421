//! Access records and who gets in with them.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use hq_tests::{Cluster, finish, hq_binary, rewrite_private, skip};
use serde_json::{Value, json};

const RECORD: &str = "server/hq-current/access.json";

#[test]
fn records_are_private_and_complete() {
    let cluster = Cluster::start_with(&["--host", "abcd123"]);
    let record = cluster.record();
    let info = cluster.json(&["server", "info"]);
    assert_eq!(mode(&cluster.path(RECORD)), 0o400);
    assert_eq!((mode(cluster.server_dir()), mode(&cluster.path("server/001"))), (0o700, 0o700));
    assert_eq!(fs::read_link(cluster.path("server/hq-current")).unwrap(), cluster.path("server/001"));

    let mut keys: Vec<_> = record.as_object().unwrap().keys().collect();
    keys.sort_unstable();
    assert_eq!(keys, ["client", "server_uid", "version", "worker"]);
    assert_eq!((&record["server_uid"], &record["version"]), (&info["server_uid"], &info["version"]));
    for role in ["client", "worker"] {
        assert_eq!(record[role]["host"], "abcd123");
        assert_eq!(record[role]["port"], info[format!("{role}_port")]);
        let key = record[role]["secret_key"].as_str().unwrap();
        assert!(key.len() == 128 && key.chars().all(|c| c.is_ascii_hexdigit()), "{role}");
    }
    assert_ne!(record["client"]["secret_key"], record["worker"]["secret_key"]);
}

#[test]
fn split_records_are_enough_for_their_role() {
    let mut cluster = Cluster::start_with(&["--host", "localhost"]);
    let full = cluster.record();
    let client = json!({"version": full["version"], "client": full["client"]});
    let worker = json!({"version": full["version"], "worker": full["worker"]});
    cluster.put_record("acc/client/hq-current/access.json", &client);
    cluster.put_record("acc/worker/hq-current/access.json", &worker);
    let hq = |dir: &str, args: &[&str]| finish(cluster.bare_command().args(["--server-dir", dir]).args(args));

    hq("acc/client", &["submit", "true"]).ok();
    for wrong in [hq("acc/worker", &["job", "list"]), hq("acc/client", &["worker", "start", "--cpus=1"])] {
        let text = wrong.fails(1);
        assert!(text.contains("access.json") && !text.contains("panicked"), "{text}");
    }
    let mut command = cluster.bare_command();
    command.args(["--server-dir", "acc/worker", "worker", "start", "--cpus=1", "--detect-resources=none"]);
    command.arg("--work-dir=work");
    let _worker = cluster.spawn(&mut command, "worker");
    assert_eq!(cluster.finished(1)["info"]["task_stats"]["finished"], 1);
}

#[test]
fn a_wrong_key_opens_nothing() {
    let cluster = Cluster::start_with(&["--host", "localhost"]);
    let full = cluster.record();
    let key = |role: &str| full[role]["secret_key"].as_str().unwrap().to_owned();
    let flipped = |role: &str, at: usize| {
        let mut key = key(role).into_bytes();
        key[at] = if key[at] == b'0' { b'1' } else { b'0' };
        String::from_utf8(key).unwrap()
    };
    // Neither a changed secret, nor another server's key, nor the secret of the other role, nor none at all.
    let wrong = [flipped("client", 0).into(), flipped("client", 127).into(), key("worker").into(), Value::Null];
    for (n, wrong) in wrong.into_iter().enumerate() {
        let mut record = full.clone();
        record["client"]["secret_key"] = wrong;
        let dir = format!("wrong-{n}");
        cluster.put_record(&format!("{dir}/access.json"), &record);
        let output = finish(cluster.bare_command().args(["--server-dir", &dir, "submit", "true"]));
        assert_eq!(output.code, 1, "{output:?}");
    }
    let wrong = [flipped("worker", 0).into(), flipped("worker", 127).into(), key("client").into(), Value::Null];
    for (n, wrong) in wrong.into_iter().enumerate() {
        let mut record = full.clone();
        record["worker"]["secret_key"] = wrong;
        let dir = format!("wrong-worker-{n}");
        cluster.put_record(&format!("{dir}/access.json"), &record);
        let mut start = cluster.bare_command();
        start.args(["--server-dir", &dir, "worker", "start", "--cpus=1", "--detect-resources=none"]);
        let output = finish(&mut start);
        assert_eq!(output.code, 1, "{output:?}");
    }
    assert_eq!(cluster.json(&["job", "list", "--all"]), json!([]));
    assert_eq!(cluster.json(&["worker", "list", "--all"]), json!([]));
}

#[test]
fn records_that_others_can_touch() {
    let cluster = Cluster::start();
    let path = cluster.path(RECORD);
    for mode in [0o420, 0o402, 0o666] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let text = cluster.hq(&["job", "list"]).fails(1);
        assert!(text.contains("permissions too open") && text.contains("access.json"), "{mode:o}: {text}");
    }
    // Readable by others: closed to them, with one warning.
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    let first = cluster.hq(&["job", "list"]);
    assert_eq!(first.log().matches("WARN").count(), 1, "{first:?}");
    assert_eq!(mode(&path), 0o400);
    assert_eq!(cluster.hq(&["job", "list"]).log(), "");
    // Callers rewrite it.
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    cluster.hq(&["job", "list"]).ok();
}

#[test]
fn records_that_are_wrong() {
    let cluster = Cluster::start();
    let good = cluster.record();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut record = good.clone();
        change(&mut record);
        record.to_string()
    };
    let version = env!("CARGO_PKG_VERSION");
    let cases = [
        (
            with(&|r| r["version"] = "1.2.3-foo".into()),
            format!("Access record contains version 1.2.3-foo, but the current version is {version}"),
        ),
        (String::new(), "empty".into()),
        ("{\"version\": ".into(), "truncated".into()),
        ("hello".into(), "malformed".into()),
        (with(&|r| r["client"]["port"] = (-1).into()), "malformed".into()),
        (with(&|r| r["client"]["host"] = "a b".into()), "invalid client host".into()),
    ];
    for (text, expected) in cases {
        rewrite_private(&cluster.path(RECORD), &text);
        let output = cluster.hq(&["job", "list"]).fails(1);
        assert!(output.contains(&expected), "{expected}: {output}");
    }
    // A record that names a server which is not there.
    rewrite_private(
        &cluster.path(RECORD),
        &with(&|r| {
            r["client"]["host"] = "localhost".into();
            r["client"]["port"] = 1.into();
        }),
    );
    let output = cluster.hq(&["job", "list"]).fails(1);
    assert!(output.contains("Access token found but HQ server localhost:1 is unreachable"), "{output}");
    fs::remove_file(cluster.path(RECORD)).unwrap();
    let output = cluster.hq(&["job", "list"]).fails(1);
    assert!(output.contains("No running instance of HQ found at"), "{output}");
}

#[test]
fn a_record_can_be_used_again() {
    let mut cluster = Cluster::start_with(&["--host", "localhost"]);
    let full = cluster.record();
    cluster.hq(&["server", "stop"]).ok();
    cluster.server().wait();
    cluster.put_record("kept.json", &full);
    cluster.start_server(&["--access-file", "kept.json"]);
    assert_eq!(cluster.record(), full);
    let info = cluster.json(&["server", "info"]);
    assert_eq!((&info["server_uid"], &info["client_port"]), (&full["server_uid"], &full["client"]["port"]));
}

#[test]
fn links_can_be_plain() {
    let mut cluster = Cluster::start_with(&[
        "--host=localhost",
        "--disable-client-authentication-and-encryption",
        "--disable-worker-authentication-and-encryption",
    ]);
    let record = cluster.record();
    assert_eq!((&record["client"]["secret_key"], &record["worker"]["secret_key"]), (&Value::Null, &Value::Null));
    assert!(cluster.server().printed().contains("WARN"));
    let _worker = cluster.worker("w", "1");
    let job = cluster.submit(&["true"]);
    assert_eq!(cluster.finished(job)["info"]["task_stats"]["finished"], 1);
}

#[test]
fn another_user_gets_nowhere() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can become another user");
    }
    let cluster = Cluster::start_with(&["--host", "localhost"]);
    // The other one can run the program and reach all sockets; only the record is kept from them.
    let hq = cluster.path("hq");
    fs::hard_link(hq_binary(), &hq).or_else(|_| fs::copy(hq_binary(), &hq).map(drop)).unwrap();
    fs::set_permissions(cluster.dir(), Permissions::from_mode(0o755)).unwrap();
    let as_other = |args: &[&str]| {
        let mut command = std::process::Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(&hq)
            .current_dir(cluster.dir())
            .args(args);
        finish(&mut command)
    };
    if as_other(&["--version"]).code != 0 {
        return skip("no program can be run as another user");
    }
    let denied = as_other(&["--server-dir", "server", "submit", "true"]);
    assert_eq!(denied.code, 1, "{denied:?}");
    let denied = as_other(&["--server-dir", "server/001", "worker", "start", "--cpus=1", "--detect-resources=none"]);
    assert_eq!(denied.code, 1, "{denied:?}");

    // A directory open by mistake does not help: the record is not theirs.
    fs::set_permissions(cluster.server_dir(), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(cluster.path("server/001"), Permissions::from_mode(0o755)).unwrap();
    let denied = as_other(&["--server-dir", "server", "submit", "true"]);
    assert!(denied.code == 1 && !denied.stderr.contains("panicked"), "{denied:?}");

    // Nor does the socket beside it, with a record of their own that names this server without its key.
    let mut guessed = cluster.record();
    guessed["client"]["secret_key"] = Value::Null;
    cluster.put_record("theirs/access.json", &guessed);
    for entry in fs::read_dir(cluster.path("server/001")).unwrap().filter_map(Result::ok) {
        let name = entry.file_name();
        if name != "access.json" {
            let _ = std::os::unix::fs::symlink(entry.path(), cluster.path("theirs").join(name));
        }
    }
    for path in [cluster.path("theirs"), cluster.path("theirs/access.json")] {
        std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
    }
    let denied = as_other(&["--server-dir", "theirs", "submit", "true"]);
    assert_eq!(denied.code, 1, "{denied:?}");
    assert_eq!(cluster.json(&["job", "list", "--all"]), json!([]));
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}
