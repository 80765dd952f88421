//! Workers that lose their links and come back, to the same server or to one that follows it.

use hq_core::{
    ClientReply, ClientRequest, CrashLimit, DetailPart, Epoch, Fact, FromWorker, GrantId, HeldGrant, Instance,
    JobDetail, JobSpec, JobTarget, KeptGrant, LaneReport, LossReason, OnServerLost, Ordinal, OrdinalRange, Outcome,
    Profile, Report, Request, Resume, RunEnd, Selector, Span, Submit, TaskIds, TaskState, ToWorker,
};
use hq_node::{PeerRole, ServerInput};

use crate::kit::{Hand, Rig, cancel, config, one, submit};

const RECONNECT: OnServerLost = OnServerLost::Reconnect { timeout: Span::secs(600) };

/// A server with a journal, a worker that may come back and runs the first task of a job, and what waits behind it.
fn running(tasks: u32) -> (Rig, Hand) {
    let mut rig = Rig::with(config(true), vec![]);
    rig.confirms = true;
    rig.confirm();
    let client = rig.client();
    rig.submit(client, tasks);
    let mut worker = rig.worker_with(1, |config| config.on_server_lost = RECONNECT);
    worker.start(&mut rig);
    worker.read(&mut rig);
    (rig, worker)
}

/// What the worker has, as it says.
fn held(worker: &Hand) -> Vec<HeldGrant> {
    let lane = |(grant, tasks): (&GrantId, &std::collections::VecDeque<Ordinal>)| HeldGrant {
        grant: *grant,
        running: tasks.front().map(|task| (*task, Span::secs(1))),
        backlog: tasks.iter().skip(1).map(|task| OrdinalRange::one(*task)).collect(),
    };
    worker.lanes.iter().map(lane).collect()
}

fn resume(worker: &Hand, grants: Vec<HeldGrant>, reports: Vec<Report>) -> Resume {
    let (id, epoch, token) = (worker.id, worker.welcome.epoch, worker.welcome.token);
    Resume { worker: id, epoch, token, acked: worker.acked, reports, grants }
}

/// The worker comes over a new link; what it is told.
fn come(rig: &mut Rig, resume: Resume) -> Vec<ToWorker> {
    let link = rig.link(PeerRole::Worker);
    rig.say(link, [FromWorker::Resume(Box::new(resume))]);
    rig.hear(link)
}

fn kept(messages: &[ToWorker]) -> Option<Vec<KeptGrant>> {
    match messages.first()? {
        ToWorker::Resumed(resumed) => Some(resumed.kept.clone()),
        ToWorker::Forgotten => None,
        other => panic!("no answer: {other:?}"),
    }
}

fn ended(worker: &Hand, seq: u64, task: Ordinal, outcome: Outcome) -> Report {
    let grant = *worker.lanes.first_key_value().unwrap().0;
    let end = RunEnd { task, age: Span::ZERO, took: Span::secs(1), outcome };
    Report { seq, lanes: vec![LaneReport { grant, ended: vec![end], started: None }] }
}

fn details(rig: &mut Rig) -> JobDetail {
    let client = rig.client();
    match rig.ask(client, ClientRequest::JobDetails { jobs: one(1), part: DetailPart::default() }) {
        ClientReply::JobDetails(mut details) => details.jobs.remove(0),
        other => panic!("no details: {other:?}"),
    }
}

/// State and instance of the first task.
fn first(rig: &mut Rig) -> (TaskState, Instance) {
    let detail = details(rig);
    let task = &detail.tasks[0];
    (task.state, task.instance)
}

fn crashes_fail_it(limit: CrashLimit) -> ClientRequest {
    let profile = Profile { crash_limit: limit, ..Profile::new(Request::cpus(1).unwrap()) };
    let target = JobTarget::New(JobSpec::default());
    ClientRequest::Submit(Box::new(Submit::array(target, TaskIds::Next(1), "program", vec![].into(), profile)))
}

#[test]
fn a_running_task_is_adopted_by_a_restarted_server() {
    let (live, worker) = running(2);
    let mut rig = live.restart(Span::secs(5));
    rig.confirms = true;
    let counts = details(&mut rig).info.counts;
    assert_eq!((counts.running, counts.waiting), (0, 2), "until it is known that it still runs");
    let told = come(&mut rig, resume(&worker, held(&worker), vec![]));
    let (grant, task) = worker.lanes.first_key_value().map(|(grant, tasks)| (*grant, tasks[0])).unwrap();
    assert_eq!(kept(&told), Some(vec![KeptGrant { grant, tasks: vec![OrdinalRange::one(task)] }]));
    assert_eq!(told.last(), Some(&ToWorker::GoOn { grant }));
    assert_eq!(first(&mut rig), (TaskState::Running, Instance(0)));
    let link = hq_core::LinkId(2);
    rig.say(link, [FromWorker::Report(ended(&worker, 2, task, Outcome::Finished))]);
    assert_eq!(first(&mut rig), (TaskState::Finished, Instance(0)));
    // Once more from the worker's former life: nothing is there to be ended twice.
    let log = rig.log.len();
    rig.say(link, [FromWorker::Report(ended(&worker, 3, task, Outcome::Finished))]);
    assert!(!rig.log[log..].iter().any(|(_, record)| matches!(record.fact, Fact::TasksFinished { .. })));
}

#[test]
fn the_result_of_a_task_that_ended_meanwhile_is_taken() {
    for outcome in [Outcome::Finished, Outcome::Failed("bad".to_owned())] {
        let (live, worker) = running(2);
        let mut rig = live.restart(Span::secs(5));
        rig.confirms = true;
        let (grant, task) = worker.lanes.first_key_value().map(|(grant, tasks)| (*grant, tasks[0])).unwrap();
        let nothing = HeldGrant { grant, running: None, backlog: vec![] };
        let told = come(&mut rig, resume(&worker, vec![nothing], vec![ended(&worker, 2, task, outcome.clone())]));
        let state = if outcome == Outcome::Finished { TaskState::Finished } else { TaskState::Failed };
        assert_eq!(first(&mut rig), (state, Instance(0)));
        assert!(told.contains(&ToWorker::Ack { seq: 2 }), "{told:?}");
        let second = |message: &ToWorker| matches!(message, ToWorker::Extend { .. } | ToWorker::Open(_));
        assert!(told.iter().any(second), "the worker goes on: {told:?}");
    }
}

#[test]
fn what_the_worker_does_not_have_waits_again_without_a_crash() {
    let (live, mut worker) = running(1);
    let mut rig = live.restart(Span::secs(5));
    rig.confirms = true;
    worker.lanes.clear();
    let told = come(&mut rig, resume(&worker, vec![], vec![]));
    assert_eq!(kept(&told), Some(vec![]));
    assert_eq!(first(&mut rig), (TaskState::Waiting, Instance(1)));
    assert!(told.iter().any(|message| matches!(message, ToWorker::Open(_))), "it gets it anew: {told:?}");
}

#[test]
fn tasks_of_a_worker_that_stays_away_run_elsewhere() {
    let (live, worker) = running(1);
    let mut rig = live.restart(Span::secs(5));
    rig.confirms = true;
    rig.pass(Span::millis(59_999));
    let mut other = rig.worker(1);
    other.start(&mut rig);
    assert_eq!(first(&mut rig), (TaskState::Waiting, Instance(0)), "it is waited for");
    rig.pass(Span::millis(1));
    other.start(&mut rig);
    assert_eq!(first(&mut rig), (TaskState::Running, Instance(1)));
    // Too late: it is nobody, and what it runs is fenced.
    assert_eq!(kept(&come(&mut rig, resume(&worker, held(&worker), vec![]))), None);
    other.run_all(&mut rig);
    assert_eq!(first(&mut rig), (TaskState::Finished, Instance(1)));
}

#[test]
fn a_link_that_breaks_costs_nothing_when_the_worker_is_back_in_time() {
    let (mut rig, worker) = running(2);
    rig.input(ServerInput::LinkDown { link: worker.link });
    let client = rig.client();
    let ClientReply::Workers(workers) = rig.ask(client, ClientRequest::Workers(Selector::All)) else { panic!("none") };
    assert!(workers.items[0].ended.is_some(), "its connection is lost");
    rig.pass(Span::millis(15_999));
    let told = come(&mut rig, resume(&worker, held(&worker), vec![]));
    assert_eq!(kept(&told).map(|kept| kept.len()), Some(1));
    assert_eq!(first(&mut rig), (TaskState::Running, Instance(0)));
    let ClientReply::Workers(workers) = rig.ask(client, ClientRequest::Workers(Selector::All)) else { panic!("none") };
    assert!(workers.items[0].ended.is_none());
    // The same where the server has not noticed yet.
    let told = come(&mut rig, resume(&worker, held(&worker), vec![]));
    assert_eq!(kept(&told).map(|kept| kept.len()), Some(1));
    assert_eq!(first(&mut rig), (TaskState::Running, Instance(0)));
}

#[test]
fn a_worker_that_does_not_come_back_is_a_crash_of_what_ran() {
    let mut rig = Rig::with(config(true), vec![]);
    rig.confirms = true;
    rig.confirm();
    let client = rig.client();
    rig.ask(client, crashes_fail_it(CrashLimit::Limit(1)));
    let mut worker = rig.worker_with(1, |config| config.on_server_lost = RECONNECT);
    worker.start(&mut rig);
    rig.input(ServerInput::LinkDown { link: worker.link });
    rig.pass(Span::secs(17));
    assert_eq!(first(&mut rig), (TaskState::Failed, Instance(1)));
}

#[test]
fn forged_and_outdated_words_get_nothing() {
    let (live, worker) = running(1);
    let spoiled: [fn(&mut Resume); 4] = [
        |resume| resume.token ^= 1,
        |resume| resume.epoch = Epoch(2),
        |resume| resume.worker.0 += 1,
        |resume| resume.worker.0 = 0,
    ];
    for spoil in spoiled {
        let mut rig = live.restart(Span::secs(5));
        rig.confirms = true;
        let log = rig.log.len();
        let mut resume = resume(&worker, held(&worker), vec![ended(&worker, 2, Ordinal(0), Outcome::Finished)]);
        spoil(&mut resume);
        assert_eq!(kept(&come(&mut rig, resume)), None);
        assert_eq!(rig.log.len(), log, "nothing follows");
        assert_eq!(first(&mut rig), (TaskState::Waiting, Instance(0)));
    }
    // The right word after it still counts.
    let mut rig = live.restart(Span::secs(5));
    come(&mut rig, Resume { token: 0, ..resume(&worker, vec![], vec![]) });
    assert!(kept(&come(&mut rig, resume(&worker, held(&worker), vec![]))).is_some());
}

#[test]
fn lanes_that_nobody_knows_are_not_kept() {
    let (live, worker) = running(1);
    let mut rig = live.restart(Span::secs(5));
    let mut grants = held(&worker);
    grants.push(HeldGrant {
        grant: GrantId { epoch: Epoch(1), n: 77 },
        running: Some((Ordinal(0), Span::ZERO)),
        backlog: vec![OrdinalRange::new(Ordinal(0), u64::MAX)],
    });
    let kept = kept(&come(&mut rig, resume(&worker, grants, vec![]))).unwrap();
    assert_eq!(kept.len(), 1);
}

#[test]
fn a_task_that_was_cancelled_meanwhile_is_killed() {
    let (live, worker) = running(3);
    let mut rig = live.restart(Span::secs(5));
    rig.confirms = true;
    let client = rig.client();
    rig.ask(client, cancel(one(1)));
    assert_eq!(first(&mut rig).0, TaskState::Canceled);
    let told = come(&mut rig, resume(&worker, held(&worker), vec![]));
    let (grant, task) = worker.lanes.first_key_value().map(|(grant, tasks)| (*grant, tasks[0])).unwrap();
    assert!(told.contains(&ToWorker::Kill { grant, task }), "{told:?}");
    rig.say(hq_core::LinkId(3), [FromWorker::Report(ended(&worker, 2, task, Outcome::Killed))]);
    assert_eq!(details(&mut rig).info.counts.canceled, 3);
}

#[test]
fn a_wish_to_stop_is_for_good_and_a_signal_is_not() {
    let (mut rig, worker) = running(1);
    let client = rig.client();
    rig.call(client, ClientRequest::StopServer);
    rig.confirm();
    assert_eq!(rig.hear(worker.link).last(), Some(&ToWorker::Stop { reason: LossReason::ServerEnded }));
    let mut after = rig.restart(Span::secs(1));
    assert_eq!(first(&mut after), (TaskState::Waiting, Instance(1)), "nobody is waited for");
    let (mut rig, worker) = running(1);
    rig.hear(worker.link);
    rig.input(ServerInput::Interrupted);
    rig.confirm();
    assert!(rig.stopped && rig.closed.contains(&worker.link));
    assert_eq!(rig.hear(worker.link), [], "no more than the end of its link");
    let mut after = rig.restart(Span::secs(1));
    assert_eq!(first(&mut after), (TaskState::Waiting, Instance(0)));
    assert!(kept(&come(&mut after, resume(&worker, held(&worker), vec![]))).is_some());
}

#[test]
fn it_is_the_same_worker_over_many_restarts() {
    let (mut live, worker) = running(1);
    for _ in 0..3 {
        let mut rig = live.restart(Span::secs(5));
        rig.confirms = true;
        assert!(kept(&come(&mut rig, resume(&worker, held(&worker), vec![]))).is_some());
        assert_eq!(first(&mut rig), (TaskState::Running, Instance(0)));
        live = rig;
    }
    // One that fell before the return was safe knows it as well.
    let mut lost = live.restart(Span::secs(5));
    come(&mut lost, resume(&worker, held(&worker), vec![]));
    let mut rig = live.restart(Span::secs(9));
    assert!(kept(&come(&mut rig, resume(&worker, held(&worker), vec![]))).is_some());
    // A number that is given anew is not the old worker.
    assert_eq!(rig.worker(1).id.0, 6, "one number is left out per restart");
}

#[test]
fn workers_of_other_policies_are_gone_with_their_server() {
    let (mut rig, _) = running(1);
    let client = rig.client();
    let mut second = rig.worker(1);
    rig.ask(client, submit(1));
    second.start(&mut rig);
    let mut after = rig.restart(Span::secs(1));
    let client = after.client();
    let ClientReply::JobDetails(details) =
        after.ask(client, ClientRequest::JobDetails { jobs: one(2), part: DetailPart::default() })
    else {
        panic!("no details")
    };
    assert_eq!((details.jobs[0].tasks[0].state, details.jobs[0].tasks[0].instance), (TaskState::Waiting, Instance(1)));
    assert_eq!(first(&mut after).1, Instance(0));
}
