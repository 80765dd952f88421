//! Tasks per second through one server with runners that do nothing, and the time from a submit to its end; and what each
//! link of a chain of tasks takes, each of which waits for the one before.
//!
//! `cargo bench -p hq-benches --bench throughput [-- TASKS|chain]`
#![allow(clippy::print_stdout, missing_docs)]

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use hq_client::Client;
use hq_core::{
    DepKind, Deps, JobId, JobSpec, JobTarget, Outcome, Parts, Profile, Request, RunId, Selector, Submit, TaskIds,
    TaskNumber, WorkerConfig, WorkerResources,
};
use hq_engine::{Engine, serve::ServeOptions};
use hq_transport::{Identity, Link, Role, Transport, Versions, keys::PeerKey, memory, tcp::TcpTransport};
use hq_worker::{Done, Runners, TaskRunner, WorkerOptions, run_worker};

const KIND: &str = "nothing";
const WORKERS: usize = 4;

/// Ends each task at once.
struct Nothing;

impl TaskRunner for Nothing {
    fn start(&self, _order: hq_worker::StartOrder, done: Done) {
        done.end(Outcome::Finished);
    }

    fn stop(&self, _run: RunId, _how: hq_worker::StopHow) {}
}

fn main() {
    let tasks = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(1_000_000);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        chains(false).await;
        chains(true).await;
        if std::env::args().any(|arg| arg == "chain") {
            return;
        }
        let memory = over_memory(tasks).await;
        let plain = over_tcp(tasks, false).await;
        let sealed = over_tcp(tasks, true).await;
        println!("cost of encryption: {:.1} %", (sealed.as_secs_f64() / plain.as_secs_f64() - 1.0) * 100.0);
        println!("in process / TCP sealed: {:.2}", memory.as_secs_f64() / sealed.as_secs_f64());
    });
}

/// Chains of several lengths over loopback: a link takes as long in each.
async fn chains(journal: bool) {
    let dir = tempfile::tempdir().unwrap();
    let builder = Engine::builder();
    let builder = if journal { builder.journal(dir.path().join("journal")) } else { builder };
    let engine = builder.start().await.unwrap();
    engine.serve(ServeOptions::new(dir.path()).host("localhost")).await.unwrap();
    start_worker(connect(dir.path()).await);
    let client = Client::connect(dir.path()).await.unwrap();
    client.call(hq_core::ClientRequest::WaitWorkers(1)).await.unwrap();
    for len in [1_000_u32, 1_000, 2_000, 4_000, 8_000] {
        let on = |task: u32| task.checked_sub(1).map(|before| (TaskNumber(before), DepKind::Success));
        let deps = Deps::new((0..len).map(on)).unwrap();
        let ids = TaskIds::Given(hq_core::IdList::range(0, len));
        let profile = Profile::new(Request::cpus(1).unwrap());
        let submit = Submit::array(JobTarget::New(JobSpec::default()), ids, KIND, vec![].into(), profile);
        let took = run_submit(&client, Submit { deps, ..submit }).await;
        let per_link = took.as_secs_f64() * 1000.0 / f64::from(len);
        println!("chain of {len}, journal {}: {per_link:.3} ms a link", if journal { "on" } else { "off" });
    }
    engine.shutdown().await.unwrap();
}

async fn over_memory(tasks: u32) -> Duration {
    let engine = Engine::builder().start().await.unwrap();
    for _ in 0..WORKERS {
        let versions = Versions::current(env!("CARGO_PKG_VERSION"));
        let (server, worker) = memory::pair(Role::Worker, versions);
        engine.attach(server, Role::Worker).await.unwrap();
        start_worker(worker);
    }
    let (clients, client) = memory::pair(Role::Client, Versions::current(env!("CARGO_PKG_VERSION")));
    engine.attach(clients, Role::Client).await.unwrap();
    let took = measure("in process", &Client::over(client), tasks).await;
    engine.shutdown().await.unwrap();
    took
}

async fn over_tcp(tasks: u32, sealed: bool) -> Duration {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::builder().start().await.unwrap();
    let options = ServeOptions::new(dir.path()).host("localhost");
    let options = if sealed { options } else { options.plain_workers().plain_clients() };
    engine.serve(options).await.unwrap();
    for _ in 0..WORKERS {
        start_worker(connect(dir.path()).await);
    }
    let client = Client::connect(dir.path()).await.unwrap();
    let took = measure(if sealed { "TCP, sealed" } else { "TCP, plain" }, &client, tasks).await;
    engine.shutdown().await.unwrap();
    took
}

async fn connect(dir: &Path) -> Link {
    let version = env!("CARGO_PKG_VERSION");
    let run = hq_transport::server_dir::RunDir::find(dir, hq_transport::server_dir::Seeker::Worker).unwrap();
    let server = run.load_access(version).unwrap().worker.unwrap();
    let identity =
        Identity { role: Role::Worker, versions: Versions::current(version), key: PeerKey::of(&server).unwrap() };
    TcpTransport::new(server.host.as_str(), server.port, identity).connect().await.unwrap()
}

/// Workers live on threads of their own, as they would in processes of their own.
fn start_worker(link: Link) {
    let runners = Runners::new().with(KIND, Arc::new(Nothing));
    let options = WorkerOptions::new(WorkerConfig::new("bench", WorkerResources::cpus(4).unwrap()), link, runners);
    tokio::spawn(run_worker(options));
}

async fn measure(name: &str, client: &Client, tasks: u32) -> Duration {
    client.call(hq_core::ClientRequest::WaitWorkers(WORKERS as u32)).await.unwrap();
    run(client, 1000, Parts::default()).await;
    let mut latencies = Vec::new();
    for _ in 0..200 {
        latencies.push(run(client, 1, Parts::default()).await);
    }
    latencies.sort();
    let took = run(client, tasks, Parts::default()).await;
    // Half as many: a million bodies would be more than one message may hold.
    let half = tasks / 2;
    let own = run(client, half, Parts::new((0..half).map(|_| [7u8; 64])).unwrap()).await;
    println!(
        "{name:12} {:>10.0} array tasks/s {:>10.0} with bodies of 64 B; one task from submit to waited-for end: p50 {:?} p99 {:?}",
        f64::from(tasks) / took.as_secs_f64(),
        f64::from(half) / own.as_secs_f64(),
        latencies[100],
        latencies[198],
    );
    took
}

async fn run(client: &Client, tasks: u32, parts: Parts) -> Duration {
    let profile = Profile::new(Request::cpus(1).unwrap());
    let job = JobTarget::New(JobSpec::default());
    let mut submit = Submit::array(job, TaskIds::Next(tasks), KIND, vec![].into(), profile);
    submit.parts = parts;
    run_submit(client, submit).await
}

async fn run_submit(client: &Client, submit: Submit) -> Duration {
    let tasks = submit.ids.count();
    let start = Instant::now();
    let job: JobId = client.submit(submit).await.unwrap();
    client.wait(Selector::Ids(hq_core::IdList::range(job.0, 1)), true).await.unwrap();
    let took = start.elapsed();
    let info = client.jobs(Selector::Ids(hq_core::IdList::range(job.0, 1))).await.unwrap();
    assert_eq!(info[0].counts.finished, tasks, "no task may be lost");
    took
}
