//! Rows F of the faults with real processes: files and directories that others have prepared. (F1 and F6 are in `e2e_access.rs`
//! and in `hq-transport/tests/access.rs`, a full disk is in `e2e_disk_faults.rs`.)

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::Command,
};

use hq_tests::{Cluster, hq_binary, skip};

fn modes(dir: &Path, found: &mut Vec<(String, u32)>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let meta = fs::symlink_metadata(entry.path()).unwrap();
        if !meta.is_symlink() {
            found.push((entry.path().display().to_string(), meta.permissions().mode() & 0o777));
        }
        if meta.is_dir() {
            modes(&entry.path(), found);
        }
    }
}

#[test]
fn f2_what_is_kept_is_private_whatever_the_umask() {
    let mut cluster = Cluster::new();
    let start = |words: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!(r#"umask 000; exec "$0" --server-dir server {words}"#)]).arg(hq_binary());
        command.current_dir(cluster.dir()).env("HOME", cluster.dir());
        command
    };
    let (mut server, mut worker) = (
        start("server start --journal state/journal"),
        start("worker start --cpus=1 --detect-resources=none --work-dir state/work"),
    );
    fs::create_dir(cluster.path("state")).unwrap();
    let _server = cluster.spawn(&mut server, "server");
    cluster.hq(&["server", "wait", "--timeout=30s"]).ok();
    let _worker = cluster.spawn(&mut worker, "worker");
    cluster.hq(&["worker", "wait", "1"]).ok();
    let job = cluster.submit(&[
        "--stream=state/stream",
        "--task-dir",
        "bash",
        "-c",
        "echo x; touch mark; until [ -e go ]; do sleep 0.05; done",
    ]);
    cluster.until(job, "running", 1);
    let mut found = vec![];
    ["server", "state"].iter().for_each(|dir| modes(&cluster.path(dir), &mut found));
    fs::write(cluster.path("go"), "").unwrap();
    cluster.finished(job);
    assert!(found.len() >= 4, "{found:?}");
    // A task's own files are as its umask wants them.
    let open: Vec<_> = found.iter().filter(|(_, mode)| mode & 0o077 != 0).collect();
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn f3_a_server_directory_that_cannot_be() {
    let cluster = Cluster::new();
    fs::write(cluster.path("file"), "not touched").unwrap();
    for dir in ["file", "file/below", "/proc/no-such-place/x"] {
        let mut command = cluster.bare_command();
        let error = hq_tests::finish(command.args(["--server-dir", dir, "server", "start"])).fails(1);
        let said: Vec<&str> = error.lines().filter(|line| !line.starts_with("Hint: ")).collect();
        assert!(said.len() == 1 && said[0].contains(dir.split('/').next_back().unwrap()), "{error}");
    }
    assert_eq!(cluster.read("file"), "not touched");
}

#[test]
fn f4_links_that_lie_in_the_way() {
    let mut cluster = Cluster::new();
    fs::write(cluster.path("victim"), "not touched").unwrap();
    fs::create_dir(cluster.path("victims")).unwrap();
    symlink("victim", cluster.path("journal")).unwrap();
    let error = cluster.hq(&["server", "start", "--journal", "journal"]).fails(1);
    assert!(error.contains("symbolic link"), "{error}");
    // The next run directory is somebody's link.
    fs::create_dir_all(cluster.server_dir()).unwrap();
    fs::set_permissions(cluster.server_dir(), Permissions::from_mode(0o700)).unwrap();
    symlink(cluster.path("victims"), cluster.server_dir().join("001")).unwrap();
    symlink(cluster.path("victim"), cluster.server_dir().join("hq-current")).unwrap();
    cluster.start_server(&[]);
    cluster.submit(&["true"]);
    assert_eq!(fs::read_dir(cluster.path("victims")).unwrap().count(), 0);
    assert_eq!(cluster.read("victim"), "not touched");
}

#[test]
fn f4_an_output_that_is_the_link_of_somebody_else() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can make links of others");
    }
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w1", "1");
    fs::write(cluster.path("victim"), "not touched").unwrap();
    symlink("victim", cluster.path("theirs")).unwrap();
    std::os::unix::fs::lchown(cluster.path("theirs"), Some(65534), Some(65534)).unwrap();
    let job = cluster.submit(&["--stdout=theirs", "echo", "x"]);
    let info = cluster.finished(job);
    assert_eq!(info["info"]["task_stats"]["failed"], 1, "{info}");
    assert!(info["tasks"][0]["error"].as_str().unwrap().contains("theirs"), "{info}");
    assert_eq!(cluster.read("victim"), "not touched");
}

#[test]
fn f5_a_task_directory_that_becomes_a_link() {
    let mut cluster = Cluster::start();
    let _worker = cluster.worker("w1", "1");
    fs::create_dir(cluster.path("precious")).unwrap();
    fs::write(cluster.path("precious/file"), "not touched").unwrap();
    let script = "rm -rf $HQ_TASK_DIR && ln -s $PWD/precious $HQ_TASK_DIR && echo done > did";
    let inside = "ln -s $PWD/precious $HQ_TASK_DIR/inner && echo done >> did";
    for script in [script, inside] {
        let job = cluster.submit(&["--task-dir", "bash", "-c", script]);
        cluster.finished(job);
    }
    assert_eq!(cluster.read("did"), "done\ndone\n");
    assert_eq!(cluster.read("precious/file"), "not touched");
}
