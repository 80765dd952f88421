use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::atomic::{AtomicU16, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use hq_backend::{
    Allocation, AllocationRequest, AllocationStatus, AllocatorBackend as _, BatchRequest, CommandError, CommandLine,
    CommandOutput, CommandRunner, JobName, ProcessRunner,
};
use hq_backend_slurm::SlurmBackend;
use hq_conformance::backend::BackendFixture;
use hq_core::Span;

/// Between looks.
const PAUSE: Duration = Duration::from_millis(100);
/// Looks until a state has to be there: two minutes.
const LOOKS_MAX: u32 = 1200;

/// A Slurm that ends with this.
pub(crate) struct Cluster {
    pub(crate) backend: SlurmBackend<Commands>,
    room: tempfile::TempDir,
    commands: Commands,
}

/// Commands that talk to this Slurm and to no other.
#[derive(Clone, Debug)]
pub(crate) struct Commands {
    runner: ProcessRunner,
    conf: String,
}

#[async_trait]
impl CommandRunner for Commands {
    async fn run(&self, line: &CommandLine) -> Result<CommandOutput, CommandError> {
        let mut line = line.clone();
        line.env.push(("SLURM_CONF", Some(self.conf.clone())));
        self.runner.run(&line).await
    }
}

impl Cluster {
    /// A new one. None where none can be had here.
    pub(crate) fn start(with_accounting: bool) -> Option<Self> {
        let needed: &[&str] =
            if with_accounting { &["slurmctld", "munged", "slurmdbd", "mariadbd"] } else { &["slurmctld", "munged"] };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let is_there = |program: &&&str| std::env::split_paths(&path).any(|dir| dir.join(program).exists());
        let missing: Vec<_> = needed.iter().filter(|program| !is_there(program)).collect();
        let uid = run(Command::new("id").arg("-u"));
        let is_root = uid.stdout.trim_ascii() == b"0";
        let wish = std::env::var("HQ_TEST_SLURM").unwrap_or_default();
        let why = match () {
            () if wish == "skip" => "HQ_TEST_SLURM=skip".to_owned(),
            () if !missing.is_empty() => format!("{missing:?} are not installed"),
            () if !is_root => "only root can start one".to_owned(),
            () => String::new(),
        };
        if !why.is_empty() {
            assert_ne!(wish, "require", "no Slurm, and one is required: {why}");
            println!("SKIPPED: the tests with a real Slurm are left out: {why}");
            return None;
        }
        let room = tempfile::Builder::new().prefix("hq-slurm-").tempdir().expect("a directory");
        run(Command::new("chmod").arg("755").arg(room.path()));
        let mut script = script("up", room.path());
        script.arg(port().to_string()).arg("4");
        if with_accounting {
            script.env("ACCOUNTING", "1");
        }
        let output = run(&mut script);
        let conf = String::from_utf8(output.stdout).expect("a path").trim().to_owned();
        let commands = Commands { runner: ProcessRunner::new(), conf };
        Some(Self { backend: SlurmBackend::with_runner(commands.clone()), room, commands })
    }

    /// Runs a command of Slurm, and wants it to go well.
    pub(crate) async fn slurm(&self, program: &str, args: &[&str]) -> String {
        let output = self.commands.run(&CommandLine::new(program, args.iter().copied())).await.expect(program);
        assert!(output.is_success(), "{program} {args:?}: {output:?}");
        output.out().into_owned()
    }

    /// A daemon, by name: `start` or `kill`.
    pub(crate) fn daemon(&self, action: &str, name: &str) {
        run(script(action, self.room.path()).arg(name));
    }

    /// Waits until the controller has written down all that it knows now, which it does every few seconds.
    pub(crate) async fn state_is_saved(&self) {
        let state = self.room.path().join("state/job_state");
        let written = || std::fs::metadata(&state).and_then(|data| data.modified()).ok();
        // Once may have begun before.
        for _ in 0..2 {
            let before = written();
            // It is written only after a change.
            let jobs = self.slurm("squeue", &["-h", "-o", "%A"]).await;
            for id in jobs.lines() {
                self.slurm("scontrol", &["update", &format!("jobid={id}"), "comment=saved"]).await;
            }
            while written() == before {
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// A new directory of this name.
    pub(crate) fn dir(&self, name: &str) -> PathBuf {
        let dir = self.room.path().join("jobs").join(name);
        std::fs::create_dir_all(&dir).expect("a directory");
        dir
    }

    pub(crate) async fn submit(&self, request: &AllocationRequest) -> Allocation {
        let id = self.backend.submit(request).await.unwrap_or_else(|e| panic!("submit of {}: {e}", request.key));
        let directory = request.batch.as_ref().map(|batch| batch.directory.clone());
        Allocation { id, key: request.key.clone(), directory }
    }

    /// Its status, once it is one that `is_it`.
    pub(crate) async fn status(&self, of: &Allocation, is_it: impl Fn(&AllocationStatus) -> bool) -> AllocationStatus {
        let mut seen = None;
        for _ in 0..LOOKS_MAX {
            let answer = self.backend.status(std::slice::from_ref(of)).await.remove(0);
            if let Ok(status) = &answer
                && is_it(status)
            {
                return status.clone();
            }
            seen = Some(answer);
            tokio::time::sleep(PAUSE).await;
        }
        panic!("{} is {seen:?} for two minutes", of.key);
    }

    pub(crate) async fn cancel(&self, allocation: &Allocation) {
        self.backend.cancel(allocation).await.expect("cancel");
        self.status(allocation, AllocationStatus::is_ended).await;
    }

    /// Nothing is left in the queue.
    pub(crate) fn assert_idle(&self) {
        let left = run(Command::new("squeue").args(["-h", "-o", "%A %T %Z"]).env("SLURM_CONF", &self.commands.conf));
        assert_eq!(String::from_utf8_lossy(&left.stdout), "", "jobs are left behind");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let output = script("down", self.room.path()).output();
        // A second panic would hide the first one.
        if !std::thread::panicking() {
            assert!(output.is_ok_and(|output| output.status.success()), "Slurm does not go down");
        }
    }
}

#[async_trait]
impl BackendFixture for Cluster {
    type Backend = SlurmBackend<Commands>;

    fn backend(&self) -> &Self::Backend {
        &self.backend
    }

    fn request(&self, key: &str) -> AllocationRequest {
        AllocationRequest {
            key: key.to_owned(),
            workers: 1,
            time_limit: Some(Span::secs(300)),
            command: ["sleep", "1000"].map(Into::into).to_vec(),
            worker: None,
            batch: Some(BatchRequest {
                directory: self.room.path().join("jobs").join(key),
                name: JobName::new("hq-1-1").expect("a name"),
                args: vec![],
                start_command: None,
                wrap_command: None,
                stop_command: None,
                rust_log: None,
                is_trial: false,
            }),
        }
    }

    async fn pass(&mut self) {
        tokio::time::sleep(PAUSE).await;
    }

    fn restarted(&self) -> Option<Self::Backend> {
        Some(SlurmBackend::with_runner(self.commands.clone()))
    }

    async fn pass_time_limit(&mut self, allocation: &Allocation) -> bool {
        // A minute is the shortest there is, and its end is looked for every half a minute.
        let job = format!("jobid={}", allocation.id);
        self.slurm("scontrol", &["update", &job, "EndTime=now+3"]).await;
        true
    }
}

fn script(action: &str, room: &Path) -> Command {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/tools/slurm.sh");
    let mut command = Command::new(path);
    command.arg(action).arg(room);
    command
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Twenty ports that nobody listens to, other ones for each cluster of this process.
fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let is_free = |port: u16| std::net::TcpListener::bind(("127.0.0.1", port)).is_ok();
    let first = 20_000 + u16::try_from(std::process::id() % 500).expect("small") * 20;
    loop {
        let port = first + NEXT.fetch_add(20, Ordering::Relaxed);
        if (port..port + 20).all(is_free) {
            return port;
        }
    }
}
