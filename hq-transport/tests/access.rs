//! Access files and server directories.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use hq_transport::Role;
use hq_transport::access::{AccessError, AccessRecord, Endpoint};
use hq_transport::keys::ServerKeys;
use hq_transport::server_dir::{ACCESS_FILE, CURRENT, RunDir, Seeker, ServerDir, ServerDirError, prepare_socket_dir};

const VERSION: &str = "0.1.0";

fn record() -> AccessRecord {
    let keys = ServerKeys::generate(true, true).unwrap();
    AccessRecord::full(VERSION, "AbC123", ("client.host", 1234), ("worker.host", 1235), &keys)
}

fn write(dir: &Path, content: &[u8], mode: u32) -> std::path::PathBuf {
    let path = dir.join(ACCESS_FILE);
    let _ = fs::remove_file(&path);
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn saved_files_are_closed_and_exclusive() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.json");
    let record = record();
    record.save(&path).unwrap();
    assert_eq!(mode(&path), 0o400);
    assert_eq!(AccessRecord::load(&path, VERSION).unwrap(), record);
    assert!(matches!(record.save(&path), Err(AccessError::Exists { .. })));
    // A link that somebody has laid there is not followed.
    let target = dir.path().join("target");
    let link = dir.path().join("link");
    symlink(&target, &link).unwrap();
    assert!(matches!(record.save(&link), Err(AccessError::Exists { .. })));
    assert!(!target.exists());
    let nowhere = dir.path().join("no/such/dir");
    assert!(matches!(record.save(&nowhere), Err(AccessError::Io { .. })));
}

#[test]
fn json_has_exactly_the_keys_of_the_contract() {
    let record = record();
    let keys = |record: &AccessRecord| {
        let json = serde_json::to_value(record).unwrap();
        let object = json.as_object().unwrap();
        let mut keys: Vec<_> = object.keys().cloned().collect();
        for part in ["client", "worker"] {
            if let Some(part) = object.get(part) {
                let mut inner: Vec<_> = part.as_object().unwrap().keys().cloned().collect();
                inner.sort();
                assert_eq!(inner, ["host", "port", "secret_key"]);
            }
        }
        keys.sort();
        keys
    };
    assert_eq!(keys(&record), ["client", "server_uid", "version", "worker"]);
    assert_eq!(keys(&record.split(Role::Client)), ["client", "version"]);
    assert_eq!(keys(&record.split(Role::Worker)), ["version", "worker"]);
    assert!(record.is_full());
    assert!(!record.split(Role::Client).is_full());
    assert_eq!(record.split(Role::Worker).endpoint(Role::Worker), record.endpoint(Role::Worker));

    let plain = AccessRecord::full(VERSION, "u", ("h", 1), ("h", 2), &ServerKeys::none());
    let json = serde_json::to_value(&plain).unwrap();
    assert_eq!(json["client"]["secret_key"], serde_json::Value::Null);
    assert!(json["client"].as_object().unwrap().contains_key("secret_key"));
}

#[test]
fn permissions() {
    let dir = tempfile::tempdir().unwrap();
    let text = serde_json::to_vec(&record()).unwrap();
    for (given, after) in [(0o400, 0o400), (0o600, 0o600), (0o644, 0o600), (0o440, 0o400)] {
        let path = write(dir.path(), &text, given);
        AccessRecord::load(&path, VERSION).unwrap();
        assert_eq!(mode(&path), after, "{given:o}");
    }
    for given in [0o620, 0o602, 0o666] {
        let path = write(dir.path(), &text, given);
        let error = AccessRecord::load(&path, VERSION).unwrap_err();
        assert!(error.to_string().contains("permissions too open"), "{error}");
        assert_eq!(mode(&path), given);
    }
    let path = write(dir.path(), &text, 0o400);
    // Only root can give files away.
    if std::os::unix::fs::chown(&path, Some(12345), None).is_ok() {
        let error = AccessRecord::load(&path, VERSION).unwrap_err();
        assert!(matches!(error, AccessError::ForeignOwner { owner: 12345, .. }));
    }
}

#[test]
fn each_bad_file_has_its_own_error() {
    let dir = tempfile::tempdir().unwrap();
    let text = serde_json::to_string_pretty(&record()).unwrap();
    let secret = record().client.unwrap().secret_key.unwrap();
    let newer = text.replace("0.1.0", "9.9.9");
    let reshaped = r#"{"version": "9.9.9", "links": []}"#;
    let bad_port = text.replace("1234", &format!("\"{secret}\""));
    let bad_host = text.replace("client.host", "a\\nb");
    let no_key = text.replace("secret_key", "other_key");
    let long = format!("{text}{}", " ".repeat(70_000));
    for (content, expected) in [
        (&b""[..], "is empty"),
        (b" \n", "is empty"),
        (&text.as_bytes()[..text.len() / 2], "is truncated"),
        (&text.as_bytes()[..text.len() - 1], "is truncated"),
        (b"\x7fELF\x02\x01\x01\0\0\xff", "is not a text file"),
        (b"{\"version\": \"0.1.0\"\0}", "is not a text file"),
        (long.as_bytes(), "is not a text file of at most 64 KiB"),
        (b"hello", "is malformed at line 1, column 1"),
        (b"[]", "is malformed"),
        (b"{}", "is malformed"),
        (bad_port.as_bytes(), "is malformed at line 6"),
        (no_key.as_bytes(), "is malformed"),
        (bad_host.as_bytes(), "has an invalid client host"),
        (newer.as_bytes(), "Access record contains version 9.9.9, but the current version is 0.1.0"),
        (reshaped.as_bytes(), "Access record contains version 9.9.9, but the current version is 0.1.0"),
    ] {
        let path = write(dir.path(), content, 0o600);
        let error = AccessRecord::load(&path, VERSION).unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(text.contains(expected), "{text} ≠ {expected}");
        assert!(!text.contains(&secret[..16]), "{text}");
    }
    let path = dir.path().join("d");
    fs::create_dir(&path).unwrap();
    let error = AccessRecord::load(&path, VERSION).unwrap_err();
    assert!(matches!(error, AccessError::NotAFile { .. }), "{error}");
    let error = AccessRecord::load(&dir.path().join("none"), VERSION).unwrap_err();
    assert!(matches!(error, AccessError::NotFound { .. }), "{error}");
}

#[test]
fn partial_and_foreign_records_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let client = r#"{"version": "0.1.0", "client": {"host": "far.example", "port": 9, "secret_key": null}}"#;
    let path = write(dir.path(), client.as_bytes(), 0o400);
    let record = AccessRecord::load(&path, VERSION).unwrap();
    let expected = Endpoint { host: "far.example".into(), port: 9, secret_key: None };
    assert_eq!(record.client, Some(expected));
    assert_eq!((record.worker, record.server_uid), (None, None));
}

#[test]
fn debug_of_a_record_shows_no_secret() {
    let record = record();
    let secret = record.client.as_ref().unwrap().secret_key.clone().unwrap();
    assert!(!format!("{record:?}").contains(&secret[..16]));
}

#[test]
fn runs_are_numbered() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("a/b");
    let server_dir = ServerDir::open_or_create(&root).unwrap();
    assert_eq!(mode(&root), 0o700);
    let name = |run: &RunDir| run.path().file_name().unwrap().to_str().unwrap().to_owned();
    let run = server_dir.create_run().unwrap();
    assert_eq!(name(&run), "001");
    assert_eq!(mode(run.path()), 0o700);
    assert_eq!(name(&server_dir.create_run().unwrap()), "002");
    for other in ["017", "x99", "99x", "-5", "hq-current"] {
        fs::create_dir(root.join(other)).unwrap();
    }
    assert_eq!(name(&server_dir.create_run().unwrap()), "018");
    fs::create_dir(root.join("999")).unwrap();
    assert_eq!(name(&server_dir.create_run().unwrap()), "1000");
    // Not a number of ours, and no reason to stop.
    fs::create_dir(root.join("99999999999999999999")).unwrap();
    assert_eq!(name(&server_dir.create_run().unwrap()), "1001");
}

#[test]
fn current_names_the_live_run() {
    let dir = tempfile::tempdir().unwrap();
    let server_dir = ServerDir::open_or_create(dir.path()).unwrap();
    let (one, two) = (server_dir.create_run().unwrap(), server_dir.create_run().unwrap());
    let current = server_dir.path().join(CURRENT);
    for run in [&one, &two] {
        server_dir.set_current(run).unwrap();
        let target = fs::read_link(&current).unwrap();
        assert!(target.is_absolute());
        assert_eq!(target, run.path());
        assert_eq!(fs::read_dir(run.path()).unwrap().count(), 0);
    }
    server_dir.clear_current(&one).unwrap();
    assert!(current.exists());
    server_dir.clear_current(&two).unwrap();
    assert!(!current.exists());
    assert!(two.path().is_dir());
    server_dir.clear_current(&two).unwrap();
}

#[test]
fn finding_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let server_dir = ServerDir::open_or_create(dir.path()).unwrap();
    let run = server_dir.create_run().unwrap();
    let record = record();
    record.save(&run.access_path()).unwrap();
    let load = |path: &Path| RunDir::find(path, Seeker::Client)?.load_access(VERSION);
    assert!(matches!(load(dir.path()), Err(ServerDirError::NoInstance { .. })));
    assert_eq!(load(run.path()).unwrap(), record);
    server_dir.set_current(&run).unwrap();
    assert_eq!(load(dir.path()).unwrap(), record);
    assert_eq!(load(&dir.path().join(CURRENT)).unwrap(), record);
    // Cloud: `hq-current` is a real directory.
    let cloud = tempfile::tempdir().unwrap();
    fs::create_dir(cloud.path().join(CURRENT)).unwrap();
    record.split(Role::Worker).save(&cloud.path().join(CURRENT).join(ACCESS_FILE)).unwrap();
    assert!(load(cloud.path()).unwrap().worker.is_some());
    // Server and client agree on the socket, whatever path they came by.
    let client = record.client.unwrap();
    let found = RunDir::find(dir.path(), Seeker::Client).unwrap();
    assert_eq!(run.client_socket(&client), found.client_socket(&client));
}

#[test]
fn errors_of_the_server_directory() {
    use std::error::Error;
    let dir = tempfile::tempdir().unwrap();
    let nowhere = dir.path().join("nowhere");
    for (seeker, text) in
        [(Seeker::Client, "Invalid server directory"), (Seeker::Worker, "Cannot load server directory")]
    {
        let error = RunDir::find(&nowhere, seeker).unwrap_err();
        assert_eq!(error.to_string(), text);
        let cause = error.source().unwrap().to_string();
        assert_eq!(cause, format!("\"{}\" is not a directory", nowhere.display()));
    }
    let error = RunDir::find(dir.path(), Seeker::Client).unwrap().load_access(VERSION);
    let text = error.unwrap_err().to_string();
    assert!(text.starts_with("No running instance of HQ found at "), "{text}");
    // A file, or a link to nowhere, where the server's directory should be.
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let link = dir.path().join("link");
    symlink(&nowhere, &link).unwrap();
    for path in [file, link] {
        let error = ServerDir::open_or_create(&path).unwrap_err();
        assert!(matches!(error, ServerDirError::Invalid { .. }), "{error}");
    }
    assert!(!nowhere.exists());
}

#[test]
fn socket_directories_are_private() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("private/s");
    prepare_socket_dir(&socket).unwrap();
    assert_eq!(mode(&dir.path().join("private")), 0o700);
    prepare_socket_dir(&socket).unwrap();
    fs::set_permissions(dir.path().join("private"), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(prepare_socket_dir(&socket).is_err());
    // A link, even to a directory of ours.
    let target = tempfile::tempdir().unwrap();
    symlink(target.path(), dir.path().join("link")).unwrap();
    assert!(prepare_socket_dir(&dir.path().join("link/s")).is_err());
}

#[test]
fn directories_that_others_can_write_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let server_dir = ServerDir::open_or_create(root.path()).unwrap();
    let run = server_dir.create_run().unwrap();
    server_dir.set_current(&run).unwrap();
    let set = |dir: &Path, mode| fs::set_permissions(dir, fs::Permissions::from_mode(mode)).unwrap();
    let find = || RunDir::find(root.path(), Seeker::Worker);
    for (dir, closed) in [(root.path(), 0o755), (run.path(), 0o700)] {
        for mode in [0o770, 0o702, 0o1777] {
            set(dir, mode);
            let text = find().unwrap_err().to_string();
            let end = format!("is writable by others (mode {mode:04o}): close it with `chmod 700 ");
            assert!(text.starts_with("directory ") && text.contains(&end), "{text}");
            let is_usable = ServerDir::open_or_create(root.path()).is_ok();
            assert_eq!(is_usable, dir == run.path(), "{mode:o}: each run of a server has a directory of its own");
        }
        set(dir, closed);
        find().unwrap();
    }
}

#[test]
fn directories_of_others_are_refused() {
    let root = tempfile::tempdir().unwrap();
    // Only the superuser can give a directory away.
    if std::os::unix::fs::chown(root.path(), Some(12345), None).is_err() {
        return;
    }
    let text = RunDir::find(root.path(), Seeker::Client).unwrap_err().to_string();
    assert!(text.ends_with("belongs to another user (uid 12345): refused"), "{text}");
    assert!(ServerDir::open_or_create(root.path()).is_err());
}
