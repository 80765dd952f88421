use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use tempfile::TempDir;

use crate::{Cluster, Process, eventually, root};

/// A library that lets calls of a program to the system fail, or kills it around one: see `tests/tools/faults.c`. It is
/// built once; the program is the one that users have.
fn library() -> &'static Path {
    static BUILT: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = BUILT.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("faults.so");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&path).arg(root().join("tests/tools/faults.c")).arg("-ldl");
        let status = cc.status().expect("a C compiler, which Rust links with as well");
        assert!(status.success(), "cannot build the library of faults");
        (dir, path)
    });
    path
}

/// A fault of one call of a server: `CALL:WHAT:N` in the words of `tests/tools/faults.c`.
#[derive(Debug)]
pub struct Fault<'a> {
    /// Which.
    pub name: &'a str,
    /// Of these files: what their paths begin with, below the directory of the cluster.
    pub files: &'a str,
    /// Not once, but whenever a file of this name is in the directory of the cluster.
    pub while_there: Option<&'a str>,
}

impl Fault<'_> {
    /// Starts a server with it, and waits until that is ready or gone.
    pub fn server(&self, cluster: &mut Cluster, args: &[&str]) -> Process {
        let mut command = cluster.command(&["server", "start"]);
        let files: OsString = cluster.path(self.files).into();
        command.args(args).env("LD_PRELOAD", library()).env("HQ_FAULT", self.name).env("HQ_FAULT_PATH", files);
        command.env("HQ_FAULT_LOG", cluster.path("fault"));
        if let Some(name) = self.while_there {
            command.env("HQ_FAULT_WHILE", cluster.path(name));
        }
        let mut server = cluster.spawn(&mut command, "faulty");
        let look = || !server.is_running() || server.printed().lines().filter(|l| l.starts_with("+-")).count() > 1;
        eventually("the server is ready or gone", look, |is| *is);
        server
    }

    /// Whether it has happened.
    pub fn has_happened(&self, cluster: &Cluster) -> bool {
        cluster.read("fault").lines().any(|line| line == self.name)
    }
}
