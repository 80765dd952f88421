//! The bytes of the messages between a server and its workers: a worker may be one version behind, so that what a version
//! knows never changes.

use std::{collections::BTreeMap, fmt::Write, fs, sync::Arc};

use hq_core::{
    Allocation, Amount, BatchJob, Blob, Channel, Epoch, FailCause, FromWorker, GpuState, GrantId, GrantedResource,
    HardwareState, Instance, JobId, LaneReport, LossReason, NetworkCounters, OnServerLost, Open, OpenLane, OpenLanes,
    Ordinal, OrdinalRange, Outcome, Parts, Piece, Report, Request, ResourceName, RunEnd, RunId, RunOutput, Share, Span,
    SubmitBody, SubmitId, ToWorker, WallTime, Welcome, Work, WorkRun, WorkerConfig, WorkerId, WorkerResources, idlist,
};
use hq_transport::{
    PROTOCOL_VERSION,
    wire::{decode, encode},
};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/protocol.txt");

const GRANT: GrantId = GrantId { epoch: Epoch(3), n: 70_000 };
const RUN: RunId = RunId { task: Ordinal(1 << 40), grant: GRANT };

fn work() -> Work {
    let parts = Parts::new([&b"one"[..], b""]).unwrap();
    Work {
        submit: SubmitId(300),
        time_limit: Some(Span::secs(5)),
        runs: vec![WorkRun { first: Ordinal(300), numbers: idlist::Run { start: 1, count: 2, step: 3 } }],
        parts,
        instances: vec![(Ordinal(301), Instance(2))],
    }
}

fn open_lanes() -> OpenLanes {
    let lane = |n: u32| OpenLane {
        grant: GrantId { n, ..GRANT },
        allocation: Arc::new(Allocation(vec![])),
        run: WorkRun { first: Ordinal(300 + u64::from(n)), numbers: idlist::Run { start: n, count: 1, step: 3 } },
    };
    OpenLanes {
        request: Arc::new(Request::parse(["cpus=1.5", "mem=100"]).unwrap()),
        variant: 1,
        variants: 2,
        not_after: Some(Span::secs(9)),
        submit: SubmitId(300),
        time_limit: Some(Span::secs(5)),
        instances: vec![(Ordinal(301), Instance(2))],
        lanes: vec![lane(1), lane(70_000)],
    }
}

fn to_worker() -> Vec<(&'static str, ToWorker)> {
    let welcome = Welcome {
        worker: WorkerId(7),
        epoch: Epoch(3),
        token: u64::MAX,
        server_uid: "abcdef".to_owned(),
        idle_timeout: Some(Span::secs(60)),
    };
    let piece = |index| Piece { index, amount: Amount::ONE };
    let granted = GrantedResource {
        resource: ResourceName::new("cpus").unwrap(),
        amount: Amount::from_parts(15_000),
        pieces: vec![piece(1), Piece { index: 2, amount: Amount::from_parts(5_000) }],
    };
    let open = Open {
        grant: GRANT,
        request: Arc::new(Request::parse(["cpus=1.5", "mem=100"]).unwrap()),
        variant: 1,
        variants: 2,
        allocation: Arc::new(Allocation(vec![granted])),
        hosts: vec!["a".to_owned(), "b".to_owned()],
        work: vec![work()],
        not_after: Some(Span::secs(9)),
    };
    let shared = Blob::from(b"body".as_slice());
    vec![
        ("welcome", ToWorker::Welcome(welcome)),
        ("refused", ToWorker::Refused { reason: "no".to_owned() }),
        (
            "submit",
            ToWorker::Submit(SubmitBody { submit: SubmitId(300), job: JobId(4), kind: "program".into(), shared }),
        ),
        ("drop-submit", ToWorker::DropSubmit(SubmitId(300))),
        ("open", ToWorker::Open(Box::new(open))),
        ("extend", ToWorker::Extend { grant: GRANT, work: vec![work()] }),
        ("recall", ToWorker::Recall { grant: GRANT, n: 5, tasks: vec![OrdinalRange::new(Ordinal(300), 2)] }),
        ("close", ToWorker::Close { grant: GRANT }),
        ("kill", ToWorker::Kill { grant: GRANT, task: Ordinal(300) }),
        ("go-on", ToWorker::GoOn { grant: GRANT }),
        ("ack", ToWorker::Ack { seq: 200 }),
        ("heartbeat", ToWorker::Heartbeat),
        ("stop", ToWorker::Stop { reason: LossReason::ServerEnded }),
        ("listen", ToWorker::Listen { job: JobId(4), session: 300, credit: 8 }),
        ("unlisten", ToWorker::Unlisten { job: JobId(4), session: 300 }),
        ("open-lanes", ToWorker::OpenLanes(Box::new(open_lanes()))),
        ("kill-all", ToWorker::KillAll { runs: vec![RUN, RunId { task: Ordinal(300), grant: GRANT }] }),
    ]
}

/// With the version that first has it.
fn from_worker() -> Vec<(u16, &'static str, FromWorker)> {
    let mut config = WorkerConfig::new("node1", WorkerResources::cpus(4).unwrap());
    config.time_limit = Some(Span::secs(3600));
    config.on_server_lost = OnServerLost::FinishRunning;
    config.kinds = vec!["extra".to_owned()];
    config.allocation = Some(BatchJob { manager: "Slurm".to_owned(), id: "77".to_owned() });
    let end = |task, outcome| RunEnd { task: Ordinal(task), age: Span(5), took: Span::secs(1), outcome };
    let ended = vec![end(1, Outcome::Finished), end(2, Outcome::Failed("bad".to_owned())), end(3, Outcome::Killed)];
    let lane = LaneReport { grant: GRANT, ended, started: Some((Ordinal(4), Span(9))) };
    let causes = [
        FailCause::Exit(75),
        FailCause::Signal(9),
        FailCause::OutOfMemory,
        FailCause::TimeLimit,
        FailCause::NoStart,
        FailCause::Crash,
        FailCause::Preempted,
    ];
    let ended = (1..).zip(causes).map(|(task, cause)| end(task, Outcome::failed_of(cause, "bad"))).collect();
    let causes = LaneReport { grant: GRANT, ended, started: None };
    let gpu = GpuState { id: "0000:01:00.0".to_owned(), processor: Share(5_000), memory: Share(1) };
    let state = HardwareState {
        at: WallTime(1 << 50),
        cpus: vec![Share(10_000), Share(0)],
        memory_total: 1 << 37,
        memory_free: 1 << 36,
        network: NetworkCounters { rx_bytes: 1, tx_bytes: 2, rx_packets: 3, tx_packets: 4, rx_errors: 5, tx_errors: 6 },
        nvidia: Some(vec![gpu]),
        amd: None,
    };
    let (channel, data) = (Channel::Stderr, Blob::from(b"text".as_slice()));
    vec![
        (1, "hello", FromWorker::Hello(Box::new(config))),
        (1, "report", FromWorker::Report(Report { seq: 9, lanes: vec![lane] })),
        (1, "recalled", FromWorker::Recalled { grant: GRANT, n: 5, tasks: vec![OrdinalRange::new(Ordinal(300), 2)] }),
        (1, "heartbeat", FromWorker::Heartbeat),
        (1, "leaving", FromWorker::Leaving { reason: LossReason::TimeLimitReached }),
        (2, "notify", FromWorker::Notify { run: RUN, message: "half".to_owned() }),
        (2, "overview", FromWorker::Overview(Box::new(state))),
        (2, "causes", FromWorker::Report(Report { seq: 10, lanes: vec![causes] })),
        (2, "interrupted", FromWorker::Leaving { reason: LossReason::Interrupted }),
        (2, "output", FromWorker::Output(RunOutput { run: RUN, session: 300, channel, offset: 1 << 33, data })),
    ]
}

/// `UPDATE_GOLDEN=1` writes the rows of the current version; those of versions before are never changed.
#[test]
fn what_a_version_knows_never_changes() {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut rows: BTreeMap<String, String> = fs::read_to_string(FILE)
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.rsplit_once(' ').map(|(name, bytes)| (name.to_owned(), bytes.to_owned())))
        .collect();
    let mut seen = vec![];
    let mut check = |since: u16, name: String, bytes: &[u8]| {
        if since == PROTOCOL_VERSION && std::env::var_os("UPDATE_GOLDEN").is_some() {
            rows.insert(name.clone(), hex(bytes));
        }
        assert_eq!(rows.get(&name), Some(&hex(bytes)), "{name}");
        seen.push(name);
    };
    for (name, message) in to_worker() {
        let mut bytes = vec![];
        encode(&message, &mut bytes).unwrap();
        assert_eq!(decode::<ToWorker>(&bytes).unwrap(), message);
        check(message.since(), format!("{} to-worker {name}", message.since()), &bytes);
    }
    for (since, name, message) in from_worker() {
        let mut bytes = vec![];
        encode(&message, &mut bytes).unwrap();
        assert_eq!(decode::<FromWorker>(&bytes).unwrap(), message);
        check(since, format!("{since} from-worker {name}"), &bytes);
    }
    assert!(rows.keys().all(|name| seen.contains(name)), "every row is looked at");
    let mut text = String::new();
    rows.iter().for_each(|(name, bytes)| writeln!(text, "{name} {bytes}").unwrap());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(FILE, text).unwrap();
    }
}
