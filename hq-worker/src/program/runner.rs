use std::{
    collections::BTreeMap,
    fmt, io,
    os::fd::OwnedFd,
    path::PathBuf,
    sync::{Arc, atomic::AtomicU64},
    thread,
};

use hq_core::{JobId, RunId, WorkerResources};
use hq_node::{StartOrder, StopHow};

use super::{
    environment::{Variables, inherited_environment},
    memory::MemoryEvents,
    recent::Recent,
    run::{FrameKey, FrameOf, PlanKey, PlanOf, ProgramRun, above_stdio},
};
use crate::{
    Done, NotifyDesk, TaskRunner,
    process::{Mark, RUN_KEY, Supervisor},
    stream::Streams,
};

/// Submits whose programs are kept ready.
const PLANS: usize = 64;
/// Pairs of submit and lane whose environments are kept ready.
const FRAMES: usize = 512;

/// What a [`ProgramRunner`] has to know of its worker.
#[derive(Clone, Debug)]
pub struct ProgramOptions {
    /// What the worker offers: gives granted indices their names.
    pub resources: Arc<WorkerResources>,
    /// Where task directories are made.
    pub work_dir: PathBuf,
    /// What tasks inherit; see [`inherited_environment`]. Variables for all tasks of the worker, such as `HQ`, are
    /// appended here: a later one of the same name wins.
    pub env: Vec<(Vec<u8>, Vec<u8>)>,
    /// Threads that start programs. Each waits for the creation of files and for `execve`, a fraction of a millisecond
    /// on a local file system.
    pub threads: usize,
    /// Where programs can say something to those who watch their jobs; none: they are given no key for it.
    pub notify: Option<Arc<NotifyDesk>>,
}

impl ProgramOptions {
    /// With the environment of this process, the system's temporary directory where `work_dir` is empty, and a
    /// quarter as many threads as cpus, 2 to 8.
    pub fn new(resources: Arc<WorkerResources>, work_dir: impl Into<PathBuf>) -> Self {
        let mut work_dir = work_dir.into();
        if work_dir.as_os_str().is_empty() {
            work_dir = std::env::temp_dir();
        }
        let cpus = thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self { resources, work_dir, env: inherited_environment(), threads: cpus.div_ceil(4).clamp(2, 8), notify: None }
    }
}

/// Runs programs: tasks of kind `program`.
///
/// Programs run without a shell in between, each leading a session and process group of its own.
///
/// # How programs end
/// When a run is told to end, its tree is gone once its end is reported: its group and session, the descendants of its
/// main process, and orphans that carry the run's key in their environment, also from sessions of their own (`setsid`,
/// daemons). When the worker dies, of whatever, a guardian process does the same for all runs, with SIGTERM a quarter
/// of a second before. A guardian that is killed is replaced, which is logged as an error.
///
/// The key is the variable `HQ_RUN_KEY`, a text of chance for the runner and a number for the run; that of a worker
/// that is itself a task comes before those of its tasks. A process escapes that has got rid of the key *and* of its
/// parents *and* of its session: only a cgroup could hold it. So does what cannot be killed within 3 seconds (programs
/// of other users, a file system that hangs); it is logged.
///
/// After an ordinary end, whatever its exit code, what the program left running in the background stays, in its group
/// or not: no later stop of a run, nor the death of the worker, touches it.
///
/// # What it does to its process
/// While there is a runner, this process is a "child subreaper": orphans among its descendants become its children,
/// and the runner reaps them. Children of the host program in the session of the host are left alone. One that leads a
/// session of its own should be waited for soon: where no other runner is in the process, it is taken for an orphan 10
/// seconds after its end.
///
/// Dropping it kills what still runs and waits for it, up to 5 seconds.
pub struct ProgramRunner {
    supervisor: Supervisor<ProgramRun>,
    common: Arc<Common>,
}

/// What all programs of a worker share.
pub(super) struct Common {
    pub(super) resources: Arc<WorkerResources>,
    pub(super) work_dir: PathBuf,
    pub(super) env: Variables,
    /// `/dev/null`, open for reading and writing, with a number above 2.
    pub(super) null: OwnedFd,
    pub(super) task_dirs: AtomicU64,
    pub(super) memory: MemoryEvents,
    pub(super) notify: Option<Arc<NotifyDesk>>,
    pub(super) streams: Streams,
    pub(super) plans: Recent<PlanKey, PlanOf>,
    pub(super) frames: Recent<FrameKey, FrameOf>,
}

impl ProgramRunner {
    /// Starts the threads that start programs, and the guardian, a fork of this process: make it early, before the
    /// process is large.
    ///
    /// # Errors
    /// When the system gives no process, thread or descriptor.
    pub fn new(options: ProgramOptions) -> io::Result<Self> {
        let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
        let env = options.env.into_iter().collect::<BTreeMap<_, _>>();
        let mark = Mark::new(env.get(RUN_KEY.as_bytes()).map(Vec::as_slice))?;
        let common = Arc::new(Common {
            resources: options.resources,
            work_dir: options.work_dir,
            env,
            null: above_stdio(null.into())?,
            task_dirs: AtomicU64::new(0),
            memory: MemoryEvents::of_this_process(),
            notify: options.notify,
            streams: Streams::default(),
            plans: Recent::new(PLANS, |(body, _)| body.strong_count() > 0),
            frames: Recent::new(FRAMES, |(body, lane, _)| body.strong_count() > 0 && lane.strong_count() > 0),
        });
        let supervisor = Supervisor::new(options.threads, mark)?;
        common.streams.kill_by(supervisor.killer());
        Ok(Self { supervisor, common })
    }
}

impl TaskRunner for ProgramRunner {
    fn start(&self, order: StartOrder, done: Done) {
        self.supervisor.start(ProgramRun::new(order, done, self.common.clone()));
    }

    fn stop(&self, run: RunId, how: StopHow) {
        self.supervisor.stop(run, how);
        if how != StopHow::Interrupt {
            self.common.streams.stop(run);
        }
    }

    fn listen(&self, job: JobId, session: u64, credit: Option<u32>) {
        self.common.streams.listen(job, session, credit);
    }
}

impl fmt::Debug for ProgramRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgramRunner").field("work_dir", &self.common.work_dir).finish_non_exhaustive()
    }
}
