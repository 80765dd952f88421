//! Orders for runners without a worker around them.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use hq_core::{
    Allocation, Amount, Blob, Epoch, FailCause, GrantId, GrantedResource, Instance, JobId, OnClose, Ordinal, Outcome,
    Piece, ProgramBody, ProgramSpec, Request, ResourceName, RunId, Stdio, SubmitBody, SubmitId, TaskNumber, WorkerId,
    WorkerResources,
};
use hq_node::{Lane, StartOrder, StopHow};
use hq_worker::{Done, EndSink, ProgramOptions, ProgramRunner, TaskRunner};

/// Longest wait for what is bound to happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn blob(text: &str) -> Blob {
    Blob::from(text.as_bytes())
}

/// `/bin/sh -c script` in `dir`, outputs in `out` and `err` there.
pub(crate) fn shell(script: &str, dir: &Path) -> ProgramSpec {
    program(&["/bin/sh", "-c", script], dir)
}

pub(crate) fn program(args: &[&str], dir: &Path) -> ProgramSpec {
    ProgramSpec {
        args: args.iter().map(|arg| blob(arg)).collect(),
        cwd: blob(dir.to_str().unwrap()),
        submit_dir: blob("/"),
        stdout: file("out"),
        stderr: file("err"),
        ..ProgramSpec::default()
    }
}

pub(crate) fn file(path: &str) -> Stdio {
    Stdio::File { path: blob(path), on_close: OnClose::Keep }
}

pub(crate) fn same(spec: ProgramSpec) -> Arc<SubmitBody> {
    body(&ProgramBody::Same(spec))
}

pub(crate) fn body(body: &ProgramBody) -> Arc<SubmitBody> {
    Arc::new(SubmitBody {
        submit: SubmitId(0),
        job: JobId(3),
        kind: "program".to_owned(),
        shared: postcard::to_stdvec(body).unwrap().into(),
    })
}

pub(crate) fn order(body: &Arc<SubmitBody>, lane: &Arc<Lane>) -> StartOrder {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    StartOrder {
        run: RunId { task: Ordinal(n), grant: GrantId { epoch: Epoch(1), n: 1 } },
        worker: WorkerId(1),
        job: body.job,
        number: TaskNumber(7),
        instance: Instance(2),
        body: body.clone(),
        part: vec![],
        lane: lane.clone(),
    }
}

/// One cpu, the one with index 1.
pub(crate) fn lane() -> Lane {
    Lane {
        request: Arc::new(Request::cpus(1).unwrap()),
        variant: 0,
        variants: 1,
        allocation: Allocation(vec![granted("cpus", Amount::ONE, &[1])]),
        hosts: vec![],
        server_uid: "uid7".to_owned(),
    }
}

pub(crate) fn granted(resource: &str, amount: Amount, indices: &[u32]) -> GrantedResource {
    let piece = |index: &u32| Piece { index: *index, amount: Amount::ONE };
    GrantedResource {
        resource: ResourceName::new(resource).unwrap(),
        amount,
        pieces: indices.iter().map(piece).collect(),
    }
}

/// A runner and the ends it tells.
pub(crate) struct Bench<R> {
    runner: Option<R>,
    ends: mpsc::Receiver<(RunId, Outcome)>,
    sender: Arc<Mutex<mpsc::Sender<(RunId, Outcome)>>>,
    early: Mutex<BTreeMap<RunId, Outcome>>,
}

impl<R: TaskRunner> Bench<R> {
    pub(crate) fn new(runner: R) -> Self {
        let (sender, ends) = mpsc::channel();
        Self { runner: Some(runner), ends, sender: Arc::new(Mutex::new(sender)), early: Mutex::default() }
    }

    pub(crate) fn start(&self, order: StartOrder) -> RunId {
        let (run, sender) = (order.run, self.sender.clone());
        let sink = move |run, outcome| sender.lock().unwrap().send((run, outcome)).unwrap();
        self.start_with(order, Arc::new(sink));
        run
    }

    pub(crate) fn start_with(&self, order: StartOrder, sink: Arc<dyn EndSink>) {
        let done = Done::new(order.run, sink);
        self.runner.as_ref().unwrap().start(order, done);
    }

    pub(crate) fn stop(&self, run: RunId, how: StopHow) {
        self.runner.as_ref().unwrap().stop(run, how);
    }

    /// In session 1.
    pub(crate) fn listen(&self, job: JobId, credit: Option<u32>) {
        self.runner.as_ref().unwrap().listen(job, 1, credit);
    }

    /// The same after the runner was dropped.
    pub(crate) fn without_runner(mut self) -> Self {
        self.runner = None;
        self
    }

    pub(crate) fn end_of(&self, run: RunId) -> Outcome {
        if let Some(outcome) = self.early.lock().unwrap().remove(&run) {
            return outcome;
        }
        loop {
            let (ended, outcome) = self.ends.recv_timeout(PATIENCE).expect("the run ends");
            if ended == run {
                return outcome;
            }
            assert!(self.early.lock().unwrap().insert(ended, outcome).is_none(), "{ended} ended twice");
        }
    }

    /// No end has come that nobody asked for.
    pub(crate) fn is_quiet(&self) -> bool {
        self.early.lock().unwrap().is_empty() && self.ends.try_recv().is_err()
    }

    pub(crate) fn run(&self, order: StartOrder) -> Outcome {
        self.end_of(self.start(order))
    }
}

impl Bench<ProgramRunner> {
    pub(crate) fn programs(work_dir: &Path) -> Self {
        let resources = Arc::new(WorkerResources::cpus(4).unwrap());
        Self::new(ProgramRunner::new(ProgramOptions::new(resources, work_dir)).unwrap())
    }

    pub(crate) fn run_spec(&self, spec: ProgramSpec) -> Outcome {
        self.run(order(&same(spec), &Arc::new(lane())))
    }
}

/// A failure with this text, and of the cause that the text tells.
pub(crate) fn failed(text: &str) -> Outcome {
    let number = |from: &str| text.split_once(from)?.1.split(['.', ' ']).next()?.parse::<i32>().ok();
    let cause = match (number("Received signal "), number("with exit code ")) {
        (Some(signal), _) => FailCause::Signal(signal),
        (None, Some(code)) => FailCause::Exit(code),
        (None, None) => FailCause::Other,
    };
    Outcome::failed_of(cause, text)
}

/// Waits until it holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process still does something: it exists and is no zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit(')').next().unwrap().trim_start().starts_with(['Z', 'X'])
}

/// The process id that a task writes, with a newline, to a file.
pub(crate) fn pid_in(file: &Path) -> u32 {
    let mut text = String::new();
    until("the task writes its id", || {
        text = std::fs::read_to_string(file).unwrap_or_default();
        text.ends_with('\n')
    });
    text.trim().parse().unwrap()
}
