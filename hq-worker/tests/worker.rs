//! A whole worker over a link in memory, with a server of a few lines.

mod common;

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use common::{file, is_alive, pid_in, program, shell};
use hq_core::{
    Allocation, Amount, Epoch, FromWorker, GrantId, LossReason, Open, Ordinal, Outcome, PROGRAM_KIND, Parts,
    ProgramBody, ProgramSpec, Request, RunId, SubmitBody, SubmitId, ToWorker, Welcome, Work, WorkRun, WorkerConfig,
    WorkerId, WorkerResources, idlist,
};
use hq_node::{Exit, StartOrder, StopHow};
use hq_transport::{Role, TypedReceiver, TypedSender, Versions, memory};
use hq_worker::{Done, ProgramOptions, ProgramRunner, Runners, TaskRunner, WorkerHandle, WorkerOptions, run_worker};
use tokio::{task::JoinHandle, time::timeout};

/// A server's end of a link to a worker.
struct Server {
    sender: TypedSender<ToWorker>,
    receiver: TypedReceiver<FromWorker>,
    worker: JoinHandle<Exit>,
    handle: WorkerHandle,
}

const GRANT: GrantId = GrantId { epoch: Epoch(1), n: 1 };

impl Server {
    /// With a worker that has been welcomed.
    async fn with_worker(runners: Runners) -> Self {
        let (to_server, to_worker) = memory::pair(Role::Worker, Versions::current("1"));
        let config = WorkerConfig::new("host", WorkerResources::cpus(4).unwrap());
        let options = WorkerOptions::new(config, to_server, runners);
        let handle = options.handle();
        let mut server = Self {
            sender: TypedSender::new(to_worker.sender),
            receiver: TypedReceiver::new(to_worker.receiver),
            worker: tokio::spawn(run_worker(options)),
            handle,
        };
        let hello = server.recv().await.expect("a hello");
        assert!(matches!(&hello[..], [FromWorker::Hello(config)] if config.hostname == "host"), "{hello:?}");
        let welcome = Welcome {
            worker: WorkerId(1),
            epoch: Epoch(1),
            token: 0,
            server_uid: "uid".to_owned(),
            idle_timeout: None,
        };
        server.send(ToWorker::Welcome(welcome)).await;
        server
    }

    async fn send(&mut self, message: ToWorker) {
        self.sender.send(&[message]).await.unwrap();
    }

    async fn recv(&mut self) -> Option<Vec<FromWorker>> {
        timeout(common::PATIENCE, self.receiver.recv()).await.expect("news from the worker").unwrap()
    }

    /// Opens a lane with `count` tasks of this body.
    async fn open(&mut self, kind: &str, shared: Vec<u8>, count: u32) {
        self.sender.send(&lane(kind, shared, count)).await.unwrap();
    }

    async fn open_program(&mut self, spec: ProgramSpec, count: u32) {
        self.open(PROGRAM_KIND, postcard::to_stdvec(&ProgramBody::Same(spec)).unwrap(), count).await;
    }

    /// Ends that are reported, until there are `count`.
    async fn ends(&mut self, count: usize) -> Vec<Outcome> {
        let mut ends = vec![];
        while ends.len() < count {
            for message in self.recv().await.expect("a worker that stays") {
                if let FromWorker::Report(report) = message {
                    ends.extend(report.lanes.into_iter().flat_map(|lane| lane.ended).map(|end| end.outcome));
                }
            }
        }
        ends
    }

    async fn exit(self) -> Exit {
        timeout(common::PATIENCE, self.worker).await.expect("the worker leaves").unwrap()
    }
}

/// A body and a lane with `count` tasks of it.
fn lane(kind: &str, shared: Vec<u8>, count: u32) -> [ToWorker; 2] {
    let (submit, kind, shared) = (SubmitId(0), kind.to_owned(), shared.into());
    let body = SubmitBody { submit, job: hq_core::JobId(1), kind, shared };
    let open = Open {
        grant: GRANT,
        request: Arc::new(Request::cpus(1).unwrap()),
        variant: 0,
        variants: 1,
        allocation: Allocation(vec![common::granted("cpus", Amount::ONE, &[0])]).into(),
        hosts: vec![],
        work: vec![work(0, count)],
        not_after: None,
    };
    [ToWorker::Submit(body), ToWorker::Open(Box::new(open))]
}

fn work(first: u32, count: u32) -> Work {
    let numbers = idlist::Run { start: first, count, step: 1 };
    let runs = vec![WorkRun { first: Ordinal(u64::from(first)), numbers }];
    Work { submit: SubmitId(0), time_limit: None, runs, parts: Parts::default(), instances: vec![] }
}

fn programs(dir: &Path) -> Runners {
    let resources = Arc::new(WorkerResources::cpus(4).unwrap());
    let runner = ProgramRunner::new(ProgramOptions::new(resources, dir)).unwrap();
    Runners::new().with(PROGRAM_KIND, Arc::new(runner))
}

/// Ends each task at once and counts them.
#[derive(Default)]
struct Counter(AtomicUsize);

impl TaskRunner for Counter {
    fn start(&self, _order: StartOrder, done: Done) {
        self.0.fetch_add(1, Ordering::Relaxed);
        done.end(Outcome::Finished);
    }

    fn stop(&self, _run: RunId, _how: StopHow) {}
}

#[tokio::test]
async fn tasks_run_one_after_the_other_and_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::with_worker(programs(dir.path())).await;
    let spec = ProgramSpec { stdout: file("%{TASK_ID}"), ..program(&["echo", "hi"], dir.path()) };
    server.open_program(spec, 5).await;
    assert_eq!(server.ends(5).await, vec![Outcome::Finished; 5]);
    assert_eq!(fs::read_to_string(dir.path().join("4")).unwrap(), "hi\n");
    server.send(ToWorker::Stop { reason: LossReason::Stopped }).await;
    assert_eq!(server.recv().await, None, "a good-bye");
    assert_eq!(server.exit().await, Exit::Stopped);
}

#[tokio::test]
async fn a_kind_that_nobody_runs_fails_the_task() {
    let mut server = Server::with_worker(Runners::new()).await;
    server.open("dance", vec![], 1).await;
    let text = "this worker cannot run tasks of kind `dance`";
    assert_eq!(server.ends(1).await, [common::failed(text)]);
}

#[tokio::test]
async fn a_killed_task_is_reported_as_killed() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::with_worker(programs(dir.path())).await;
    server.open_program(shell("echo $$ > main; exec sleep 100", dir.path()), 1).await;
    let pid = tokio::task::spawn_blocking({
        let file = dir.path().join("main");
        move || pid_in(&file)
    });
    let pid = pid.await.unwrap();
    server.send(ToWorker::Kill { grant: GRANT, task: Ordinal(0) }).await;
    assert_eq!(server.ends(1).await, [Outcome::Killed]);
    assert!(!is_alive(pid));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_ends_a_worker_ends_its_tasks_first() {
    for (what, exit) in [("interrupt", Exit::Interrupted), ("cut", Exit::ServerLost), ("stop", Exit::Stopped)] {
        let dir = tempfile::tempdir().unwrap();
        let mut server = Server::with_worker(programs(dir.path())).await;
        let script = "trap '' INT TERM; echo $$ > main; while :; do sleep 0.05; done";
        server.open_program(shell(script, dir.path()), 1).await;
        let pid = pid_in(&dir.path().join("main"));
        let start = Instant::now();
        match what {
            "interrupt" => server.handle.interrupt(),
            "stop" => server.send(ToWorker::Stop { reason: LossReason::Stopped }).await,
            _ => {}
        }
        let Server { sender, receiver, worker, .. } = server;
        if what == "cut" {
            drop((sender, receiver));
        }
        assert_eq!(timeout(common::PATIENCE, worker).await.unwrap().unwrap(), exit, "{what}");
        assert!(!is_alive(pid), "{what}");
        assert!(start.elapsed() < Duration::from_secs(2), "{what}: nothing has to be waited out");
    }
}

#[tokio::test]
async fn a_refused_worker_says_why() {
    let mut server = Server::with_worker(Runners::new()).await;
    server.send(ToWorker::Refused { reason: "too old".to_owned() }).await;
    assert_eq!(server.exit().await, Exit::Refused("too old".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_listen_holds_up_no_start() {
    // Each makes a report, and the link holds far fewer of them.
    const ROUNDS: u32 = 4 * memory::BATCHES_MAX as u32;
    let counter = Arc::new(Counter::default());
    let mut server = Server::with_worker(Runners::new().with("count", counter.clone())).await;
    server.open("count", vec![], 1).await;
    for round in 1..ROUNDS {
        common::until("the task has run", || counter.0.load(Ordering::Relaxed) == round as usize);
        let work = vec![work(round, 1)];
        timeout(common::PATIENCE, server.send(ToWorker::Extend { grant: GRANT, work }))
            .await
            .expect("a worker that reads");
    }
    assert_eq!(server.ends(ROUNDS as usize).await.len(), ROUNDS as usize);
    server.send(ToWorker::Stop { reason: LossReason::IdleTimeout }).await;
    assert_eq!(server.exit().await, Exit::Stopped);
}

/// Ends each task at once.
struct Nothing;

impl TaskRunner for Nothing {
    fn start(&self, _: StartOrder, done: Done) {
        done.end(Outcome::Finished);
    }

    fn stop(&self, _: RunId, _: StopHow) {}
}

#[tokio::test]
async fn the_last_word_of_a_server_that_hears_no_more_is_heard() {
    let runners = Runners::new().with("nothing", Arc::new(Nothing));
    let Server { mut sender, receiver, worker, handle: _handle } = Server::with_worker(runners).await;
    drop(receiver);
    // The reports of these tasks find nobody; the wish that the worker stop is behind them on the link.
    sender.send(&lane("nothing", vec![], 1)).await.unwrap();
    let more = |first| ToWorker::Extend { grant: GRANT, work: vec![work(first, 1)] };
    for message in [more(1), more(2), ToWorker::Stop { reason: LossReason::Stopped }] {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let _ = sender.send(&[message]).await;
    }
    assert_eq!(timeout(common::PATIENCE, worker).await.unwrap().unwrap(), Exit::Stopped);
}
