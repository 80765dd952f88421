//! What an embedder meets: tasks of all sorts on workers of this process.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    time::Duration,
};

use hq_engine::{
    CancelOutcome, Engine, EngineBuilder, EngineError, EventKind, Job, JobError, JobResult, JobState, LocalWorker,
    Request, StartError, Task, TaskContext, TaskNumber, TaskState,
};

type Log = Arc<Mutex<Vec<String>>>;

fn one(worker: LocalWorker) -> EngineBuilder {
    Engine::builder().worker(worker)
}

async fn engine(cpus: u32) -> Engine {
    one(LocalWorker::cpus(cpus)).start().await.expect("start")
}

async fn run(engine: &Engine, job: impl Into<Job>) -> JobResult {
    engine.submit(job).await.expect("submit").await.expect("wait")
}

async fn end(engine: Engine) {
    engine.shutdown().await.expect("shutdown");
}

fn logging(log: &Log, text: &str) -> Task {
    let (log, text) = (Arc::clone(log), text.to_owned());
    Task::call(move |_| log.lock().unwrap().push(text.clone()))
}

fn states(result: &JobResult) -> [u64; 4] {
    let counts = result.info.counts;
    [counts.finished, counts.failed, counts.canceled, counts.aborted]
}

#[tokio::test]
async fn closures_finish_fail_and_panic_alone() {
    let engine = engine(4).await;
    let mut job = Job::new().name("closures");
    job.add(Task::call(|_| ()));
    job.add(Task::call(|_| Err::<(), _>("no luck")));
    job.add(Task::call(|_| -> () { panic!("oh dear") }));
    job.add(Task::call_async(|ctx: TaskContext| async move {
        tokio::task::yield_now().await;
        if ctx.number().0 == 3 { Ok(()) } else { Err("not me") }
    }));
    job.add(Task::call_async(|ctx| async move { ctx.number().0.checked_sub(5).map(drop).expect("async dear") }));
    let result = run(&engine, job).await;
    assert_eq!(states(&result), [2, 3, 0, 0]);
    assert_eq!(result.info.state(), JobState::Failed);
    let failures: Vec<(u32, &str)> = result.failures.iter().map(|(n, why)| (n.0, why.as_str())).collect();
    assert_eq!(failures, [(1, "no luck"), (2, "panicked: oh dear"), (4, "panicked: async dear")]);
    end(engine).await;
}

#[tokio::test]
async fn programs_run() {
    let dir = tempfile::tempdir().expect("dir");
    let engine = engine(2).await;
    let task = Task::program("sh")
        .args(["-c", "echo $NAME $HQ_TASK_ID; cat"])
        .env("NAME", "it")
        .stdin("input\n")
        .stdout("out-%{TASK_ID}")
        .current_dir(dir.path());
    let result = run(&engine, Job::array(3..5, task)).await;
    assert!(result.is_success(), "{result:?}");
    for n in [3, 4] {
        let text = std::fs::read_to_string(dir.path().join(format!("out-{n}"))).expect("output");
        assert_eq!(text, format!("it {n}\ninput\n"));
    }
    let result = run(&engine, Job::new().with(Task::program("true")).with(Task::program("false"))).await;
    assert_eq!(states(&result), [1, 1, 0, 0]);
    end(engine).await;
}

#[tokio::test]
async fn kinds_may_be_mixed_in_one_graph() {
    let dir = tempfile::tempdir().expect("dir");
    let file = dir.path().join("made");
    let (engine, found) = (engine(2).await, Arc::new(AtomicU32::new(0)));
    let mut job = Job::new();
    let first = job.add(Task::program("touch").arg(&file));
    let (seen, path) = (Arc::clone(&found), file.clone());
    let look = Task::call(move |_| {
        seen.fetch_add(u32::from(path.exists()), Ordering::Relaxed);
    });
    let second = job.add(look.after(first));
    job.add(Task::program("rm").arg(&file).after(second));
    assert!(run(&engine, job).await.is_success());
    assert_eq!((found.load(Ordering::Relaxed), file.exists()), (1, false));
    end(engine).await;
}

#[tokio::test]
async fn resources_are_granted_by_index() {
    let engine =
        one(LocalWorker::new("2x4").resource("gpus=[a,b]").resource("mem=sum(100)")).start().await.expect("start");
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let log = Arc::clone(&seen);
    let task = Task::call(move |ctx| {
        let cores: BTreeSet<u32> = ctx.labels("cpus").iter().map(|core| core.parse::<u32>().unwrap() / 4).collect();
        log.lock().unwrap().insert((cores.len(), ctx.labels("gpus").len(), ctx.amount("gpus"), ctx.amount("mem")));
    });
    let request = Request::parse(["cpus=2 compact!", "gpus=0.25", "mem=1.5"]).expect("request");
    assert!(run(&engine, Job::array(0..50, task.request(request))).await.is_success());
    let expected = (1, 1, "0.25".parse().unwrap(), "1.5".parse().unwrap());
    assert_eq!(*seen.lock().unwrap(), BTreeSet::from([expected]), "one node, one gpu, the amounts asked for");
    end(engine).await;
}

#[tokio::test]
async fn coupled_groups_are_granted_together() {
    let worker = LocalWorker::new("2x2").resource("gpus=2x1").coupling("cpus[0]:gpus[1], gpus[0]:cpus[1]");
    let engine = one(worker).start().await.expect("start");
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let log = Arc::clone(&seen);
    let task = Task::call(move |ctx| {
        let pair = [ctx.labels("cpus").concat(), ctx.labels("gpus").concat()];
        log.lock().unwrap().insert(pair);
    });
    let request = Request::parse(["cpus=2", "gpus=1"]).expect("request");
    assert!(run(&engine, Job::array(0..20, task.request(request))).await.is_success());
    let pairs = BTreeSet::from([["01", "1"], ["23", "0"]].map(|pair| pair.map(str::to_owned)));
    assert!(seen.lock().unwrap().is_subset(&pairs), "{seen:?}");
    end(engine).await;
}

#[tokio::test]
async fn fractions_share_an_index_and_no_more() {
    let engine = one(LocalWorker::cpus(64).resource("gpus=[0]")).start().await.expect("start");
    let (now, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (count, peak) = (Arc::clone(&now), Arc::clone(&most));
    let task = Task::call(move |_| {
        peak.fetch_max(count.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(5));
        count.fetch_sub(1, Ordering::SeqCst);
    });
    let request = Request::parse(["cpus=1", "gpus=0.25"]).expect("request");
    assert!(run(&engine, Job::array(0..40, task.request(request))).await.is_success());
    assert_eq!(most.load(Ordering::SeqCst), 4);
    end(engine).await;
}

#[tokio::test]
async fn the_variant_that_fits_is_taken() {
    let engine = one(LocalWorker::cpus(2)).start().await.expect("start");
    let variants = ["cpus=8", "cpus=1"].map(|text| Request::parse([text]).expect("request"));
    let seen = Arc::new(AtomicU32::new(99));
    let log = Arc::clone(&seen);
    let task = Task::call(move |ctx| log.store(u32::from(ctx.variant()), Ordering::Relaxed));
    assert!(run(&engine, task.variants(variants).expect("variants")).await.is_success());
    assert_eq!(seen.load(Ordering::Relaxed), 1);
    end(engine).await;
}

#[tokio::test]
async fn a_gang_has_whole_workers_of_one_group() {
    let builder = (0..3).fold(Engine::builder(), |builder, n| {
        builder.worker(LocalWorker::cpus(2).name(format!("node{n}")).group(if n == 1 { "other" } else { "mine" }))
    });
    let engine = builder.start().await.expect("start");
    let seen = Arc::new(Mutex::new(vec![]));
    let log = Arc::clone(&seen);
    let task = Task::call(move |ctx| *log.lock().unwrap() = ctx.hosts().to_vec());
    assert!(run(&engine, task.request(Request::gang(2))).await.is_success());
    let mut hosts = seen.lock().unwrap().clone();
    hosts.sort();
    assert_eq!(hosts, ["node0", "node2"]);
    end(engine).await;
}

#[tokio::test]
async fn dependencies_of_three_kinds() {
    let (engine, log) = (engine(4).await, Log::default());
    let mut job = Job::new();
    let good = job.add(logging(&log, "good"));
    let bad = job.add(Task::call(|_| Err::<(), _>("bad")));
    job.add(logging(&log, "after good").after(good));
    let aborted = job.add(logging(&log, "after bad").after(bad));
    job.add(logging(&log, "any end of bad").after_any_end(bad));
    job.add(logging(&log, "failure of bad").after_failure(bad));
    let never = job.add(logging(&log, "failure of good").after_failure(good));
    job.add(logging(&log, "any end of aborted").after_any_end(aborted));
    let result = run(&engine, job).await;
    assert_eq!(states(&result), [5, 1, 0, 2]);
    let ran: BTreeSet<String> = log.lock().unwrap().iter().cloned().collect();
    let expected = ["good", "after good", "any end of bad", "failure of bad", "any end of aborted"];
    assert_eq!(ran, expected.map(str::to_owned).into());
    let handle = engine.submit(Task::call(|_| ())).await.expect("submit");
    assert_eq!(handle.id().0, 2, "ids go on");
    let _ = never;
    end(engine).await;
}

#[tokio::test]
async fn what_cannot_be_handed_over_is_refused_and_changes_nothing() {
    let engine = engine(1).await;
    let forward = Job::new().with(Task::call(|_| ()).after(TaskNumber(1))).with(Task::call(|_| ()));
    let cases = [
        (Job::new(), JobError::Empty),
        (Job::array(5..5, Task::call(|_| ())), JobError::Empty),
        (forward, JobError::Dependency { task: TaskNumber(0), on: TaskNumber(1) }),
        (Job::array(0..2, Task::call(|_| ()).after(TaskNumber(0))), JobError::ArrayDependency),
    ];
    for (job, expected) in cases {
        match engine.submit(job).await {
            Err(EngineError::Job(error)) => assert_eq!(error, expected),
            other => panic!("{expected:?} was expected, not {other:?}"),
        }
    }
    assert_eq!(run(&engine, Task::call(|_| ())).await.info.id.0, 1, "no id was used up");
    end(engine).await;
}

#[tokio::test]
async fn larger_priorities_go_first() {
    let (engine, log) = (engine(1).await, Log::default());
    let (hold, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let wait = Task::call(move |_| assert!(gate.lock().unwrap().recv().is_err()));
    let first = engine.submit(wait).await.expect("submit");
    let mut job = Job::new();
    for priority in [1, -5, 7, 3] {
        job.add(logging(&log, &priority.to_string()).priority(priority));
    }
    let second = engine.submit(job).await.expect("submit");
    drop(hold);
    assert!(first.await.expect("wait").is_success() && second.await.expect("wait").is_success());
    assert_eq!(*log.lock().unwrap(), ["7", "3", "1", "-5"]);
    end(engine).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_array_of_100_000_closures() {
    let engine = engine(4).await;
    let ran = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&ran);
    let task = Task::call_async(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        async {}
    });
    assert!(run(&engine, Job::array(0..100_000, task)).await.is_success());
    assert_eq!(ran.load(Ordering::Relaxed), 100_000);
    end(engine).await;
}

#[tokio::test]
async fn max_fails_aborts_the_rest() {
    let engine = engine(1).await;
    let task = Task::call(|ctx| if ctx.number().0 % 2 == 0 { Err("even") } else { Ok(()) });
    let result = run(&engine, Job::array(0..100, task).max_fails(2)).await;
    assert_eq!(states(&result), [2, 3, 0, 95]);
    end(engine).await;
}

#[tokio::test]
async fn cancel_ends_what_runs_and_what_waits() {
    let engine = engine(2).await;
    let began = Arc::new(tokio::sync::Notify::new());
    let told = Arc::clone(&began);
    let task = Task::call_async(move |_| {
        told.notify_one();
        std::future::pending::<()>()
    });
    let job = engine.submit(Job::array(0..10, task)).await.expect("submit");
    began.notified().await;
    assert_eq!(job.cancel().await.expect("cancel"), CancelOutcome::Canceled { canceled: 10, already_ended: 0 });
    let result = job.clone().await.expect("wait");
    assert_eq!(states(&result), [0, 0, 10, 0]);
    assert_eq!(job.cancel().await.expect("cancel"), CancelOutcome::NothingLeft);
    // The resources are free again.
    assert!(run(&engine, Job::array(0..4, Task::call(|_| ()))).await.is_success());
    end(engine).await;
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_fails_the_task() {
    let engine = engine(1).await;
    let task = Task::call_async(|_| std::future::pending::<()>()).time_limit(Duration::from_secs(3600));
    let result = run(&engine, task).await;
    assert_eq!(states(&result), [0, 1, 0, 0]);
    assert!(result.failures[0].1.to_lowercase().contains("time limit"), "{:?}", result.failures);
    end(engine).await;
}

#[tokio::test]
async fn events_tell_a_job_from_submit_to_end() {
    let engine = engine(2).await;
    let job = engine.submit(Job::array(0..20, Task::call(|_| ())).name("watched")).await.expect("submit");
    // Another job is not in the feed of this one.
    run(&engine, Task::call(|_| ())).await;
    let mut events = job.events().await.expect("events");
    let (mut kinds, mut finished) = (vec![], BTreeSet::new());
    while let Some(event) = events.next().await {
        assert_eq!(event.kind.job(), Some(job.id()));
        match event.kind {
            EventKind::JobSubmitted { tasks, spec, .. } => kinds.push(format!("{tasks} of {}", spec.unwrap().name)),
            EventKind::TasksFinished { tasks, .. } => finished.extend(tasks.iter().map(|task| task.task.0)),
            EventKind::JobCompleted { .. } => kinds.push("completed".to_owned()),
            _ => {}
        }
    }
    assert_eq!(kinds, ["20 of watched", "completed"]);
    assert_eq!(finished, (0..20).collect());
    end(engine).await;
}

#[tokio::test]
async fn a_report_tells_where_tasks_ran() {
    let builder = Engine::builder().worker(LocalWorker::cpus(2).name("a")).worker(LocalWorker::cpus(2).name("b"));
    let engine = builder.start().await.expect("start");
    let task = Task::call(|_| std::thread::sleep(Duration::from_millis(4)));
    let job = engine.submit(Job::array(0..40, task)).await.expect("submit");
    job.wait().await.expect("wait");
    let report = job.report().await.expect("report");
    assert_eq!(report.tasks, 40);
    assert_eq!(report.workers.iter().map(|worker| worker.tasks).sum::<u64>(), 40);
    for worker in &report.workers {
        let [(resource, share)] = &worker.utilization[..] else { panic!("{worker:?}") };
        assert_eq!(resource.as_str(), "cpus");
        assert!((1..=1000).contains(share), "{worker:?}");
    }
    assert!(report.to_string().starts_with("40 tasks in "), "{report}");
    end(engine).await;
}

#[tokio::test]
async fn two_engines_know_nothing_of_each_other() {
    let (a, b) = (engine(1).await, engine(1).await);
    let (ran_a, ran_b) = (Log::default(), Log::default());
    let (job_a, job_b) = tokio::join!(a.submit(logging(&ran_a, "a")), b.submit(logging(&ran_b, "b")));
    let (job_a, job_b) = (job_a.expect("submit"), job_b.expect("submit"));
    assert_eq!((job_a.id().0, job_b.id().0), (1, 1));
    assert!(job_a.await.expect("wait").is_success());
    end(a).await;
    assert!(job_b.await.expect("wait").is_success());
    assert!(run(&b, logging(&ran_b, "more")).await.is_success());
    assert_eq!((ran_a.lock().unwrap().len(), ran_b.lock().unwrap().len()), (1, 2));
    end(b).await;
}

#[tokio::test]
async fn workers_come_and_go() {
    let engine = Engine::builder().start().await.expect("start");
    assert_eq!(engine.workers().await.expect("workers"), []);
    let job = engine.submit(Task::call(|_| ())).await.expect("submit");
    engine.add_worker(LocalWorker::cpus(1).name("late")).await.expect("add");
    assert!(job.await.expect("wait").is_success());
    let workers = engine.workers().await.expect("workers");
    assert_eq!(workers.iter().map(|worker| worker.config.hostname.as_str()).collect::<Vec<_>>(), ["late"]);
    engine.stop_worker(workers[0].id).await.expect("stop");
    for _ in 0..1000 {
        if engine.workers().await.expect("workers").is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(engine.workers().await.expect("workers"), []);
    end(engine).await;
}

#[tokio::test]
async fn bad_set_ups_are_refused() {
    let bad = |worker: LocalWorker| async move { one(worker).start().await.expect_err("bad").to_string() };
    assert!(bad(LocalWorker::new("x")).await.contains("cannot be read"));
    assert!(bad(LocalWorker::cpus(1).resource("gpus=[1,1]")).await.contains("resources"));
    assert!(bad(LocalWorker::new("2x1").resource("gpus=2x1").coupling("cpus[0]:gpus[2]")).await.contains("resources"));
    let twice = Engine::builder().register("f", |_, ()| ()).register("f", |_, ()| ());
    assert!(matches!(twice.start().await, Err(StartError::Registered(name)) if name == "f"));
    let unknown = Engine::builder().policy("no-such", "pack").start().await;
    assert!(unknown.expect_err("policy").to_string().contains("no-such"));
}

#[tokio::test]
async fn details_tell_each_task() {
    let engine = engine(1).await;
    let job = engine.submit(Job::array(4..6, Task::call(|_| ()))).await.expect("submit");
    job.wait().await.expect("wait");
    let tasks = job.details().await.expect("details").tasks;
    let seen: Vec<_> = tasks.iter().map(|task| (task.number.0, task.state)).collect();
    assert_eq!(seen, [(4, TaskState::Finished), (5, TaskState::Finished)]);
    end(engine).await;
}
