//! Shutdown, restart from a journal, peers that behave badly, and many links.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use hq_core::{Call, ClientReply, ClientRequest, FromWorker, Reply, RequestId, Selector, ToWorker};
use hq_engine::{Engine, EngineError, Job, LocalWorker, Task};
use hq_transport::{Role, TypedReceiver, TypedSender, Versions, memory};

fn versions() -> Versions {
    Versions::current("test")
}

/// Tasks of the runtime that are alive.
fn alive() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

#[tokio::test]
async fn shutdown_leaves_no_task_behind() {
    let before = alive();
    let engine =
        Engine::builder().worker(LocalWorker::cpus(2)).worker(LocalWorker::cpus(2)).start().await.expect("start");
    let (link, theirs) = memory::pair(Role::Client, versions());
    engine.attach(theirs, Role::Client).await.expect("attach");
    let running = engine.submit(Task::call_async(|_| std::future::pending::<()>())).await.expect("submit");
    let mut events = engine.events().await.expect("events");
    let done = engine.submit(Job::array(0..10, Task::call(|_| ()))).await.expect("submit");
    assert!(done.await.expect("wait").is_success());
    assert!(alive() > before);
    engine.shutdown().await.expect("shutdown");
    assert_eq!(alive(), before);
    assert!(matches!(running.wait().await, Err(EngineError::Ended)));
    while events.next().await.is_some() {}
    drop(link);
}

#[tokio::test]
async fn a_dropped_engine_ends() {
    let before = alive();
    let engine = Engine::builder().worker(LocalWorker::cpus(1)).start().await.expect("start");
    let handle = engine.handle();
    drop(engine);
    for _ in 0..2000 {
        if alive() == before {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(alive(), before);
    assert!(matches!(handle.submit(Task::call(|_| ())).await, Err(EngineError::Ended)));
}

#[tokio::test]
async fn a_client_can_end_the_engine() {
    let mut engine = Engine::builder().start().await.expect("start");
    engine.call(ClientRequest::StopServer).await.expect("stop");
    engine.ended().await.expect("clean end");
}

#[tokio::test]
async fn a_restart_goes_on_where_it_was() {
    let dir = tempfile::tempdir().expect("dir");
    let file = dir.path().join("journal");
    let log = Arc::new(Mutex::new(Vec::<u32>::new()));
    let builder = |log: &Arc<Mutex<Vec<u32>>>| {
        let log = Arc::clone(log);
        let add = move |_: &hq_engine::TaskContext, n: u32| log.lock().unwrap().push(n);
        Engine::builder().journal(&file).register("add", add)
    };

    let engine = builder(&log).start().await.expect("start");
    let mut job = Job::new().name("kept");
    let first = job.add(Task::named("add", &1u32));
    let second = job.add(Task::named("add", &2u32).after(first));
    job.add(Task::named("add", &3u32).after(second));
    let kept = engine.submit(job).await.expect("submit").id();
    let lost = engine.submit(Task::call(|_| ())).await.expect("submit").id();
    engine.shutdown().await.expect("shutdown");
    assert_eq!(*log.lock().unwrap(), [0u32; 0], "there was no worker");

    let engine = builder(&log).worker(LocalWorker::cpus(1)).start().await.expect("restart");
    let result = engine.job(kept).wait().await.expect("wait");
    assert!(result.is_success());
    assert_eq!(result.info.spec.name, "kept");
    let result = engine.job(lost).wait().await.expect("wait");
    assert!(result.failures[0].1.contains("program that has ended"), "{:?}", result.failures);
    engine.shutdown().await.expect("shutdown");
    assert_eq!(*log.lock().unwrap(), [1, 2, 3]);

    let engine = builder(&log).worker(LocalWorker::cpus(1)).start().await.expect("restart");
    assert!(engine.job(kept).info().await.expect("info").ended.is_some());
    let next = engine.submit(Task::named("add", &4u32)).await.expect("submit");
    assert_eq!(next.id().0, lost.0 + 1);
    assert!(next.await.expect("wait").is_success());
    engine.shutdown().await.expect("shutdown");
    assert_eq!(*log.lock().unwrap(), [1, 2, 3, 4], "nothing ran twice");
}

#[tokio::test]
async fn two_engines_on_one_journal_are_refused() {
    let dir = tempfile::tempdir().expect("dir");
    let builder = || Engine::builder().journal(dir.path().join("journal"));
    let engine = builder().start().await.expect("start");
    assert!(builder().start().await.expect_err("held").to_string().contains("in use"));
    engine.shutdown().await.expect("shutdown");
    builder().start().await.expect("free again").shutdown().await.expect("shutdown");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_workers() {
    let engine = Engine::builder().start().await.expect("start");
    for n in 0..200 {
        engine.add_worker(LocalWorker::cpus(1).name(format!("w{n}"))).await.expect("add");
    }
    engine.call(ClientRequest::WaitWorkers(200)).await.expect("all there");
    let ran = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&ran);
    let task = Task::call_async(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        async {}
    });
    let result = engine.submit(Job::array(0..10_000, task)).await.expect("submit").await.expect("wait");
    assert!(result.is_success());
    assert_eq!(ran.load(Ordering::Relaxed), 10_000);
    engine.shutdown().await.expect("shutdown");
}

#[tokio::test]
async fn a_client_that_does_not_read_slows_nobody_else() {
    let engine = Engine::builder().worker(LocalWorker::cpus(2)).start().await.expect("start");
    let (link, theirs) = memory::pair(Role::Client, versions());
    engine.attach(theirs, Role::Client).await.expect("attach");
    let mut sender = TypedSender::<Call>::new(link.sender);
    // It asks and asks, and never reads; once its queue is half full it is not listened to any more.
    let flood = async {
        for n in 1.. {
            let call = Call { id: RequestId(n), request: ClientRequest::Jobs(Selector::All) };
            if sender.send(&[call]).await.is_err() {
                return;
            }
        }
    };
    let work = async {
        for _ in 0..20 {
            let job = engine.submit(Job::array(0..100, Task::call_async(|_| async {}))).await.expect("submit");
            assert!(job.await.expect("wait").is_success());
        }
    };
    tokio::select! {
        () = flood => {}
        () = work => {}
    }
    let job = engine.submit(Task::call(|_| ())).await.expect("submit");
    assert!(job.await.expect("wait").is_success());
    drop(link.receiver);
    engine.shutdown().await.expect("shutdown");
}

#[tokio::test]
async fn bytes_that_are_no_messages_end_their_link_only() {
    let engine = Engine::builder().worker(LocalWorker::cpus(1)).start().await.expect("start");
    for role in [Role::Client, Role::Worker] {
        let (mut link, theirs) = memory::pair(role, versions());
        engine.attach(theirs, role).await.expect("attach");
        link.sender.send(vec![255; 100]).await.expect("send");
        let end = tokio::time::timeout(Duration::from_secs(5), async {
            while let Ok(Some(_)) = link.receiver.recv().await {}
        });
        end.await.expect("the link is ended");
    }
    let job = engine.submit(Task::call(|_| ())).await.expect("submit");
    assert!(job.await.expect("wait").is_success());
    engine.shutdown().await.expect("shutdown");
}

#[tokio::test]
async fn clients_and_workers_over_links() {
    let engine = Engine::builder().worker(LocalWorker::cpus(1)).start().await.expect("start");
    let (link, theirs) = memory::pair(Role::Client, versions());
    engine.attach(theirs, Role::Client).await.expect("attach");
    let (mut calls, mut replies) = (TypedSender::<Call>::new(link.sender), TypedReceiver::<Reply>::new(link.receiver));
    calls.send(&[Call { id: RequestId(5), request: ClientRequest::WaitWorkers(1) }]).await.expect("send");
    let got = replies.recv().await.expect("recv").expect("reply");
    assert_eq!(got, [Reply { id: RequestId(5), reply: ClientReply::Done }]);

    let (link, theirs) = memory::pair(Role::Worker, versions());
    engine.attach(theirs, Role::Worker).await.expect("attach");
    let (mut says, mut hears) =
        (TypedSender::<FromWorker>::new(link.sender), TypedReceiver::<ToWorker>::new(link.receiver));
    let resources = hq_core::WorkerResources::cpus(1).expect("resources");
    let config = hq_core::WorkerConfig::new("by hand", resources);
    says.send(&[FromWorker::Hello(Box::new(config))]).await.expect("send");
    let got = hears.recv().await.expect("recv").expect("welcome");
    assert!(matches!(&got[0], ToWorker::Welcome(welcome) if welcome.worker.0 == 2), "{got:?}");
    engine.shutdown().await.expect("shutdown");
}

#[tokio::test]
async fn a_long_flush_period_holds_nobody_up() {
    let dir = tempfile::tempdir().expect("dir");
    let builder = Engine::builder().journal(dir.path().join("journal")).journal_flush(Duration::from_secs(3600));
    let engine = builder.worker(LocalWorker::cpus(1)).start().await.expect("start");
    let mut events = engine.events().await.expect("events");
    // That a task has started is safe only after the period; nothing comes after it here.
    let _job = engine.submit(Task::call_async(|_| std::future::pending::<()>())).await.expect("submit");
    let started = async {
        while let Some(event) = events.next().await {
            if matches!(event.kind, hq_engine::EventKind::TaskStarted { .. }) {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), started).await.expect("it is told soon");
    engine.shutdown().await.expect("shutdown");
}
