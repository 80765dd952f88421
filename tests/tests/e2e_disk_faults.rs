//! J7 with a real server: writes and syncs of its journal fail. Nothing is accepted that is not safe, what runs goes on, and
//! a restart after the disk is mended loses nothing.

use std::fs;

use hq_tests::{Cluster, Fault, eventually, skip};
use rustix::process::geteuid;

const JOURNAL: [&str; 2] = ["--journal", "disk/journal"];
const UNTIL_GO: &str = "until [ -e go ]; do sleep 0.05; done; echo $HQ_INSTANCE_ID >> ran";

/// What a client is told.
fn refused(cluster: &Cluster) -> String {
    // Too long for what is left of the last page of the file.
    let error = cluster.hq(&["submit", "--name=refused", "true", &"x".repeat(20_000)]).fails(1);
    assert!(error.contains("the journal `") && error.contains("restart the server"), "{error}");
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    error
}

/// A task runs; then `break_disk`; then `mend` it and start the server anew.
fn survives(cluster: &mut Cluster, break_disk: impl Fn(&Cluster), mend: impl Fn(&Cluster)) {
    let _worker = cluster.worker_with("w1", &["--cpus=1", "--on-server-lost=reconnect"]);
    let job = cluster.submit(&["bash", "-c", UNTIL_GO]);
    let waiting = cluster.submit(&["--name=waits", "true"]);
    cluster.until(job, "running", 1);
    break_disk(cluster);
    refused(cluster);
    refused(cluster);
    // What is not accepted is not shown, and what is there can be asked for.
    assert_eq!(cluster.json(&["job", "list", "--all"]).as_array().unwrap().len(), 2);
    fs::write(cluster.path("go"), "").unwrap();
    eventually("the task goes on", || cluster.read("ran"), |text| text == "0\n");
    refused(cluster);
    mend(cluster);
    // The end of the task is told again by its worker, and it is not run again.
    let info = cluster.finished(job);
    assert_eq!(info["info"]["task_stats"]["finished"], 1, "{info}");
    assert_eq!(cluster.read("ran"), "0\n");
    assert_eq!(cluster.finished(waiting)["info"]["task_stats"]["finished"], 1);
    assert_eq!(cluster.json(&["job", "list", "--all"]).as_array().unwrap().len(), 2);
    assert_eq!(cluster.submit(&["true"]), 3);
}

fn survives_calls_that_fail(name: &str) {
    let mut cluster = Cluster::new();
    fs::create_dir(cluster.path("disk")).unwrap();
    let fault = Fault { name, files: "disk", while_there: Some("broken") };
    let server = std::cell::RefCell::new(fault.server(&mut cluster, &JOURNAL));
    let restarted = std::cell::RefCell::new(None);
    survives(
        &mut cluster,
        |cluster| fs::write(cluster.path("broken"), "").unwrap(),
        |cluster| {
            assert!(fault.has_happened(cluster));
            assert!(server.borrow_mut().is_running(), "it has ended: {}", server.borrow().printed());
            fs::remove_file(cluster.path("broken")).unwrap();
            server.borrow_mut().kill();
            let mut command = cluster.command(&["server", "start"]);
            command.args(JOURNAL);
            *restarted.borrow_mut() = Some(hq_tests::Process::start(&mut command, cluster.path("restarted.log")));
            cluster.hq(&["server", "wait", "--timeout=20s"]).ok();
        },
    );
}

#[test]
fn j7_no_room_for_writes() {
    survives_calls_that_fail("write:enospc:1");
}

#[test]
fn j7_syncs_that_fail() {
    survives_calls_that_fail("sync:eio:1");
}

/// One sync fails, and those after it say that all is well: what it was to make safe may be lost, so that nothing of it counts
/// before it was written again elsewhere.
#[test]
fn j7_one_sync_that_fails() {
    for n in [3, 4, 5] {
        let mut cluster = Cluster::new();
        let name = format!("sync:eio:{n}");
        let fault = Fault { name: &name, files: "journal", while_there: None };
        let mut server = fault.server(&mut cluster, &["--journal", "journal"]);
        let accepted: Vec<u64> = (0..6)
            .map(|_| cluster.hq(&["--output-mode=quiet", "submit", "--array=1-3", "true"]))
            .filter(|output| output.code == 0)
            .map(|output| output.stdout.trim().parse().unwrap())
            .collect();
        assert!(fault.has_happened(&cluster), "{name} is never reached");
        server.kill();
        cluster.start_server(&["--journal", "journal"]);
        let jobs = cluster.json(&["job", "list", "--all"]);
        for id in accepted {
            let job = jobs.as_array().unwrap().iter().find(|job| job["id"] == id);
            assert_eq!(job.expect("it is there")["task_stats"]["waiting"], 3, "{name}");
        }
    }
}

/// A file system that is really full.
#[test]
fn j7_f3_a_full_file_system() {
    if !geteuid().is_root() {
        return skip("a small file system can be mounted by root alone");
    }
    let mut cluster = Cluster::new();
    let disk = cluster.path("disk");
    fs::create_dir(&disk).unwrap();
    let mounted =
        std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"]).arg(&disk).status();
    if !mounted.is_ok_and(|status| status.success()) {
        return skip("mount does not work here");
    }
    let _mount = Mount(disk.clone());
    let server = std::cell::RefCell::new({
        let mut command = cluster.command(&["server", "start"]);
        command.args(JOURNAL);
        let server = cluster.spawn(&mut command, "full");
        cluster.hq(&["server", "wait", "--timeout=20s"]).ok();
        server
    });
    let restarted = std::cell::RefCell::new(None);
    survives(
        &mut cluster,
        // All of it, to the last byte.
        |cluster| _ = fs::write(cluster.path("disk/filler"), vec![0; 1 << 20]).unwrap_err(),
        |cluster| {
            server.borrow_mut().kill();
            // F3: without room no server begins, and it says why before it listens.
            let error = cluster.hq(&["server", "start", "--journal", "disk/other"]).fails(1);
            assert!(error.contains("disk/other") && error.contains("No space left"), "{error}");
            fs::remove_file(cluster.path("disk/filler")).unwrap();
            let mut command = cluster.command(&["server", "start"]);
            command.args(JOURNAL);
            *restarted.borrow_mut() = Some(hq_tests::Process::start(&mut command, cluster.path("restarted.log")));
            cluster.hq(&["server", "wait", "--timeout=20s"]).ok();
        },
    );
}

/// Unmounted at the end, also of a test that fails.
struct Mount(std::path::PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily: servers in it are killed after it.
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
