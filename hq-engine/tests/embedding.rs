//! What an embedder meets: tasks of all sorts on workers of this process.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
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
    job.add(Task::call_async(|_| async { panic!("async dear") }));
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
    let second = job.add(Task::call(move |_| seen.fetch_add(u32::from(path.exists()), Ordering::Relaxed)).then_after(first));
    job.add(Task::program("rm").arg(&file).after(second));
    assert!(run(&engine, job).await.is_success());
    assert_eq!((found.load(Ordering::Relaxed), file.exists()), (1, false));
    end(engine).await;
}
