use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{Output, Process, eventually, finish, hq_binary};

/// A directory of its own in which `hq` is run: servers, workers and clients.
///
/// Clients run in [`Cluster::dir`]; the server directory is `server` in it. Whoever sees a test fail is shown what
/// servers and workers printed.
#[derive(Debug)]
pub struct Cluster {
    server: Option<Process>,
    server_dir: PathBuf,
    logs: Vec<PathBuf>,
    // The last: nobody runs in it any more when it is removed.
    dir: TempDir,
}

impl Cluster {
    /// A directory without a server.
    ///
    /// # Panics
    /// As everything here: if the machine does not let it do its work.
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("hq-test-").tempdir().expect("a temporary directory can be made");
        let server_dir = dir.path().join("server");
        Self { dir, server_dir, server: None, logs: Vec::new() }
    }

    /// A directory with a running server.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// A directory with a running server that was given these arguments.
    pub fn start_with(args: &[&str]) -> Self {
        let mut cluster = Self::new();
        cluster.start_server(args);
        cluster
    }

    /// Where clients run.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A path below [`Cluster::dir`].
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Content of a file below [`Cluster::dir`]; empty if there is none.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// The server directory.
    pub fn server_dir(&self) -> &Path {
        &self.server_dir
    }

    /// A client command, not yet run.
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = self.bare_command();
        command.arg("--server-dir").arg(&self.server_dir).args(args);
        command
    }

    /// `hq` without any argument.
    pub fn bare_command(&self) -> Command {
        let mut command = Command::new(hq_binary());
        command.current_dir(self.dir()).env("HOME", self.dir());
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("HQ_") || name.starts_with("RUST_")) {
                command.env_remove(name);
            }
        }
        command
    }

    /// Runs a client command to its end.
    #[track_caller]
    pub fn hq<S: AsRef<OsStr>>(&self, args: &[S]) -> Output {
        finish(&mut self.command(args))
    }

    /// Runs a client command in JSON mode that has to succeed.
    #[track_caller]
    pub fn json<S: AsRef<OsStr>>(&self, args: &[S]) -> Value {
        let mut command = self.command(&["--output-mode", "json"]);
        finish(command.args(args)).json()
    }

    /// Submits; the id of the job.
    #[track_caller]
    pub fn submit<S: AsRef<OsStr>>(&self, args: &[S]) -> u32 {
        let mut command = self.command(&["--output-mode=quiet", "submit"]);
        let output = finish(command.args(args));
        output.ok().trim().parse().unwrap_or_else(|_| panic!("no job id: {output:?}"))
    }

    /// Starts a server; returns when it printed its table and can be connected to.
    #[track_caller]
    pub fn start_server(&mut self, args: &[&str]) {
        let mut command = self.command(&["server", "start"]);
        command.args(args);
        let mut server = self.spawn(&mut command, "server");
        let look = || (server.is_running(), server.printed());
        let printed =
            |(running, text): &(bool, String)| !running || text.lines().filter(|l| l.starts_with("+-")).count() > 1;
        let (running, text) = eventually("table of the server", look, printed);
        assert!(running, "the server ended: {text}");
        self.server = Some(server);
    }

    /// The server, which must have been started.
    pub fn server(&mut self) -> &mut Process {
        self.server.as_mut().expect("a server was started")
    }

    /// Starts a worker of that name and so many cpus, in a way usual for callers; returns when it is listed.
    #[track_caller]
    pub fn worker(&mut self, name: &str, cpus: &str) -> Process {
        self.worker_with(name, &["--cpus", cpus])
    }

    /// As [`Cluster::worker`], with more arguments instead of `--cpus`.
    #[track_caller]
    pub fn worker_with(&mut self, name: &str, args: &[&str]) -> Process {
        let mut worker = self.spawn_worker(name, args);
        let look = || (worker.is_running(), self.json(&["worker", "list"]));
        let listed = |(running, list): &(bool, Value)| {
            !running
                || list.as_array().is_some_and(|all| all.iter().any(|one| one["configuration"]["hostname"] == name))
        };
        let (running, _) = eventually("worker is listed", look, listed);
        assert!(running, "the worker ended: {}", worker.printed());
        worker
    }

    /// Starts a worker and returns at once.
    #[track_caller]
    pub fn spawn_worker(&mut self, name: &str, args: &[&str]) -> Process {
        let mut command = self.command(&["worker", "start", "--detect-resources=none", "--hostname", name]);
        command.arg("--work-dir").arg(self.path(&format!("work-{name}"))).args(args);
        self.spawn(&mut command, name)
    }

    /// Starts a client command that goes on.
    pub fn background<S: AsRef<OsStr>>(&mut self, args: &[S]) -> Process {
        let mut command = self.command(args);
        self.spawn(&mut command, "client")
    }

    /// Starts a command that goes on; its outputs are in `NAME.log`.
    pub fn spawn(&mut self, command: &mut Command, name: &str) -> Process {
        let count = self.logs.len();
        let log = self.path(&format!("{name}-{count}.log"));
        self.logs.push(log.clone());
        Process::start(command, log)
    }

    /// Numbers of tasks of a job by state, as in JSON.
    #[track_caller]
    pub fn stats(&self, job: u32) -> Value {
        self.json(&["job", "info", &job.to_string()])[0]["info"]["task_stats"].clone()
    }

    /// Waits until a job has so many tasks in a state.
    #[track_caller]
    pub fn until(&self, job: u32, state: &str, count: u64) {
        eventually(&format!("{count} {state} in job {job}"), || self.stats(job), |stats| stats[state] == count);
    }

    /// `State` of a worker.
    #[track_caller]
    pub fn worker_state(&self, id: u32) -> String {
        self.hq(&["worker", "info", &id.to_string()]).table().get("State").to_owned()
    }

    /// Waits until a worker is in a state.
    #[track_caller]
    pub fn until_worker(&self, id: u32, state: &str) {
        eventually(&format!("worker {id} is {state}"), || self.worker_state(id), |seen| seen == state);
    }

    /// Waits for the end of a job, and looks at it.
    #[track_caller]
    pub fn finished(&self, job: u32) -> Value {
        let job = job.to_string();
        self.hq(&["job", "wait", &job]).ok();
        self.json(&["job", "info", &job])[0].clone()
    }
}

impl Default for Cluster {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Cluster {
    #[expect(clippy::print_stderr, reason = "whoever sees a test fail wants to know why")]
    fn drop(&mut self) {
        if thread::panicking() {
            for log in &self.logs {
                eprintln!("--- {}\n{}", log.display(), fs::read_to_string(log).unwrap_or_default());
            }
        }
    }
}
