//! Every fact comes back as it was.

mod common;

use std::sync::Arc;

use common::{closed, contents, finished, open, submitted};
use hq_core::{
    Allocation, Amount, BatchJob, Blob, ClassId, DepKind, Deps, End, Epoch, Fact, GrantId, GrantedResource, IdList,
    JobDep, JobId, JobSpec, JobTarget, LossReason, OnServerLost, OpenedLanes, Ordinal, OrdinalRange, Owner, Parts,
    PastRuns, PauseCause, Piece, Profile, QueueId, QueueSpec, Record, Request, ResourceDef, ResourceName, RetryMark,
    RetryRule, Seq, SnapshotClass, SnapshotHead, SnapshotNames, SnapshotTail, SnapshotWorker, Span, Submit, TaskIds,
    TaskMark, TaskNumber, TaskState, Tick, Variants, WorkerConfig, WorkerId, WorkerResources,
};
use hq_journal::{Journal, Urgency};
use proptest::prelude::*;

fn worker() -> Arc<WorkerConfig> {
    Arc::new(WorkerConfig {
        time_limit: Some(Span::secs(60)),
        kinds: vec!["python".into()],
        allocation: Some(BatchJob { manager: "Slurm".into(), id: "17".into() }),
        on_server_lost: OnServerLost::FinishRunning,
        ..WorkerConfig::new("n1", WorkerResources::cpus(8).unwrap())
    })
}

fn graph() -> Arc<Submit> {
    let ids = IdList::parse("1-10:3,20").unwrap();
    let cpus = |n| Request::cpus(n).unwrap();
    Arc::new(Submit {
        job: JobTarget::New(JobSpec { name: "ä".into(), max_fails: Some(3) }),
        ids: TaskIds::Given(ids),
        kind: "program".into(),
        shared: Blob::from(&[0, 255][..]),
        parts: Parts::new(["a", "", "bcd", "e", "f"]).unwrap(),
        profiles: vec![Profile::new(Variants::new(vec![cpus(4), cpus(1).with_weight(500).unwrap()]).unwrap())],
        profile_of: vec![],
        deps: Deps::new([vec![], vec![(TaskNumber(1), DepKind::AnyEnd)], vec![], vec![], vec![]]).unwrap(),
        owner: Owner::user("ann").in_project("ö"),
        after: vec![JobDep { job: JobId(3), kind: DepKind::Failure }],
    })
}

fn snapshot_head() -> Box<SnapshotHead> {
    let variants = Variants::new(vec![Request::cpus(4).unwrap()]).unwrap();
    let classes = vec![SnapshotClass { variants, kind: "program".into(), no_backlog: true }];
    let users = SnapshotNames { known: vec![("ann".into(), 1)], last: 2 };
    Box::new(SnapshotHead { classes, free_classes: vec![ClassId(0)], users, projects: SnapshotNames::default() })
}

fn mark(n: u32) -> TaskMark {
    let error = (n > 0).then(|| "no".into());
    let retry = RetryMark {
        used: vec![(0, n), (RetryRule::BUILT_IN, 1)],
        until: (n > 1).then_some(Tick(9)),
        error: "no".into(),
        lost: vec![WorkerId(3)],
    };
    let retry = (n > 0).then(|| Box::new(retry));
    TaskMark { task: Ordinal(7), instance: n, crashes: n, error, gang: vec![WorkerId(1); n as usize], retry }
}

fn snapshot_tail() -> Box<SnapshotTail> {
    let grant = Some(GrantId { epoch: Epoch(4), n: 5 });
    Box::new(SnapshotTail {
        next_ordinal: u64::MAX,
        last_job: 1,
        last_worker: 2,
        last_grant: 3,
        ended: vec![(JobId(1), Tick(2))],
        shut: vec![(Ordinal(7), 1)],
        workers: vec![SnapshotWorker { worker: WorkerId(1), grant, task: Some((Ordinal(7), Tick(1))) }],
    })
}

fn every_fact() -> Vec<Fact> {
    let (job, queue, worker_id) = (JobId(1), QueueId(2), WorkerId(3));
    let grant = GrantId { epoch: Epoch(4), n: 5 };
    let tasks = vec![OrdinalRange::new(Ordinal(7), 9), OrdinalRange::one(Ordinal(u64::MAX - 1))];
    let name = ResourceName::new("gpus").unwrap();
    let pieces = vec![Piece { index: 2, amount: Amount::ONE }];
    let allocation = Allocation(vec![GrantedResource { resource: name, amount: Amount::ONE, pieces }]);
    let spec = QueueSpec {
        backend: "local".into(),
        backlog: 1,
        workers_per_allocation: 2,
        max_workers: None,
        time_limit: Some(Span::secs(3)),
        worker: Some(worker()),
        offer: Some(vec![ResourceDef::parse("cpus=4").unwrap()]),
        worker_args: vec!["--cpus".into(), "\"4\"".into()],
        ..QueueSpec::default()
    };
    let (key, error) = ("k".to_owned(), "no\nmachine".to_owned());
    vec![
        Fact::Boot { epoch: Epoch(4), server_uid: "u".into(), wall: u64::MAX, version: "0.1.0".into() },
        Fact::JobOpened { job, spec: JobSpec { name: String::new(), max_fails: None } },
        Fact::Submitted { job, base: Ordinal(7), submit: graph() },
        Fact::JobClosed { job },
        Fact::JobCanceled { job, reason: Some("why".into()) },
        Fact::JobForgotten { job },
        Fact::PolicyChanged { order: "fcfs".into(), placement: "pack".into() },
        Fact::WorkerJoined { worker: worker_id, config: worker() },
        Fact::WorkerLost { worker: worker_id, reason: LossReason::HeartbeatLost },
        Fact::GrantOpened {
            grant,
            workers: vec![worker_id],
            class: Some(ClassId(1)),
            variant: 1,
            allocation: allocation.into(),
            tasks: tasks.clone(),
        },
        Fact::GrantExtended { grant, tasks: tasks.clone() },
        Fact::GrantReturned { grant, tasks: tasks.clone() },
        Fact::GrantClosed { grant },
        Fact::TaskStarted { grant, task: Ordinal(7), start: Tick(1) },
        finished(1, 5, [End { task: Ordinal(7), start: Tick(0), end: Tick(1) }]).fact,
        Fact::TaskFailed { grant: Some(grant), task: Ordinal(7), start: Some(Tick(1)), error: error.clone() },
        Fact::TaskKilled { grant, task: Ordinal(7) },
        Fact::TaskRetried {
            grant: Some(grant),
            task: Ordinal(7),
            start: Some(Tick(1)),
            rule: RetryRule::BUILT_IN,
            until: Tick(u64::MAX),
            error: error.clone(),
        },
        Fact::RetriesDue { tasks: tasks.clone() },
        Fact::TasksCanceled { tasks: tasks.clone() },
        Fact::TasksAborted { tasks },
        Fact::QueueCreated { queue, spec: Arc::new(spec) },
        Fact::QueueRemoved { queue },
        Fact::QueuePaused { queue, cause: PauseCause::Submissions("no".into()) },
        Fact::QueueResumed { queue },
        Fact::QueueClosing { queue },
        Fact::QueueLearned { queue, worker: worker() },
        Fact::AllocationIntended { queue, key: key.clone(), workers: 2, dir: Some("/d".into()) },
        Fact::AllocationQueued { queue, key: key.clone(), id: "17".into(), workers: 2 },
        Fact::AllocationStarted { queue, key: key.clone(), id: "17".into() },
        Fact::AllocationEnded { queue, key, id: Some("17".into()), error: Some(error) },
        Fact::ServerStopped,
        Fact::SnapshotBegun { head: snapshot_head() },
        Fact::TasksMarked { marks: vec![mark(1), mark(0)] },
        Fact::TasksRan {
            worker: worker_id,
            variant: 1,
            state: TaskState::Canceled,
            runs: PastRuns::new([End { task: Ordinal(7), start: Tick(5), end: Tick(9) }]),
        },
        Fact::SnapshotEnded { tail: snapshot_tail() },
        Fact::RecordsLost { count: 9 },
        Fact::GrantsOpened(Box::new(OpenedLanes {
            first: grant,
            workers: vec![worker_id, WorkerId(u32::MAX), worker_id],
            shapes: vec![(0, Default::default()), (31, Default::default())],
            shape_of: vec![0, 1, 0],
            tasks: vec![OrdinalRange::new(Ordinal(7), 2), OrdinalRange::one(Ordinal(u64::MAX - 1))],
        })),
    ]
}

fn comes_back(batches: &[Vec<Record>]) {
    let dir = common::fast_dir();
    let path = dir.path().join("journal");
    common::write(&path, batches);
    let (journal, recovery) = open(&path).unwrap();
    let records = batches.concat();
    assert_eq!(recovery.next, Seq(records.len() as u64 + 1));
    assert_eq!(contents(&journal), records);
}

#[test]
fn every_fact_comes_back() {
    let records: Vec<_> = (0..).zip(every_fact()).map(|(at, fact)| Record { at: Tick(at), fact }).collect();
    comes_back(std::slice::from_ref(&records));
    comes_back(&records.chunks(1).map(<[Record]>::to_vec).collect::<Vec<_>>());
}

fn record() -> impl Strategy<Value = Record> {
    let facts = every_fact();
    let blob = prop::collection::vec(any::<u8>(), 0..2000);
    prop_oneof![
        (any::<u64>(), any::<u32>()).prop_map(|(at, job)| closed(at, job)),
        (any::<u32>(), any::<u32>(), blob).prop_map(|(base, n, blob)| submitted(base.into(), n, &blob)),
        (any::<u64>(), prop::sample::select(facts)).prop_map(|(at, fact)| Record { at: Tick(at), fact }),
        prop::collection::vec((0u64..1 << 40, 0u64..1 << 40), 0..300).prop_map(|rows| {
            let end = |(task, start)| End { task: Ordinal(task), start: Tick(start), end: Tick(start + task) };
            finished(1, 1, rows.into_iter().map(end))
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn batches_come_back(batches in prop::collection::vec(prop::collection::vec(record(), 1..6), 0..8), from in 1usize..50) {
        comes_back(&batches);
        let dir = common::fast_dir();
        let (mut journal, _) = open(&dir.path().join("journal")).unwrap();
        let mut next = 1;
        for batch in &batches {
            journal.append(Epoch(1), Seq(next), batch, Urgency::of(batch)).unwrap();
            next += batch.len() as u64;
        }
        // What is safe at the time is a prefix in whole batches, wherever one begins to read.
        let read: Vec<_> = journal.read(Seq(from as u64)).map(|item| item.unwrap().1).collect();
        let records = batches.concat();
        prop_assert!(records.get(from - 1..).unwrap_or(&[]).starts_with(&read));
    }
}
