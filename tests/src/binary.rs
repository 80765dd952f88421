use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use serde_json::Value;

use crate::cargo;

/// The program `hq`: the one that `HQ_BIN` names, else built here once, in the profile of the tests.
///
/// # Panics
/// If it cannot be built.
pub fn hq_binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os("HQ_BIN") {
        Some(path) => PathBuf::from(path).canonicalize().expect("HQ_BIN names a program"),
        None => build(),
    })
}

fn build() -> PathBuf {
    let mut args = vec!["build", "-p", "hq-cli", "--bin", "hq", "--message-format=json"];
    if !cfg!(debug_assertions) {
        args.push("--release");
    }
    let messages = cargo(&args);
    let mut executables = messages.lines().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        (message["target"]["name"] == "hq").then(|| message["executable"].as_str().map(PathBuf::from))?
    });
    executables.next_back().expect("cargo names the program that it built")
}
