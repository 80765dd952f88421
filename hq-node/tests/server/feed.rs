//! The event feed.

use hq_core::{
    ClientReply, ClientRequest, Event, EventKind, Fact, FromWorker, HardwareState, JobId, LaneReport, LinkId,
    LossReason, Ordinal, Outcome, Report, RequestId, RunId, Selector, Seq, Share, Span, TaskNumber,
};

use crate::kit::{Rig, cancel, config, one, submit};

fn listen(rig: &mut Rig, client: LinkId, from: Option<u64>, jobs: Option<u32>, credit: u32) -> RequestId {
    let jobs = jobs.map(|job| vec![JobId(job)]);
    rig.call(client, ClientRequest::Subscribe { from: from.map(Seq), jobs, credit })
}

fn events(rig: &mut Rig, client: LinkId) -> Vec<Event> {
    let replies = rig.replies(client).into_iter();
    let events = replies.filter_map(|(_, reply)| match reply {
        ClientReply::Events(events) => Some(events),
        ClientReply::Reset { .. } => panic!("a reset where none is due"),
        _ => None,
    });
    events.flatten().collect()
}

fn kind(event: &Event) -> &'static str {
    match event.kind {
        EventKind::ServerStarted { .. } => "server-started",
        EventKind::WorkerConnected { .. } => "worker-connected",
        EventKind::WorkerLost { .. } => "worker-lost",
        EventKind::JobOpened { .. } => "job-opened",
        EventKind::JobSubmitted { .. } => "job-submitted",
        EventKind::JobClosed { .. } => "job-closed",
        EventKind::JobCanceled { .. } => "job-canceled",
        EventKind::JobCompleted { .. } => "job-completed",
        EventKind::TaskStarted { .. } => "task-started",
        EventKind::TasksFinished { .. } => "tasks-finished",
        EventKind::TaskFailed { .. } => "task-failed",
        EventKind::TasksCanceled { .. } => "tasks-canceled",
        EventKind::TasksAborted { .. } => "tasks-aborted",
        EventKind::TaskNotify { .. } => "task-notify",
        EventKind::WorkerOverview { .. } => "worker-overview",
        EventKind::QueueCreated { .. } => "queue-created",
        EventKind::QueueRemoved { .. } => "queue-removed",
        EventKind::AllocationQueued { .. } => "allocation-queued",
        EventKind::AllocationStarted { .. } => "allocation-started",
        EventKind::TaskRetried { .. } => "task-retried",
        EventKind::AllocationFinished { .. } => "allocation-finished",
    }
}

#[test]
fn the_life_of_a_job_is_told() {
    let mut rig = Rig::new();
    let (client, watcher) = (rig.client(), rig.client());
    listen(&mut rig, watcher, Some(1), None, 100);
    rig.submit(client, 1);
    let mut worker = rig.worker(1);
    worker.start(&mut rig);
    worker.run_all(&mut rig);
    let told = events(&mut rig, watcher);
    let kinds: Vec<_> = told.iter().map(kind).collect();
    let expected =
        ["server-started", "job-submitted", "worker-connected", "task-started", "tasks-finished", "job-completed"];
    assert_eq!(kinds, expected);
    assert!(told.windows(2).all(|pair| pair[0].seq <= pair[1].seq && pair[0].at <= pair[1].at));
    let EventKind::TaskStarted { job, task, workers, .. } = &told[3].kind else { panic!("started") };
    assert_eq!((*job, *task, &workers[..]), (JobId(1), TaskNumber(0), &[worker.id][..]));
    let EventKind::TasksFinished { workers: on, tasks, .. } = &told[4].kind else { panic!("finished") };
    assert_eq!((&on[..], tasks.len()), (&[worker.id][..], 1));
    let told_by_log = rig.log.iter().map(|(seq, _)| *seq).max().unwrap();
    assert!(told[5].seq <= told_by_log);
}

#[test]
fn only_what_is_safe_is_told() {
    let mut rig = Rig::journaled();
    let (client, watcher) = (rig.client(), rig.client());
    listen(&mut rig, watcher, None, None, 100);
    rig.call(client, submit(1));
    assert_eq!(rig.replies(watcher), []);
    rig.confirm();
    assert_eq!(events(&mut rig, watcher).iter().map(kind).collect::<Vec<_>>(), ["job-submitted"]);
}

#[test]
fn a_listener_gets_as_many_batches_as_it_has_credit_for() {
    let mut rig = Rig::new();
    let (client, watcher) = (rig.client(), rig.client());
    let id = listen(&mut rig, watcher, None, None, 1);
    rig.submit(client, 1);
    rig.submit(client, 1);
    rig.submit(client, 1);
    assert_eq!(events(&mut rig, watcher).len(), 1);
    rig.call(watcher, ClientRequest::Credit { subscription: id, batches: 1 });
    assert_eq!(events(&mut rig, watcher).len(), 2, "what has come together goes together");
    rig.submit(client, 1);
    assert_eq!(events(&mut rig, watcher).len(), 0);
    rig.call(watcher, ClientRequest::Abandon(id));
    rig.call(watcher, ClientRequest::Credit { subscription: id, batches: 9 });
    rig.submit(client, 1);
    assert_eq!(events(&mut rig, watcher).len(), 0, "it does not listen any more");
}

#[test]
fn who_asks_for_what_is_gone_is_reset_and_goes_on() {
    let mut small = config(false);
    small.feed_bytes = 8_000;
    let mut rig = Rig::with(small, vec![]);
    let (client, watcher) = (rig.client(), rig.client());
    let id = listen(&mut rig, watcher, Some(1), None, 1);
    assert_eq!(events(&mut rig, watcher).len(), 1, "the start of the server");
    for _ in 0..20 {
        rig.submit(client, 1);
    }
    rig.call(watcher, ClientRequest::Credit { subscription: id, batches: 1 });
    let replies = rig.replies(watcher);
    let [(_, ClientReply::Reset { next }), (_, ClientReply::Events(events))] = &replies[..] else {
        panic!("{replies:?}")
    };
    assert_eq!(*next, events[0].seq);
    assert!(events.len() < 20 && events.last().unwrap().seq == rig.log.last().unwrap().0);
    let other = rig.client();
    listen(&mut rig, other, Some(2), None, 9);
    assert!(matches!(rig.replies(other)[0].1, ClientReply::Reset { .. }));
}

#[test]
fn a_listener_can_go_on_where_it_was() {
    let mut rig = Rig::new();
    let (client, watcher) = (rig.client(), rig.client());
    listen(&mut rig, watcher, Some(1), None, 9);
    rig.submit(client, 1);
    let last = events(&mut rig, watcher).last().unwrap().seq;
    rig.input(hq_node::ServerInput::LinkDown { link: watcher });
    rig.submit(client, 1);
    let again = rig.client();
    listen(&mut rig, again, Some(last.next().0), None, 9);
    assert_eq!(events(&mut rig, again).iter().map(kind).collect::<Vec<_>>(), ["job-submitted"]);
}

#[test]
fn a_listener_to_a_job_hears_of_nothing_else() {
    let mut rig = Rig::new();
    let (client, watcher) = (rig.client(), rig.client());
    listen(&mut rig, watcher, None, Some(2), 9);
    rig.submit(client, 2);
    rig.submit(client, 2);
    rig.worker(1).run_all(&mut rig);
    let told = events(&mut rig, watcher);
    assert!(told.iter().all(|event| event.kind.job() == Some(JobId(2))), "{told:?}");
    assert_eq!(told.iter().map(kind).filter(|kind| *kind == "job-completed").count(), 1);
    let ended: usize = told
        .iter()
        .map(|event| match &event.kind {
            EventKind::TasksFinished { tasks, .. } => tasks.len(),
            _ => 0,
        })
        .sum();
    assert_eq!(ended, 2);
}

#[test]
fn ten_million_cancelled_tasks_are_one_event() {
    let mut rig = Rig::new();
    let (client, watcher) = (rig.client(), rig.client());
    rig.submit(client, 10_000_000);
    listen(&mut rig, watcher, None, None, 9);
    rig.ask(client, cancel(Selector::All));
    let told = events(&mut rig, watcher);
    assert_eq!(told.iter().map(kind).collect::<Vec<_>>(), ["job-canceled", "tasks-canceled", "job-completed"]);
    let EventKind::TasksCanceled { tasks, .. } = &told[1].kind else { panic!("canceled") };
    assert_eq!(tasks.to_string(), "0-9999999");
}

#[test]
fn ends_are_told_before_their_job_is_forgotten() {
    let mut rig = Rig::new();
    let (client, watcher) = (rig.client(), rig.client());
    rig.submit(client, 1);
    rig.worker(1).run_all(&mut rig);
    listen(&mut rig, watcher, Some(1), None, 9);
    assert!(events(&mut rig, watcher).iter().any(|event| kind(event) == "tasks-finished"));
    let states = vec![hq_core::JobState::Finished];
    rig.ask(client, ClientRequest::ForgetJobs { jobs: one(1), states });
    let late = rig.client();
    listen(&mut rig, late, Some(1), None, 9);
    assert!(!events(&mut rig, late).iter().any(|event| kind(event) == "tasks-finished"), "its numbers are gone");
}

#[test]
fn a_start_is_told_as_it_was_before_the_loss_of_its_worker() {
    let mut rig = Rig::new();
    let (client, watcher) = (rig.client(), rig.client());
    listen(&mut rig, watcher, None, None, 9);
    rig.submit(client, 1);
    let mut first = rig.worker(1);
    first.read(&mut rig);
    let (grant, task) = first.lanes.iter().map(|(grant, lane)| (*grant, lane[0])).next().unwrap();
    let lanes = vec![LaneReport { grant, ended: vec![], started: Some((task, Span::ZERO)) }];
    let leaving = FromWorker::Leaving { reason: LossReason::TimeLimitReached };
    rig.say(first.link, [FromWorker::Report(Report { seq: 1, lanes }), leaving]);
    rig.worker(1).start(&mut rig);
    let instances: Vec<u32> = events(&mut rig, watcher)
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::TaskStarted { instance, .. } => Some(instance.0),
            _ => None,
        })
        .collect();
    assert_eq!(instances, [0, 1]);
}

#[test]
fn words_of_tasks_are_told_between_start_and_end() {
    let mut rig = Rig::new();
    let (client, watcher, late) = (rig.client(), rig.client(), rig.client());
    listen(&mut rig, watcher, Some(1), Some(1), 100);
    rig.submit(client, 1);
    let (mut worker, other) = (rig.worker(1), rig.worker(1));
    worker.read(&mut rig);
    let (grant, task) = worker.lanes.iter().find_map(|(grant, lane)| Some((*grant, *lane.front()?))).unwrap();
    let run = RunId { task, grant };
    let word = |message: &str| FromWorker::Notify { run, message: message.to_owned() };
    let lane = LaneReport { grant, ended: vec![], started: Some((task, Span::ZERO)) };
    rig.say(other.link, [word("of a worker that does not have the run")]);
    rig.say(
        worker.link,
        [FromWorker::Report(Report { seq: 1, lanes: vec![lane] }), word("half"), word(&"x".repeat(1025))],
    );
    worker.reports = 1;
    worker.end(&mut rig, &Outcome::Finished);
    rig.say(
        worker.link,
        [FromWorker::Notify { run: RunId { task: Ordinal(99), grant }, message: "of no task".into() }],
    );
    let told = events(&mut rig, watcher);
    let kinds: Vec<_> = told.iter().map(kind).collect();
    assert_eq!(kinds, ["job-submitted", "task-started", "task-notify", "tasks-finished", "job-completed"]);
    let expected =
        EventKind::TaskNotify { job: JobId(1), task: TaskNumber(0), worker: worker.id, message: "half".to_owned() };
    assert_eq!(told[2].kind, expected);
    listen(&mut rig, late, Some(1), None, 100);
    let again: Vec<_> = events(&mut rig, late).into_iter().filter(|event| event.kind.job().is_some()).collect();
    assert_eq!(again, told, "as long as the feed reaches back");
}

#[test]
fn looks_at_hardware_are_told_and_written_down() {
    let mut rig = Rig::new();
    let watcher = rig.client();
    let worker = rig.worker(1);
    listen(&mut rig, watcher, None, None, 100);
    let state = HardwareState { cpus: vec![Share(5_000)], memory_total: 7, ..HardwareState::default() };
    rig.say(worker.link, [FromWorker::Overview(Box::new(state.clone()))]);
    let told: Vec<_> = events(&mut rig, watcher).into_iter().map(|event| event.kind).collect();
    assert_eq!(told, [EventKind::WorkerOverview { worker: worker.id, state: Box::new(state) }]);
    assert!(rig.log.iter().any(|(_, record)| matches!(record.fact, Fact::WorkerOverview { .. })));
    assert!(rig.restart(Span::secs(1)).log.len() > rig.log.len(), "such a journal can be gone on from");
}

#[test]
fn what_others_submit_is_nobodys_reset() {
    for journal in [false, true] {
        let mut rig = Rig::with(config(journal), vec![]);
        rig.confirms = journal;
        rig.drain();
        let (watcher, other) = (rig.client(), rig.client());
        rig.submit(watcher, 1);
        listen(&mut rig, watcher, None, Some(1), 9);
        listen(&mut rig, other, None, None, 9);
        let ClientRequest::Submit(mut long) = submit(1) else { panic!("a submit") };
        long.shared = vec![7; 5 << 20].into();
        rig.call(other, ClientRequest::Submit(long));
        // An outline may be long as well: the numbers of many tasks, each by itself.
        let ClientRequest::Submit(mut sparse) = submit(1) else { panic!("a submit") };
        let numbers = hq_core::IdList::from_numbers((0..100_000).map(|n| n * 3 + n % 2)).unwrap();
        sparse.ids = hq_core::TaskIds::Given(numbers);
        rig.call(other, ClientRequest::Submit(sparse));
        rig.worker(1).end(&mut rig, &Outcome::Finished);
        let told = events(&mut rig, watcher);
        assert_eq!(told.iter().map(kind).collect::<Vec<_>>(), ["tasks-finished", "job-completed"], "{journal}");
        let told = events(&mut rig, other);
        let submits: Vec<_> = told.iter().filter(|event| kind(event) == "job-submitted").collect();
        assert_eq!(submits.len(), 2, "who keeps up hears of all");
        let EventKind::JobSubmitted { submit, .. } = &submits[0].kind else { panic!("submitted") };
        assert_eq!((submit.shared.len(), submit.kind.as_str()), (0, "program"), "a long body is left out");
        let late = rig.client();
        listen(&mut rig, late, Some(1), Some(1), 9);
        assert!(!events(&mut rig, late).is_empty(), "nothing of it is missing");
    }
}
