//! Links to workers.

use hq_core::{
    ClientReply, ClientRequest, DetailPage, DetailPart, FromWorker, LaneReport, LossReason, Outcome, Refusal, Report,
    Selector, Span, StopOutcome, TaskState, ToWorker, WorkerConfig, WorkerInfo, WorkerResources,
};
use hq_node::{PeerRole, ServerInput};

use crate::kit::{Rig, end, one, submit};

fn hello(change: impl FnOnce(&mut WorkerConfig)) -> FromWorker {
    let mut config = WorkerConfig::new("node", WorkerResources::cpus(1).unwrap());
    change(&mut config);
    FromWorker::Hello(Box::new(config))
}

fn info(rig: &mut Rig, client: hq_core::LinkId, worker: u32) -> WorkerInfo {
    match rig.ask(client, ClientRequest::Workers(one(worker))) {
        ClientReply::Workers(page) => page.items.into_iter().next().expect("the worker is known"),
        other => panic!("no workers: {other:?}"),
    }
}

fn lost(rig: &mut Rig, client: hq_core::LinkId, worker: u32) -> Option<LossReason> {
    info(rig, client, worker).ended.map(|(_, reason)| reason)
}

#[test]
fn a_welcome_tells_who_it_is() {
    let mut rig = Rig::new();
    let tokens: Vec<(u32, u64, String)> = (0..2)
        .map(|_| {
            let link = rig.link(PeerRole::Worker);
            rig.say(link, [hello(|_| {})]);
            match &rig.hear(link)[..] {
                [ToWorker::Welcome(welcome), ..] => (welcome.worker.0, welcome.token, welcome.server_uid.clone()),
                other => panic!("not welcome: {other:?}"),
            }
        })
        .collect();
    assert_eq!((tokens[0].0, tokens[1].0, tokens[0].2.as_str()), (1, 2, "abc123"));
    assert_ne!(tokens[0].1, tokens[1].1);
}

#[test]
fn who_is_not_wanted_is_told_why() {
    let cases: [(&str, FromWorker); 4] = [
        ("first word", FromWorker::Heartbeat),
        ("first word", FromWorker::Report(Report { seq: 1, lanes: vec![] })),
        ("heartbeat", hello(|config| config.heartbeat = Span::millis(150))),
        ("hostname", hello(|config| config.hostname = "x".repeat(5000))),
    ];
    for (word, message) in cases {
        let mut rig = Rig::new();
        let link = rig.link(PeerRole::Worker);
        rig.say(link, [message]);
        let told = rig.hear(link);
        assert!(matches!(&told[..], [ToWorker::Refused { reason }] if reason.contains(word)), "{word}: {told:?}");
        assert!(rig.closed.contains(&link), "{word}");
        assert_eq!(rig.order, ["worker", "close"]);
    }
}

#[test]
fn who_says_nothing_is_ended() {
    let mut rig = Rig::new();
    let link = rig.link(PeerRole::Worker);
    rig.pass(Span::secs(9));
    assert!(!rig.closed.contains(&link));
    rig.pass(Span::secs(2));
    assert!(rig.closed.contains(&link));
}

#[test]
fn a_few_violations_are_forgiven() {
    let mut rig = Rig::new();
    let client = rig.client();
    let worker = rig.worker(1);
    for _ in 0..8 {
        rig.say(worker.link, [hello(|_| {})]);
    }
    assert_eq!(lost(&mut rig, client, 1), None);
    rig.say(worker.link, [hello(|_| {})]);
    assert_eq!(lost(&mut rig, client, 1), Some(LossReason::ConnectionLost));
    assert!(rig.closed.contains(&worker.link));
}

#[test]
fn the_server_speaks_and_a_silent_worker_is_lost_after_two_intervals() {
    let mut rig = Rig::new();
    let client = rig.client();
    let worker = rig.worker(1); // a heartbeat of 8 s
    rig.pass(Span::secs(15));
    let beats = rig.hear(worker.link);
    assert_eq!(beats, vec![ToWorker::Heartbeat; 3], "twice per interval");
    assert_eq!(lost(&mut rig, client, 1), None);
    rig.pass(Span::secs(1));
    assert_eq!(lost(&mut rig, client, 1), Some(LossReason::HeartbeatLost));
    assert!(rig.closed.contains(&worker.link));
    rig.input(ServerInput::LinkDown { link: worker.link });
    assert_eq!(lost(&mut rig, client, 1), Some(LossReason::HeartbeatLost), "its end is no news");
}

#[test]
fn a_worker_that_speaks_stays() {
    let mut rig = Rig::new();
    let client = rig.client();
    let worker = rig.worker(1);
    for _ in 0..10 {
        rig.pass(Span::secs(15));
        rig.say(worker.link, [FromWorker::Heartbeat]);
    }
    assert_eq!(lost(&mut rig, client, 1), None);
}

#[test]
fn a_stopped_server_does_not_blame_its_workers() {
    let mut rig = Rig::new();
    let client = rig.client();
    let worker = rig.worker(1);
    rig.pass(Span::secs(7));
    rig.now = rig.now.after(Span::secs(60)); // SIGSTOP, SIGCONT: the timer comes before what the worker said
    rig.node.handle_timeout(rig.now);
    rig.drain();
    assert_eq!(lost(&mut rig, client, 1), None);
    rig.say(worker.link, [FromWorker::Heartbeat]);
    rig.pass(Span::secs(15));
    assert_eq!(lost(&mut rig, client, 1), None);
    rig.pass(Span::secs(1));
    assert_eq!(lost(&mut rig, client, 1), Some(LossReason::HeartbeatLost));
}

#[test]
fn a_doubled_report_counts_once() {
    let mut rig = Rig::new();
    let client = rig.client();
    let mut worker = rig.worker(1);
    rig.submit(client, 5);
    worker.read(&mut rig);
    let (grant, task) = worker.lanes.iter().map(|(grant, lane)| (*grant, lane[0])).next().unwrap();
    let lanes = vec![LaneReport { grant, ended: vec![end(task, &Outcome::Finished)], started: None }];
    let report = FromWorker::Report(Report { seq: 1, lanes });
    rig.say(worker.link, [report.clone()]);
    let appended = rig.log.len();
    worker.read(&mut rig);
    assert_eq!(worker.acked, 1);
    worker.acked = 0;
    rig.say(worker.link, [report]);
    worker.read(&mut rig);
    assert_eq!((worker.acked, rig.log.len()), (1, appended), "acknowledged again, booked once");
}

#[test]
fn a_missing_report_ends_the_link() {
    for seq in [0, 2, u64::MAX] {
        let mut rig = Rig::new();
        let client = rig.client();
        let worker = rig.worker(1);
        rig.say(worker.link, [FromWorker::Report(Report { seq, lanes: vec![] })]);
        assert_eq!(lost(&mut rig, client, 1), Some(LossReason::ConnectionLost), "{seq}");
        assert!(rig.closed.contains(&worker.link));
    }
}

#[test]
fn a_worker_may_leave_but_not_say_what_only_the_server_knows() {
    for (said, booked) in [
        (LossReason::TimeLimitReached, LossReason::TimeLimitReached),
        (LossReason::IdleTimeout, LossReason::IdleTimeout),
        (LossReason::Interrupted, LossReason::Interrupted),
        (LossReason::Stopped, LossReason::ConnectionLost),
        (LossReason::ServerEnded, LossReason::ConnectionLost),
    ] {
        let mut rig = Rig::new();
        let client = rig.client();
        let worker = rig.worker(1);
        rig.say(worker.link, [FromWorker::Leaving { reason: said }]);
        rig.input(ServerInput::LinkDown { link: worker.link });
        assert_eq!(lost(&mut rig, client, 1), Some(booked), "{said:?}");
    }
}

#[test]
fn a_link_that_ends_loses_its_worker_and_its_tasks_go_elsewhere() {
    let mut rig = Rig::new();
    let client = rig.client();
    let mut first = rig.worker(1);
    let job = rig.submit(client, 1);
    first.start(&mut rig);
    let mut second = rig.worker(1);
    second.read(&mut rig);
    assert!(second.lanes.is_empty());
    rig.input(ServerInput::LinkDown { link: first.link });
    second.start(&mut rig);
    let ClientReply::JobDetails(DetailPage { jobs: details, .. }) =
        rig.ask(client, ClientRequest::JobDetails { jobs: one(job.0), part: DetailPart::default() })
    else {
        panic!("no details")
    };
    let task = &details[0].tasks[0];
    assert_eq!((task.state, task.instance.0, &task.workers[..]), (TaskState::Running, 1, &[second.id][..]));
    assert_eq!(details[0].workers, [(second.id, "node".to_owned())]);
}

#[test]
fn workers_are_stopped_once() {
    let mut rig = Rig::new();
    let client = rig.client();
    let worker = rig.worker(1);
    rig.hear(worker.link);
    let all = ClientRequest::StopWorkers(Selector::All);
    assert_eq!(rig.ask(client, all.clone()), ClientReply::WorkersStopped(vec![(worker.id, StopOutcome::Stopped)]));
    assert_eq!(rig.hear(worker.link), [ToWorker::Stop { reason: LossReason::Stopped }]);
    assert_eq!(lost(&mut rig, client, 1), Some(LossReason::Stopped));
    assert_eq!(rig.ask(client, all), ClientReply::WorkersStopped(vec![]), "none is left");
    let ids = hq_core::IdList::range(1, 2);
    let again = rig.ask(client, ClientRequest::StopWorkers(Selector::Ids(ids)));
    let outcomes = vec![(worker.id, StopOutcome::AlreadyStopped), (hq_core::WorkerId(2), StopOutcome::NotFound)];
    assert_eq!(again, ClientReply::WorkersStopped(outcomes));
    let appended = rig.log.len();
    rig.say(worker.link, [FromWorker::Heartbeat]);
    rig.input(ServerInput::LinkDown { link: worker.link });
    assert_eq!(rig.log.len(), appended, "its end is no news");
}

#[test]
fn a_stopped_worker_that_stays_is_cut_off() {
    let mut rig = Rig::new();
    let client = rig.client();
    let worker = rig.worker(1);
    rig.ask(client, ClientRequest::StopWorkers(Selector::Last));
    rig.pass(Span::secs(9));
    assert!(!rig.closed.contains(&worker.link));
    rig.pass(Span::secs(1));
    assert!(rig.closed.contains(&worker.link));
}

#[test]
fn idle_workers_are_stopped_by_the_default_of_the_server() {
    let mut config = crate::kit::config(false);
    config.idle_timeout = Some(Span::secs(5));
    let mut rig = Rig::with(config, vec![]);
    let client = rig.client();
    let worker = rig.worker(1);
    let other = rig.worker_with(1, |config| config.idle_timeout = Some(Span::secs(20)));
    rig.pass(Span::secs(6));
    assert_eq!(rig.hear(worker.link).last(), Some(&ToWorker::Stop { reason: LossReason::IdleTimeout }));
    assert_eq!(lost(&mut rig, client, 1), Some(LossReason::IdleTimeout));
    assert_eq!(lost(&mut rig, client, other.id.0), None, "its own counts");
}

#[test]
fn roles_are_kept_apart() {
    let mut rig = Rig::new();
    let (client, worker) = (rig.client(), rig.worker(1));
    let appended = rig.log.len();
    rig.call(worker.link, submit(1));
    let replies = rig.replies(worker.link);
    assert!(matches!(replies[..], [(_, ClientReply::Refused(Refusal::Forbidden(_)))]), "{replies:?}");
    assert_eq!(rig.log.len(), appended);
    rig.say(client, [hello(|_| {})]);
    assert!(rig.closed.contains(&client));
    assert_eq!(rig.log.len(), appended);
}
