//! Clients and workers from outside: run directory, access record, links, and the end.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use hq_client::{Client, ConnectError};
use hq_core::{ClientReply, ClientRequest, Page, Selector, WorkerConfig, WorkerResources};
use hq_engine::{
    Engine, Job, LocalWorker, Obstacle, Request, Standing, Task, TaskNumber, serve::ServeError, serve::ServeOptions,
};
use hq_transport::{
    Identity, Role, Transport, Versions,
    access::AccessRecord,
    keys::{PeerKey, ServerKeys},
    server_dir::RunDir,
    tcp::TcpTransport,
};
use hq_worker::{Runners, WorkerOptions, run_worker};

const VERSION: &str = env!("CARGO_PKG_VERSION");

async fn serving(dir: &Path) -> Engine {
    let engine = Engine::builder().worker(LocalWorker::cpus(1)).start().await.expect("start");
    engine.serve(ServeOptions::new(dir).host("localhost")).await.expect("serve");
    engine
}

fn record(dir: &Path) -> AccessRecord {
    AccessRecord::load(&dir.join("hq-current/access.json"), VERSION).expect("record")
}

async fn ask(client: &Client) -> String {
    client.server_info().await.expect("info").server_uid
}

#[tokio::test]
async fn a_server_can_be_reached_until_it_ends() {
    let dir = tempfile::tempdir().expect("dir");
    let mut engine = serving(dir.path()).await;
    let record = record(dir.path());
    assert_eq!(fs::metadata(dir.path().join("001/access.json")).expect("file").permissions().mode() & 0o777, 0o400);
    let client = Client::connect(dir.path()).await.expect("connect");
    let info = client.server_info().await.expect("info");
    assert_eq!(Some(&info.server_uid), record.server_uid.as_ref());
    let (client_end, worker_end) = (record.client.expect("client"), record.worker.expect("worker"));
    assert_eq!((info.client_host.as_str(), info.client_port), ("localhost", client_end.port));
    assert_eq!((info.worker_host.as_str(), info.worker_port), ("localhost", worker_end.port));
    assert_ne!(info.client_port, 0);
    // The run directory itself works as well.
    assert_eq!(ask(&Client::connect(&dir.path().join("001")).await.expect("connect")).await, info.server_uid);
    client.call(ClientRequest::StopServer).await.expect("stop");
    engine.ended().await.expect("clean end");
    assert!(fs::symlink_metadata(dir.path().join("hq-current")).is_err(), "the link is removed");
    assert!(dir.path().join("001/access.json").exists(), "the run stays");
    assert!(tokio::net::TcpStream::connect(("127.0.0.1", info.client_port)).await.is_err(), "the port is free");
}

#[tokio::test]
async fn why_a_task_waits_is_told_inside_and_outside() {
    let dir = tempfile::tempdir().expect("dir");
    let engine = serving(dir.path()).await;
    engine.call(ClientRequest::WaitWorkers(1)).await.expect("worker");
    let large = Task::call(|_| ()).request(Request::cpus(2).expect("request"));
    let job = engine.submit(Job::new().with(large)).await.expect("submit").id();
    let inside = engine.explain(job, TaskNumber(0)).await.expect("inside");
    let client = Client::connect(dir.path()).await.expect("connect");
    assert_eq!(client.explain(job, TaskNumber(0)).await.expect("outside"), inside);
    let lacks: Vec<Obstacle> = inside.workers[0].variants[0].obstacles().collect();
    assert_eq!(
        (inside.standing, inside.is_feasible(), lacks),
        (Standing::Infeasible, false, vec![Obstacle::TooLittle])
    );
    let refused = client.explain(job, TaskNumber(1)).await.expect_err("no such task").to_string();
    assert!(refused.contains("Task 1 not found in job 1"), "{refused}");
    client.close().await;
    engine.shutdown().await.expect("shutdown");
}

#[tokio::test]
async fn clients_use_the_socket_and_fall_back_to_tcp() {
    let dir = tempfile::tempdir().expect("dir");
    let engine = serving(dir.path()).await;
    let uid = engine.info().await.expect("info").server_uid;
    let run = RunDir::find(dir.path(), hq_transport::server_dir::Seeker::Client).expect("run");
    let socket = run.client_socket(record(dir.path()).client.as_ref().expect("client"));
    assert!(socket.exists());
    assert_eq!(ask(&Client::connect(dir.path()).await.expect("socket")).await, uid);
    fs::remove_file(&socket).expect("remove");
    assert_eq!(ask(&Client::connect(dir.path()).await.expect("tcp")).await, uid);
    // A record that is changed leads nowhere, whatever the socket.
    let path = dir.path().join("001/access.json");
    let text = fs::read_to_string(&path).expect("read");
    let port = record(dir.path()).client.expect("client").port;
    fs::remove_file(&path).expect("remove");
    fs::write(&path, text.replace(&port.to_string(), "1")).expect("write");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).expect("mode");
    let error = Client::connect(dir.path()).await.expect_err("changed");
    assert_eq!(error.to_string(), "Access token found but HQ server localhost:1 is unreachable");
    engine.shutdown().await.expect("shutdown");
}

#[tokio::test]
async fn a_second_server_is_refused_and_a_stale_record_replaced() {
    let dir = tempfile::tempdir().expect("dir");
    let engine = serving(dir.path()).await;
    let other = Engine::builder().start().await.expect("start");
    let error = other.serve(ServeOptions::new(dir.path()).host("localhost")).await.expect_err("live");
    assert!(matches!(error, ServeError::AlreadyOnline(_)));
    let text = error.to_string();
    assert!(text.contains("server is already online") && text.contains("hq server stop --server-dir"), "{text}");
    let stale = record(dir.path());
    engine.shutdown().await.expect("shutdown");
    // As if it had been killed.
    std::os::unix::fs::symlink(dir.path().join("001"), dir.path().join("hq-current")).expect("link");
    other.serve(ServeOptions::new(dir.path()).host("localhost")).await.expect("serve");
    assert_ne!(record(dir.path()), stale);
    assert!(dir.path().join("002").is_dir());
    Client::connect(dir.path()).await.expect("connect").close().await;
    other.shutdown().await.expect("shutdown");
}

#[tokio::test]
async fn errors_name_what_is_missing() {
    let dir = tempfile::tempdir().expect("dir");
    let missing = dir.path().join("no");
    let error = Client::connect(&missing).await.expect_err("missing");
    assert_eq!(error.to_string(), "Invalid server directory");
    let error = Client::connect(dir.path()).await.expect_err("empty");
    assert!(error.to_string().starts_with("No running instance of HQ found at"), "{error}");
    let keys = ServerKeys::generate(true, true).expect("keys");
    let full = AccessRecord::full(VERSION, "AbC123", ("h", 1), ("h", 2), &keys);
    full.split(Role::Worker).save(&dir.path().join("access.json")).expect("save");
    assert!(matches!(Client::connect(dir.path()).await, Err(ConnectError::NotForClients(_))));
    fs::remove_file(dir.path().join("access.json")).expect("remove");
    AccessRecord { version: "0.0.1".into(), ..full }.save(&dir.path().join("access.json")).expect("save");
    let error = Client::connect(dir.path()).await.expect_err("version");
    let expected = format!("Access record contains version 0.0.1, but the current version is {VERSION}");
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn a_given_record_is_what_is_published() {
    let dir = tempfile::tempdir().expect("dir");
    let keys = ServerKeys::generate(true, true).expect("keys");
    let free = || std::net::TcpListener::bind(("127.0.0.1", 0)).expect("port").local_addr().expect("address").port();
    let given = AccessRecord::full(VERSION, "GiVen1", ("localhost", free()), ("abcd123", free()), &keys);
    let engine = Engine::builder().server_uid("GiVen1").start().await.expect("start");
    let info = engine.serve(ServeOptions::new(dir.path()).access(given.clone())).await.expect("serve");
    assert_eq!(record(dir.path()), given);
    assert_eq!((info.server_uid.as_str(), info.worker_host.as_str()), ("GiVen1", "abcd123"));
    assert_eq!(ask(&Client::connect(dir.path()).await.expect("connect")).await, "GiVen1");
    engine.shutdown().await.expect("shutdown");
}

#[tokio::test]
async fn workers_come_over_tcp_and_cannot_be_clients() {
    let dir = tempfile::tempdir().expect("dir");
    let engine = Engine::builder().start().await.expect("start");
    engine.serve(ServeOptions::new(dir.path()).host("localhost")).await.expect("serve");
    let record = record(dir.path());
    let end = record.worker.clone().expect("worker");
    let key = PeerKey::of(&end).expect("key");
    let identity = Identity { role: Role::Worker, versions: Versions::current(VERSION), key };
    let link = TcpTransport::new("localhost", end.port, identity.clone()).connect().await.expect("connect");
    assert!(link.peer.sealed);
    let config = WorkerConfig::new("far", WorkerResources::cpus(1).expect("resources"));
    let worker = tokio::spawn(run_worker(WorkerOptions::new(config, link, Runners::new())));
    let client = Client::connect(dir.path()).await.expect("connect");
    client.call(ClientRequest::WaitWorkers(1)).await.expect("wait");
    let ClientReply::Workers(Page { items: workers, .. }) =
        client.call(ClientRequest::Workers(Selector::All)).await.expect("workers")
    else {
        panic!("workers are expected")
    };
    assert_eq!(workers[0].config.hostname, "far");
    // Closures of this process do not go there.
    let job = engine.submit(Job::array(0..3, Task::call(|_| ()))).await.expect("submit");
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert_eq!(job.info().await.expect("info").counts.waiting, 3);
    let client_port = record.client.expect("client").port;
    assert!(TcpTransport::new("localhost", client_port, identity).connect().await.is_err(), "wrong role");
    engine.shutdown().await.expect("shutdown");
    worker.await.expect("the worker has ended");
}
