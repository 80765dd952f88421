use std::{path::PathBuf, process::Command, time::Duration};

use async_trait::async_trait;
use hq_backend::{
    Allocation, AllocationRequest, AllocationStatus, AllocatorBackend as _, BatchRequest, CommandError, CommandLine,
    CommandOutput, CommandRunner, JobName, ProcessRunner,
};
use hq_backend_slurm::SlurmBackend;
use hq_conformance::backend::BackendFixture;
use hq_core::Span;
use hq_tests::{RealSlurm, finish};

/// Between looks.
const PAUSE: Duration = Duration::from_millis(100);
/// Looks until a state has to be there: two minutes.
const LOOKS_MAX: u32 = 1200;

/// A Slurm that ends with this.
pub(crate) struct Cluster {
    pub(crate) backend: SlurmBackend<Commands>,
    slurm: RealSlurm,
    commands: Commands,
}

/// Commands that talk to this Slurm and to no other.
#[derive(Clone, Debug)]
pub(crate) struct Commands {
    runner: ProcessRunner,
    conf: String,
    /// Variables that the caller has set.
    set: Vec<(String, String)>,
}

#[async_trait]
impl CommandRunner for Commands {
    async fn run(&self, line: &CommandLine) -> Result<CommandOutput, CommandError> {
        let mut line = line.clone();
        let set = self.set.iter().map(|(name, value)| (name.clone(), Some(value.clone())));
        let conf = ("SLURM_CONF".to_owned(), Some(self.conf.clone()));
        // What the line says comes last.
        line.env = set.chain([conf]).chain(line.env).collect();
        self.runner.run(&line).await
    }
}

impl Cluster {
    /// A new one. None where none can be had here.
    pub(crate) fn start(with_accounting: bool) -> Option<Self> {
        let slurm = RealSlurm::start(with_accounting)?;
        let commands = Commands { runner: ProcessRunner::new(), conf: slurm.conf().to_owned(), set: vec![] };
        Some(Self { backend: SlurmBackend::with_runner(commands.clone()), slurm, commands })
    }

    /// Runs a command of Slurm, and wants it to go well.
    pub(crate) async fn slurm(&self, program: &str, args: &[&str]) -> String {
        let output = self.commands.run(&CommandLine::new(program, args.iter().copied())).await.expect(program);
        assert!(output.is_success(), "{program} {args:?}: {output:?}");
        output.out().into_owned()
    }

    /// From now on the caller lives in a batch job with these variables.
    pub(crate) fn live_in_job(&mut self, set: &[(&str, &str)]) {
        self.commands.set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let names = set.iter().map(|(name, _)| (*name).to_owned());
        self.backend = SlurmBackend::with_runner(self.commands.clone()).without(names);
    }

    /// A daemon, by name: `start` or `kill`.
    pub(crate) fn daemon(&self, action: &str, name: &str) {
        self.slurm.daemon(action, name);
    }

    /// Waits until the controller has written down all that it knows now, which it does every few seconds.
    pub(crate) async fn state_is_saved(&self) {
        let state = self.slurm.dir().join("state/job_state");
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
        let dir = self.slurm.dir().join("jobs").join(name);
        std::fs::create_dir_all(&dir).expect("a directory");
        dir
    }

    pub(crate) async fn submit(&self, request: &AllocationRequest) -> Allocation {
        let id = self.backend.submit(request).await.unwrap_or_else(|e| panic!("submit of {}: {e}", request.key));
        Allocation::of(request, id)
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
        let mut squeue = Command::new("squeue");
        let left = finish(squeue.args(["-h", "-o", "%A %T %Z"]).env("SLURM_CONF", &self.commands.conf));
        assert_eq!(left.ok(), "", "jobs are left behind");
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
            batch: Some(BatchRequest::new(
                self.slurm.dir().join("jobs").join(key),
                JobName::new("hq-1-1").expect("a name"),
            )),
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
