//! Rust code as tasks.

mod common;

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use common::{Bench, body, failed, lane, order};
use hq_core::{Amount, Outcome, ProgramBody, RunId, WorkerResources};
use hq_node::{Lane, StartOrder, StopHow};
use hq_worker::{AsyncRunner, ClosureThreads, Done, FnRunner, TaskContext};

fn resources() -> Arc<WorkerResources> {
    Arc::new(WorkerResources::cpus(4).unwrap())
}

fn functions<F>(threads: usize, function: F) -> Bench<FnRunner>
where
    F: Fn(&TaskContext) -> Result<(), String> + Send + Sync + 'static,
{
    Bench::new(FnRunner::new(ClosureThreads::new(threads), resources(), function))
}

fn any_order() -> StartOrder {
    order(&body(&ProgramBody::PerTask), &Arc::new(lane()))
}

fn part_order(part: &str) -> StartOrder {
    StartOrder { part: part.as_bytes().to_vec(), ..any_order() }
}

fn by_part(context: &TaskContext) -> Result<(), String> {
    match context.part() {
        b"ok" => Ok(()),
        b"error" => Err("no luck".to_owned()),
        b"panic" => panic!("text {}", 7),
        _ => std::panic::panic_any(7),
    }
}

const ENDS: [(&str, Result<(), &str>); 5] = [
    ("ok", Ok(())),
    ("error", Err("no luck")),
    ("panic", Err("panicked: text 7")),
    ("other", Err("panicked: without a text")),
    ("ok", Ok(())),
];

fn outcome(result: Result<(), &str>) -> Outcome {
    result.map_or_else(failed, |()| Outcome::Finished)
}

#[test]
fn closures_end_well_or_badly_or_by_panic() {
    let bench = functions(1, by_part);
    for (part, result) in ENDS {
        assert_eq!(bench.run(part_order(part)), outcome(result), "{part}");
    }
}

#[test]
fn async_functions_end_well_or_badly_or_by_panic() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let function = |context: TaskContext| async move {
        tokio::task::yield_now().await;
        by_part(&context)
    };
    let bench = Bench::new(AsyncRunner::new(runtime.handle().clone(), resources(), function));
    for (part, result) in ENDS {
        assert_eq!(bench.run(part_order(part)), outcome(result), "{part}");
    }
    let early = Bench::new(AsyncRunner::new(runtime.handle().clone(), resources(), |_: TaskContext| {
        assert!(std::hint::black_box(false), "before any future");
        std::future::ready(Ok(()))
    }));
    assert_eq!(early.run(any_order()), failed("panicked: before any future"));
}

#[test]
fn the_context_tells_what_was_granted() {
    let (sender, seen) = mpsc::channel();
    let sender = Mutex::new(sender);
    let bench = functions(1, move |context| {
        let labels = (context.labels("cpus"), context.labels("gpus"));
        let amounts = (context.amount("cpus"), context.amount("gpus"));
        let ids = (context.job().0, context.number().0, context.instance().0, context.worker().0, context.variant());
        sender.lock().unwrap().send((labels, amounts, ids, context.part().to_vec())).unwrap();
        Ok(())
    });
    let lane = Lane { variant: 1, ..lane() };
    let order = StartOrder { lane: Arc::new(lane), ..part_order("mine") };
    assert_eq!(bench.run(order), Outcome::Finished);
    let (labels, amounts, ids, part) = seen.recv().unwrap();
    assert_eq!(labels, (vec!["1".to_owned()], vec![]));
    assert_eq!(amounts, (Amount::ONE, Amount::ZERO));
    assert_eq!((ids, part.as_slice()), ((3, 7, 2, 1, 1), &b"mine"[..]));
}

#[test]
fn closures_may_wait_for_each_other_up_to_the_limit() {
    let barrier = Arc::new(Barrier::new(4));
    let most = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let bench = functions(4, {
        let most = most.clone();
        move |_| {
            let now = most.0.fetch_add(1, Ordering::SeqCst) + 1;
            most.1.fetch_max(now, Ordering::SeqCst);
            barrier.wait();
            most.0.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        }
    });
    let runs: Vec<RunId> = (0..40).map(|_| bench.start(any_order())).collect();
    for run in runs {
        assert_eq!(bench.end_of(run), Outcome::Finished);
    }
    assert_eq!(most.1.load(Ordering::SeqCst), 4);
}

#[test]
fn a_closure_that_looks_can_be_stopped_and_one_that_waits_is_not_begun() {
    let (begun, beginnings) = mpsc::channel();
    let begun = Mutex::new(begun);
    let bench = functions(1, move |context| {
        begun.lock().unwrap().send(context.run()).unwrap();
        while !context.is_stopped() {
            std::thread::sleep(Duration::from_millis(1));
        }
        Err("stopped".to_owned())
    });
    let (first, second) = (bench.start(any_order()), bench.start(any_order()));
    assert_eq!(beginnings.recv().unwrap(), first);
    bench.stop(second, StopHow::Interrupt);
    assert_eq!(bench.end_of(second), Outcome::Killed);
    bench.stop(first, StopHow::Interrupt);
    assert_eq!(bench.end_of(first), failed("stopped"));
    bench.stop(first, StopHow::Kill);
    assert!(beginnings.try_recv().is_err(), "the second one never began");
    assert!(bench.is_quiet());
}

#[test]
fn an_async_function_is_dropped_when_it_is_stopped() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let dropped = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = dropped.clone();
    let function = move |context: TaskContext| {
        let seen = seen.clone();
        async move {
            struct OnDrop(TaskContext, Arc<Mutex<BTreeSet<RunId>>>);
            impl Drop for OnDrop {
                fn drop(&mut self) {
                    self.1.lock().unwrap().insert(self.0.run());
                }
            }
            let _guard = OnDrop(context, seen);
            std::future::pending().await
        }
    };
    let bench = Bench::new(AsyncRunner::new(runtime.handle().clone(), resources(), function));
    for how in [StopHow::Interrupt, StopHow::Kill] {
        let run = bench.start(any_order());
        bench.stop(run, how);
        assert_eq!(bench.end_of(run), Outcome::Killed);
        bench.stop(run, how);
    }
    let last = bench.start(any_order());
    drop(runtime);
    assert_eq!(bench.end_of(last), failed("the runtime of the task ended"));
    assert!(bench.is_quiet());
}

#[test]
fn a_duty_that_is_dropped_fails_the_task() {
    let ends = Arc::new(Mutex::new(vec![]));
    let sink = ends.clone();
    let run = any_order().run;
    let tell = Arc::new(move |run, outcome| sink.lock().unwrap().push((run, outcome)));
    drop(Done::new(run, tell.clone()));
    Done::new(run, tell).end(Outcome::Finished);
    assert_eq!(*ends.lock().unwrap(), [(run, failed("the runner gave up on the task")), (run, Outcome::Finished)]);
}
