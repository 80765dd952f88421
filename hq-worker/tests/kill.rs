//! `kill -9` of a worker process: its tasks go with it. This file is its own worker: run with `HQ_TEST_WORKER`, it runs
//! programs until it is killed.

mod common;

use std::{
    env, fs,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use common::{Bench, is_alive, lane, order, pid_in, same, shell, until};
use hq_core::Outcome;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::TempDir;

const WORKER: &str = "HQ_TEST_WORKER";

fn main() {
    if let Some(dir) = env::var_os(WORKER) {
        worker(Path::new(&dir));
    }
    nothing_survives_the_worker();
    sessions_of_their_own_do_not_survive_the_worker();
    a_guardian_that_was_killed_is_replaced();
    the_program_gets_a_chance_to_tidy_up();
    a_signal_to_the_group_of_the_worker_spares_the_guardian();
    the_kernel_helps_where_the_guardian_is_gone();
    what_an_ended_task_left_behind_is_nobodys();
}

/// Runs what the file says, for ever.
fn worker(dir: &Path) -> ! {
    let bench = Bench::programs(dir);
    let script = fs::read_to_string(dir.join("script")).unwrap();
    let run = bench.start(order(&same(shell(&script, dir)), &Arc::new(lane())));
    if script.ends_with("# ends") {
        assert_eq!(bench.end_of(run), Outcome::Finished);
        fs::write(dir.join("ended"), "").unwrap();
    }
    loop {
        thread::sleep(Duration::from_secs(60));
    }
}

/// Starts a worker with the script, waits until it has written ids to `files`, kills it, and waits until the processes
/// are gone.
fn check(script: &str, files: &[&str], kill: impl Fn(u32)) -> TempDir {
    let (dir, mut worker) = start(script);
    let pids: Vec<u32> = files.iter().map(|file| pid_in(&dir.path().join(file))).collect();
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    let guardian = guardian_of(worker.0.id());
    kill(worker.0.id());
    worker.wait();
    until("the tasks are gone", || pids.iter().all(|pid| !is_alive(*pid)));
    until("the guardian is gone", || !is_alive(guardian));
    dir
}

/// A worker that a failing check does not leave behind.
struct Worker(Child);

impl Worker {
    fn wait(&mut self) {
        self.0.wait().unwrap();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(script: &str) -> (TempDir, Worker) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("script"), script).unwrap();
    let stubborn = "trap '' INT TERM HUP; echo $$ > $1; while :; do sleep 0.05; done";
    fs::write(dir.path().join("stubborn"), stubborn).unwrap();
    let worker = Command::new(env::current_exe().unwrap())
        .env(WORKER, dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    (dir, Worker(worker))
}

fn guardian_of(worker: u32) -> u32 {
    guardians_of(worker)[0]
}

fn guardians_of(worker: u32) -> Vec<u32> {
    let children = fs::read_dir(format!("/proc/{worker}/task"))
        .unwrap()
        .map(|task| fs::read_to_string(task.unwrap().path().join("children")).unwrap())
        .collect::<String>();
    // One may have ended meanwhile.
    let name = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let pids = children.split_whitespace().map(|pid| pid.parse().unwrap());
    pids.filter(|pid| name(pid) == "hq-guardian\n").collect()
}

fn raw(pid: u32) -> Pid {
    Pid::from_raw(pid.try_into().unwrap()).unwrap()
}

fn kill_9(pid: u32) {
    kill_process(raw(pid), Signal::KILL).unwrap();
}

fn nothing_survives_the_worker() {
    // A main process, one in its group, and one in another group of its session; none of them heeds signals.
    let script = "sh stubborn child & bash -c 'set -m; sh stubborn other & wait' & exec sh stubborn main";
    check(script, &["child", "other", "main"], kill_9);
}

fn sessions_of_their_own_do_not_survive_the_worker() {
    // A child, an orphan, and a grandchild of an orphan.
    let script = "setsid sh stubborn child & (setsid sh stubborn orphan &); \
                  (setsid sh -c 'setsid sh stubborn deep & wait' &); exec sh stubborn main";
    check(script, &["child", "orphan", "deep", "main"], kill_9);
}

fn a_guardian_that_was_killed_is_replaced() {
    check("sh stubborn child & exec sh stubborn main", &["child", "main"], |pid| {
        let first = guardian_of(pid);
        kill_9(first);
        until("another guardian", || guardians_of(pid).iter().any(|guardian| *guardian != first));
        kill_9(pid);
    });
}

fn the_program_gets_a_chance_to_tidy_up() {
    let script = "trap 'echo bye > mark; exit' TERM; echo $$ > main; while :; do sleep 0.02; done";
    let dir = check(script, &["main"], kill_9);
    until("the mark of the program", || dir.path().join("mark").exists());
}

fn a_signal_to_the_group_of_the_worker_spares_the_guardian() {
    let script = "trap '' TERM; sh stubborn child; :";
    check(script, &["child"], |pid| {
        kill_process_group(raw(pid), Signal::KILL).unwrap();
    });
}

fn the_kernel_helps_where_the_guardian_is_gone() {
    check("echo $$ > main; exec sleep 100", &["main"], |pid| {
        kill_9(guardian_of(pid));
        kill_9(pid);
    });
}

fn what_an_ended_task_left_behind_is_nobodys() {
    let (dir, mut worker) = start("sh stubborn left & until test -s left; do sleep 0.01; done # ends");
    until("the task has ended", || dir.path().join("ended").exists());
    let (left, guardian) = (pid_in(&dir.path().join("left")), guardian_of(worker.0.id()));
    kill_9(worker.0.id());
    worker.wait();
    until("the guardian is gone", || !is_alive(guardian));
    assert!(is_alive(left));
    kill_9(left);
}
