//! Queues of allocations: what is asked of backends, and when.

use hq_core::{
    AllocationInfo, AllocationState, BatchJob, Blob, ClientReply, ClientRequest, EventKind, Fact, JobSpec, JobTarget,
    LinkId, OnServerLost, Profile, QueueId, QueueInfo, QueueSpec, Refusal, Request, Selector, Span, Submit, TaskIds,
};
use hq_node::{BackendNews, BackendOrder, ServerInput};
use hq_scheduler::autoscale::{ScaleNews, ScaleOrder, ScaleStatus, Told};

use crate::kit::{Hand, Rig, config};

const QUEUE: QueueId = QueueId(1);

fn spec(backlog: u32) -> QueueSpec {
    QueueSpec { backlog, name: Some("foo".to_owned()), ..QueueSpec::new("slurm") }
}

fn add(backlog: u32) -> ClientRequest {
    ClientRequest::AddQueue { spec: Box::new(spec(backlog)), trial: false }
}

fn tell(rig: &mut Rig, told: Told) {
    rig.input(ServerInput::Backend(BackendNews::Scale(ScaleNews { queue: QUEUE, told })));
}

/// Keys of the submissions that were ordered since.
fn submits(rig: &mut Rig) -> Vec<String> {
    let orders = std::mem::take(&mut rig.orders);
    let key = |order| match order {
        BackendOrder::Scale(ScaleOrder::Submit { key, .. }) => Some(key),
        _ => None,
    };
    orders.into_iter().filter_map(key).collect()
}

fn has(rig: &mut Rig, key: &str, id: &str) {
    tell(rig, Told::Has { key: key.to_owned(), id: id.to_owned() });
}

fn queues(rig: &mut Rig, client: LinkId) -> Vec<QueueInfo> {
    match rig.ask(client, ClientRequest::Queues) {
        ClientReply::Queues(queues) => queues,
        other => panic!("no queues: {other:?}"),
    }
}

fn allocations(rig: &mut Rig, client: LinkId) -> Vec<AllocationInfo> {
    match rig.ask(client, ClientRequest::Allocations(QUEUE)) {
        ClientReply::Allocations(all) => all,
        other => panic!("no allocations: {other:?}"),
    }
}

fn states(rig: &mut Rig, client: LinkId) -> Vec<(String, AllocationState)> {
    allocations(rig, client).into_iter().map(|a| (a.id, a.state)).collect()
}

fn worker(rig: &mut Rig, id: &str) -> Hand {
    let job = BatchJob { manager: "Slurm".to_owned(), id: id.to_owned() };
    rig.worker_with(1, |config| config.allocation = Some(job))
}

/// A server with one queue and its allocation `a`.
fn with_allocation(journal: bool, tasks: u32) -> (Rig, LinkId) {
    let mut rig = if journal { Rig::journaled() } else { Rig::new() };
    rig.confirms = true;
    let client = rig.client();
    assert_eq!(rig.ask(client, add(1)), ClientReply::QueueAdded(QUEUE));
    rig.pass(Span::secs(5));
    rig.submit(client, tasks);
    rig.pass(Span::secs(5));
    let keys = submits(&mut rig);
    assert_eq!(keys, ["abc123-1-1"]);
    has(&mut rig, &keys[0], "a");
    (rig, client)
}

#[test]
fn an_intent_is_safe_before_anything_is_asked_for() {
    let mut rig = Rig::journaled();
    let client = rig.client();
    let id = rig.call(client, add(1));
    assert_eq!(rig.replies(client), [], "not before the queue is safe");
    rig.confirm();
    assert_eq!(rig.replies(client), [(id, ClientReply::QueueAdded(QUEUE))]);
    rig.submit(client, 1);
    rig.pass(Span::secs(5));
    assert!(rig.log.iter().any(|(_, record)| matches!(record.fact, Fact::AllocationIntended { .. })));
    assert_eq!(submits(&mut rig), <[&str; 0]>::default(), "the intent is not safe");
    rig.confirm();
    assert_eq!(submits(&mut rig), ["abc123-1-1"]);
}

#[test]
fn workers_belong_to_allocations() {
    let (mut rig, client) = with_allocation(false, 1);
    assert_eq!(states(&mut rig, client), [("a".to_owned(), AllocationState::Queued)]);
    assert_eq!(queues(&mut rig, client)[0].known, None);
    let _stranger = worker(&mut rig, "zz");
    assert_eq!(rig.warnings.len(), 1, "{:?}", rig.warnings);
    let hand = worker(&mut rig, "a");
    assert_eq!(states(&mut rig, client), [("a".to_owned(), AllocationState::Running)]);
    assert!(queues(&mut rig, client)[0].known.is_some(), "its workers are known now");
    rig.ask(client, ClientRequest::StopWorkers(Selector::Ids(hq_core::IdList::range(hand.id.0, 1))));
    assert_eq!(states(&mut rig, client), [("a".to_owned(), AllocationState::Finished)]);
    let found = rig.ask(client, ClientRequest::FindAllocation("a".to_owned()));
    assert!(matches!(found, ClientReply::Allocations(all) if all[0].dir.as_deref() == Some("/d/1-foo/001")));
    assert_eq!(rig.ask(client, ClientRequest::FindAllocation("b".to_owned())), ClientReply::Allocations(vec![]));
}

#[test]
fn events_tell_of_it() {
    let (mut rig, client) = with_allocation(true, 1);
    let from = Some(hq_core::Seq(1));
    rig.call(client, ClientRequest::Subscribe { from, jobs: None, credit: 100 });
    let hand = worker(&mut rig, "a");
    rig.input(ServerInput::LinkDown { link: hand.link });
    rig.call(client, ClientRequest::RemoveQueue { queue: QUEUE, force: true });
    let events = rig.replies(client).into_iter().filter_map(|(_, reply)| match reply {
        ClientReply::Events(events) => Some(events),
        _ => None,
    });
    let told = events.flatten().filter_map(|event| match event.kind {
        EventKind::QueueCreated { spec, .. } => Some(format!("created {}", spec.backend)),
        EventKind::AllocationQueued { allocation, workers, .. } => Some(format!("queued {allocation} {workers}")),
        EventKind::AllocationStarted { allocation, .. } => Some(format!("started {allocation}")),
        EventKind::AllocationFinished { allocation, .. } => Some(format!("finished {allocation}")),
        EventKind::QueueRemoved { queue } => Some(format!("removed {queue}")),
        _ => None,
    });
    let told: Vec<String> = told.collect();
    assert_eq!(told, ["created slurm", "queued a 1", "started a", "finished a", "removed 1"]);
}

#[test]
fn a_restart_adopts_what_there_is_and_doubles_nothing() {
    let (mut live, client) = with_allocation(true, 3);
    live.ask(client, add(2));
    live.ask(client, ClientRequest::PauseQueue(QueueId(2)));
    let _hand = worker(&mut live, "a");
    live.pass(Span::secs(5));
    let keys = submits(&mut live);
    assert_eq!(keys, ["abc123-1-2"], "the backlog is free again");
    let before = (queues(&mut live, client), states(&mut live, client));
    let mut restored = live.restart(Span::secs(60));
    restored.confirms = true;
    let client = restored.client();
    assert_eq!((queues(&mut restored, client), states(&mut restored, client)), before);
    let finds = restored.orders.iter().filter(|order| matches!(order, BackendOrder::Scale(ScaleOrder::Find { .. })));
    assert_eq!(finds.count(), 1, "what was being asked for is looked for: {:?}", restored.orders);
    let asks = |order: &&BackendOrder| matches!(order, BackendOrder::Scale(ScaleOrder::Status { allocations, .. }) if allocations[0].id == "a");
    assert_eq!(restored.orders.iter().filter(asks).count(), 1);
    restored.pass(Span::secs(4));
    assert_eq!(submits(&mut restored), <[&str; 0]>::default(), "nothing is asked for twice");
    has(&mut restored, &keys[0], "b");
    let running = vec![("abc123-1-1".to_owned(), Ok(ScaleStatus::Ended { error: None }))];
    tell(&mut restored, Told::Status(running));
    let (queued, finished) = (AllocationState::Queued, AllocationState::Finished);
    assert_eq!(states(&mut restored, client), [("a".to_owned(), finished), ("b".to_owned(), queued)]);
}

#[test]
fn a_queue_goes_when_its_allocations_have_gone() {
    let (mut rig, client) = with_allocation(true, 1);
    let _hand = worker(&mut rig, "a");
    let remove = |force| ClientRequest::RemoveQueue { queue: QUEUE, force };
    let refused = rig.refused(client, remove(false)).to_string();
    assert!(refused.starts_with("Allocation queue has running jobs"), "{refused}");
    rig.orders.clear();
    let id = rig.call(client, remove(true));
    let [BackendOrder::Scale(ScaleOrder::Cancel { allocation, .. })] = &rig.orders[..] else {
        panic!("{:?}", rig.orders)
    };
    let key = allocation.key.clone();
    assert_eq!(rig.replies(client), []);
    tell(&mut rig, Told::Canceled { key, error: None });
    assert_eq!(rig.replies(client), [(id, ClientReply::Done)]);
    assert_eq!(queues(&mut rig, client), []);
    assert_eq!(rig.refused(client, remove(true)).to_string(), "Queue 1 not found");
    for request in
        [ClientRequest::PauseQueue(QUEUE), ClientRequest::ResumeQueue(QUEUE), ClientRequest::Allocations(QUEUE)]
    {
        assert_eq!(rig.refused(client, request).to_string(), "Queue 1 not found");
    }
}

#[test]
fn a_server_that_stops_ends_all_allocations_and_waits_for_that() {
    let (mut rig, client) = with_allocation(true, 1);
    rig.orders.clear();
    let id = rig.call(client, ClientRequest::StopServer);
    let [BackendOrder::Scale(ScaleOrder::Cancel { allocation, .. })] = &rig.orders[..] else {
        panic!("{:?}", rig.orders)
    };
    let key = allocation.key.clone();
    rig.pass(Span::secs(4));
    assert!(!rig.stopped, "it is not ended yet");
    tell(&mut rig, Told::Canceled { key, error: None });
    rig.confirm();
    assert!(rig.stopped);
    assert_eq!(rig.replies(client), [(id, ClientReply::Done)]);
    let ended = |fact: &Fact| matches!(fact, Fact::AllocationEnded { id: Some(id), .. } if id == "a");
    assert!(rig.log.iter().any(|(_, record)| ended(&record.fact)));
}

#[test]
fn a_server_does_not_wait_for_ever_to_stop() {
    let (mut rig, client) = with_allocation(true, 1);
    rig.call(client, ClientRequest::StopServer);
    rig.pass(Span::secs(29));
    assert!(!rig.stopped);
    rig.pass(Span::secs(2));
    assert!(rig.stopped);
}

#[test]
fn a_trial_comes_before_the_queue() {
    let mut rig = Rig::with(config(false), vec![]);
    let client = rig.client();
    let trial = ClientRequest::AddQueue { spec: Box::new(spec(1)), trial: true };
    let dry = ClientRequest::TryQueue(Box::new(spec(1)));
    let answers = [
        (trial.clone(), Some("no sbatch"), ClientReply::Refused(Refusal::Invalid("no sbatch".to_owned()))),
        (dry.clone(), Some("no"), ClientReply::Refused(Refusal::Invalid("no".to_owned()))),
        (dry, None, ClientReply::Done),
        (trial, None, ClientReply::QueueAdded(QUEUE)),
    ];
    for (request, error, reply) in answers {
        let id = rig.call(client, request);
        let Some(BackendOrder::Try { token, .. }) = rig.orders.pop() else { panic!("no trial") };
        assert_eq!(rig.replies(client), []);
        assert_eq!(queues(&mut rig, client), []);
        rig.input(ServerInput::Backend(BackendNews::Tried { token, error: error.map(str::to_owned) }));
        assert_eq!(rig.replies(client), [(id, reply)]);
    }
    assert_eq!(queues(&mut rig, client).len(), 1);
}

#[test]
fn what_cannot_be_made_safe_is_refused() {
    let (mut rig, client) = with_allocation(true, 1);
    rig.confirms = false;
    let trial = ClientRequest::AddQueue { spec: Box::new(spec(1)), trial: true };
    let ids = [rig.call(client, trial), rig.call(client, ClientRequest::RemoveQueue { queue: QUEUE, force: true })];
    rig.input(ServerInput::JournalFailed { reason: "disk full".to_owned() });
    let mut refused: Vec<_> = rig.replies(client);
    refused.sort_by_key(|(id, _)| *id);
    assert_eq!(refused.iter().map(|(id, _)| *id).collect::<Vec<_>>(), ids);
    assert!(refused.iter().all(|(_, reply)| matches!(reply, ClientReply::Refused(Refusal::JournalFailed(_)))));
}

/// Keys or ids of the allocations that were to be ended since.
fn cancels(rig: &mut Rig) -> usize {
    let orders = std::mem::take(&mut rig.orders);
    orders.iter().filter(|order| matches!(order, BackendOrder::Scale(ScaleOrder::Cancel { .. }))).count()
}

fn end_queue(rig: &mut Rig, client: LinkId) {
    rig.call(client, ClientRequest::RemoveQueue { queue: QUEUE, force: true });
}

fn end_server(rig: &mut Rig, client: LinkId) {
    rig.call(client, ClientRequest::StopServer);
}

#[test]
fn only_the_one_who_has_the_journal_ends_allocations() {
    for end in [end_queue, end_server] {
        let ended = || {
            let (mut rig, client) = with_allocation(true, 1);
            rig.confirms = false;
            end(&mut rig, client);
            assert_eq!(cancels(&mut rig), 0, "it may have lost the journal without knowing it");
            rig
        };
        let mut rig = ended();
        rig.confirms = true;
        rig.confirm();
        assert_eq!(cancels(&mut rig), 1);
        let mut rig = ended();
        rig.input(ServerInput::JournalFailed { reason: "disk full".to_owned() });
        assert_eq!(cancels(&mut rig), 1, "it is still its own");
        let mut rig = ended();
        rig.input(ServerInput::JournalTaken { reason: "taken".to_owned() });
        assert!(cancels(&mut rig) == 0 && rig.stopped, "it is another one's");
    }
}

#[test]
fn allocations_whose_workers_may_come_back_are_left_to_the_next_server() {
    let stop = |rig: &mut Rig, client| rig.call(client, ClientRequest::StopServer);
    for (journal, reconnects, ended) in [(true, true, 0), (true, false, 1), (false, true, 1)] {
        let (mut rig, client) = with_allocation(journal, 1);
        let job = BatchJob { manager: "slurm".to_owned(), id: "a".to_owned() };
        rig.worker_with(1, |config| {
            config.allocation = Some(job);
            if reconnects {
                config.on_server_lost = OnServerLost::Reconnect { timeout: Span::secs(60) };
            }
        });
        rig.input(ServerInput::Interrupted);
        assert_eq!(cancels(&mut rig), ended, "journal {journal}, reconnects {reconnects}");
        if !rig.stopped {
            stop(&mut rig, client);
            assert_eq!(cancels(&mut rig), 0, "it is asked for once");
        }
    }
    // Somebody's wish ends all, also where it comes late.
    let (mut rig, client) = with_allocation(true, 1);
    stop(&mut rig, client);
    assert_eq!(cancels(&mut rig), 1);
}

#[test]
fn queues_with_words_that_no_script_can_hold_are_refused() {
    let mut rig = Rig::new();
    let client = rig.client();
    for (change, part) in [
        (QueueSpec { backlog: 0, ..spec(1) }, "Backlog has to be at least 1"),
        (QueueSpec { name: Some("a\n#SBATCH --uid=0".into()), ..spec(1) }, "name of a queue"),
        (QueueSpec { name: Some("../..".into()), ..spec(1) }, "name of a queue"),
        (QueueSpec { name: Some("$(x)".into()), ..spec(1) }, "name of a queue"),
        (QueueSpec { name: Some("n".repeat(10_000)), ..spec(1) }, "name of a queue"),
        (QueueSpec { submit_args: vec!["-q\nx".into()], ..spec(1) }, "control character"),
        (QueueSpec { wrap_command: Some("a\0".into()), ..spec(1) }, "control character"),
        (QueueSpec { submit_args: vec!["x".repeat(70_000)], ..spec(1) }, "70005 bytes"),
        (
            QueueSpec { time_limit: Some(Span::secs(1)), worker_time_limit: Some(Span::secs(2)), ..spec(1) },
            "Worker time limit cannot be larger than queue time limit",
        ),
    ] {
        let request = ClientRequest::AddQueue { spec: Box::new(change), trial: false };
        let refused = rig.refused(client, request).to_string();
        assert!(refused.contains(part), "{refused}");
    }
    assert_eq!(queues(&mut rig, client), []);
}

#[test]
fn a_worker_goes_when_no_task_can_use_the_time_it_has_left() {
    let (mut rig, client) = with_allocation(true, 1);
    let job = BatchJob { manager: "Slurm".to_owned(), id: "a".to_owned() };
    let mut hand = rig.worker_with(1, |config| {
        config.allocation = Some(job);
        config.time_limit = Some(Span::secs(100));
        config.heartbeat = Span::secs(1000);
    });
    hand.run_all(&mut rig);
    rig.pass(Span::secs(50));
    assert_eq!(states(&mut rig, client), [("a".to_owned(), AllocationState::Running)], "new tasks may come");
    let request = Request::cpus(1).unwrap().with_min_time(Span::secs(60));
    let target = JobTarget::New(JobSpec::default());
    let submit = Submit::array(target, TaskIds::Next(1), "program", Blob::default(), Profile::new(request));
    rig.ask(client, ClientRequest::Submit(Box::new(submit)));
    rig.pass(Span::secs(31));
    assert_eq!(states(&mut rig, client), [("a".to_owned(), AllocationState::Finished)]);
    assert_eq!(submits(&mut rig), ["abc123-1-2"], "the task gets an allocation of its own");
}
