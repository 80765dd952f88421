//! A file that another process has open. Alone in its program: a process that is being started holds a copy of what is open in
//! this one, locks of other tests included, until it runs its own program.

mod common;

use std::process::Command;

use common::open;

const OPEN_THIS: &str = "HQ_JOURNAL_TEST_OPEN";

/// Does nothing unless another test starts it.
#[test]
fn other_process() {
    if let Some(path) = std::env::var_os(OPEN_THIS) {
        panic!("{}", open(path.as_ref()).map_or_else(|error| error.to_string(), |_| "it was taken".to_owned()));
    }
}

#[test]
fn another_process_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let _journal = open(&path).unwrap();
    let mut other = Command::new(std::env::current_exe().unwrap());
    other.args(["--exact", "other_process", "--nocapture"]).env(OPEN_THIS, &path);
    let said = String::from_utf8(other.output().unwrap().stderr).unwrap();
    assert!(said.contains(&format!("in use by process {} of user", std::process::id())), "{said}");
}
