//! Long answers come in bounded pieces, each task in exactly one of them.

use std::collections::BTreeMap;

use hq_core::{
    Blob, ClientReply, ClientRequest, DepKind, Deps, DetailPart, Fact, IdList, JobDetail, JobId, JobSpec, JobState,
    JobTarget, LinkId, Outcome, Parts, Profile, Refusal, Request, Selector, Span, Submit, TaskIds, TaskNumber,
    TaskState,
};
use hq_node::ServerInput;

use crate::kit::{Rig, cancel, config, one};

fn tasks(target: JobTarget, ids: &str) -> Submit {
    let profile = Profile::new(Request::cpus(1).unwrap());
    let ids = TaskIds::Given(IdList::parse(ids).unwrap());
    Submit::array(target, ids, "program", Blob::default(), profile)
}

fn open(rig: &mut Rig, client: LinkId) -> JobId {
    match rig.ask(client, ClientRequest::OpenJob(JobSpec::default())) {
        ClientReply::Opened { job } => job,
        other => panic!("not opened: {other:?}"),
    }
}

/// All pieces of a listing.
fn pages(rig: &mut Rig, client: LinkId, mut part: DetailPart) -> Vec<Vec<JobDetail>> {
    let mut pages = vec![];
    loop {
        let ask = ClientRequest::JobDetails { jobs: Selector::All, part: part.clone() };
        let ClientReply::JobDetails(page) = rig.ask(client, ask) else { panic!("no details") };
        pages.push(page.jobs);
        let Some(next) = page.next else { return pages };
        assert!(part.from < next, "no progress");
        part.from = next;
    }
}

/// State by number; each task is told once, and numbers of a piece come after those of the one before.
fn states<'a>(pieces: impl IntoIterator<Item = &'a JobDetail>) -> BTreeMap<u32, TaskState> {
    let mut states = BTreeMap::new();
    let mut end = 0;
    for piece in pieces {
        let told = piece.tasks.iter().map(|task| (task.number.0, task.state));
        let rest = piece.rest.iter().flat_map(|(state, ids)| ids.iter().map(move |number| (number, *state)));
        for (number, state) in told.chain(rest) {
            assert!(number >= end, "task {number} comes after {end}");
            assert_eq!(states.insert(number, state), None, "task {number} is told twice");
        }
        end = states.last_key_value().map_or(0, |(last, _)| last + 1);
    }
    states
}

#[test]
fn each_task_is_in_one_of_many_pieces() {
    let mut rig = Rig::new();
    let client = rig.client();
    let job = open(&mut rig, client);
    for ids in ["0-2999:2,7000", "1-2999:2", "5000-999999999"] {
        rig.ask(client, ClientRequest::Submit(Box::new(tasks(JobTarget::Attach(job), ids))));
    }
    // The numbers that the third has twice were refused: 7000.
    let third = tasks(JobTarget::Attach(job), "5000-6999,7001-999999999");
    rig.ask(client, ClientRequest::Submit(Box::new(third)));
    let mut worker = rig.worker(500);
    for outcome in [Outcome::Failed("x".repeat(9_000)), Outcome::Finished, Outcome::Failed("y".repeat(9_000))] {
        worker.end(&mut rig, &outcome);
    }
    worker.start(&mut rig);
    rig.call(client, cancel(Selector::All));
    worker.read(&mut rig);
    rig.replies(client);
    let pages = pages(&mut rig, client, DetailPart { last: TaskNumber(20_000), ..DetailPart::default() });
    assert!(pages.len() > 2, "9 MB in {} pieces", pages.len());
    let states = states(pages.iter().flatten());
    let expected: Vec<u32> = (0..3000).chain(5000..=20_000).collect();
    assert_eq!(states.keys().copied().collect::<Vec<_>>(), expected);
    let count = |state| states.values().filter(|other| **other == state).count();
    assert_eq!((count(TaskState::Failed), count(TaskState::Finished), count(TaskState::Waiting)), (1000, 500, 0));
    let submits: usize = pages.iter().flatten().map(|piece| piece.submits.len()).sum();
    assert_eq!(submits, 3, "each submit is told once");
}

#[test]
fn many_small_jobs_and_tasks_come_in_pieces() {
    let mut rig = Rig::new();
    let client = rig.client();
    rig.submit(client, 70_000);
    rig.submit(client, 3);
    let mut worker = rig.worker(1000);
    worker.run_all(&mut rig);
    let pages = pages(&mut rig, client, DetailPart::default());
    assert_eq!(pages.len(), 2);
    let of = |job: u32| pages.iter().flatten().filter(move |piece| piece.info.id == JobId(job));
    assert_eq!((states(of(1)).len(), states(of(2)).len()), (70_000, 3));
    let failed = DetailPart { states: vec![TaskState::Failed], ..DetailPart::default() };
    assert!(self::pages(&mut rig, client, failed).iter().flatten().all(|piece| piece.tasks.is_empty()));
}

#[test]
fn large_bodies_come_one_by_one() {
    let mut rig = Rig::new();
    let client = rig.client();
    let job = open(&mut rig, client);
    for ids in ["0-1", "2-3", "4-5"] {
        let parts = Parts::new([vec![7; 3 << 20], vec![8; 3 << 20]]).unwrap();
        let submit = Submit { parts, ..tasks(JobTarget::Attach(job), ids) };
        rig.ask(client, ClientRequest::Submit(Box::new(submit)));
    }
    let whole = pages(&mut rig, client, DetailPart::whole(true));
    let submits: Vec<usize> = whole.iter().flatten().map(|piece| piece.submits.len()).collect();
    assert_eq!(submits, [1, 1, 1, 0]);
    assert_eq!(states(whole.iter().flatten()).len(), 6);
    let small = pages(&mut rig, client, DetailPart::default());
    assert!(small.iter().flatten().flat_map(|piece| &piece.submits).all(|info| info.submit.parts.len() == 1));
}

fn stage(rig: &mut Rig, client: LinkId, submit: Submit) {
    assert_eq!(rig.ask(client, ClientRequest::Stage(Box::new(submit))), ClientReply::Done);
}

fn chain(ids: &str, on: &[Option<u32>]) -> Submit {
    let rows = on.iter().map(|on| on.map(|on| (TaskNumber(on), DepKind::Success)));
    Submit { deps: Deps::new(rows).unwrap(), ..tasks(JobTarget::New(JobSpec::default()), ids) }
}

#[test]
fn what_is_staged_becomes_one_job_in_one_append() {
    let mut rig = Rig::journaled();
    let client = rig.client();
    stage(&mut rig, client, chain("0-1", &[None, Some(0)]));
    stage(&mut rig, client, chain("2-3", &[Some(1), Some(2)]));
    let before = rig.log.len();
    assert_eq!(rig.node.scheduler().last_job(), None, "nothing has happened yet");
    let spec = JobSpec { name: "chain".to_owned(), max_fails: Some(1) };
    let commit = ClientRequest::SubmitStaged { job: JobTarget::New(spec), credit: None };
    let call = rig.call(client, commit.clone());
    assert_eq!(rig.order.iter().filter(|kind| **kind == "append").count(), 1);
    assert!(rig.replies(client).is_empty(), "not safe yet");
    rig.confirm();
    assert_eq!(rig.replies(client), [(call, ClientReply::Submitted { job: JobId(1) })]);
    let facts: Vec<_> = rig.log[before..].iter().map(|(_, record)| &record.fact).collect();
    assert!(
        matches!(
            facts[..],
            [Fact::JobOpened { .. }, Fact::Submitted { .. }, Fact::Submitted { .. }, Fact::JobClosed { .. }]
        ),
        "{facts:?}"
    );
    let mut worker = rig.worker(4);
    rig.confirms = true;
    worker.run_all(&mut rig);
    let ClientReply::Jobs(jobs) = rig.ask(client, ClientRequest::Jobs(Selector::All)) else { panic!("no jobs") };
    assert_eq!((jobs.items[0].state(), jobs.items[0].counts.finished), (JobState::Finished, 4));
    assert!(matches!(rig.refused(client, commit), Refusal::Invalid(_)), "nothing is staged any more");
}

#[test]
fn of_what_is_staged_all_is_taken_or_nothing() {
    for (ids, on, refusal) in [
        ("2-3", vec![Some(1), Some(9)], Refusal::Dependency { task: TaskNumber(3), on: TaskNumber(9) }),
        ("2-3", vec![Some(3), None], Refusal::Dependency { task: TaskNumber(2), on: TaskNumber(3) }),
        ("1-2", vec![None, None], Refusal::Invalid("Task 1 is defined more than once.".to_owned())),
        ("7-8", vec![None, None], Refusal::TaskExists(TaskNumber(7), JobId(1))),
    ] {
        let mut rig = Rig::new();
        let client = rig.client();
        let job = open(&mut rig, client);
        rig.ask(client, ClientRequest::Submit(Box::new(tasks(JobTarget::Attach(job), "7"))));
        stage(&mut rig, client, chain("0-1", &[None, Some(0)]));
        stage(&mut rig, client, chain(ids, &on));
        let commit = ClientRequest::SubmitStaged { job: JobTarget::Attach(job), credit: None };
        assert_eq!(rig.refused(client, commit), refusal);
        let view = rig.node.scheduler().job(job).expect("the job");
        assert_eq!((view.counts.total(), view.submits.len()), (1, 1), "{ids}");
    }
}

/// A restart forgets links, and not what was bound to them.
#[test]
fn what_is_bound_waits_for_its_client_after_a_restart() {
    let mut rig = Rig::with(config(true), vec![]);
    rig.confirms = true;
    rig.confirm();
    let client = rig.client();
    let jobs: Vec<JobId> = (0..4).map(|_| open(&mut rig, client)).collect();
    for job in &jobs {
        rig.ask(client, ClientRequest::Submit(Box::new(tasks(JobTarget::Attach(*job), "0-2"))));
    }
    for job in &jobs[..3] {
        assert_eq!(rig.ask(client, ClientRequest::Bind(*job)), ClientReply::Done);
    }
    rig.ask(client, ClientRequest::CloseJobs(one(jobs[2].0)));
    let seen = |rig: &mut Rig, client| -> Vec<(bool, u64)> {
        let ClientReply::Jobs(jobs) = rig.ask(client, ClientRequest::Jobs(Selector::All)) else { panic!("no jobs") };
        jobs.items.iter().map(|job| (job.is_open, job.counts.canceled)).collect()
    };
    for _ in 0..2 {
        // The second time, out of what the first restart left.
        rig = rig.restart(Span::secs(1));
        rig.confirms = true;
        rig.confirm();
    }
    let client = rig.client();
    assert_eq!(rig.ask(client, ClientRequest::Bind(jobs[0])), ClientReply::Done);
    rig.pass(Span::secs(59));
    assert_eq!(seen(&mut rig, client), [(true, 0), (true, 0), (false, 0), (true, 0)]);
    rig.pass(Span::secs(2));
    assert_eq!(seen(&mut rig, client), [(true, 0), (false, 3), (false, 0), (true, 0)], "nobody came for the second");
    rig.input(ServerInput::LinkDown { link: client });
    let other = rig.client();
    assert_eq!(seen(&mut rig, other), [(false, 3), (false, 3), (false, 0), (true, 0)]);
}

#[test]
fn what_is_staged_or_bound_goes_with_its_link() {
    let mut rig = Rig::new();
    let client = rig.client();
    let (job, free, closed) = (open(&mut rig, client), open(&mut rig, client), open(&mut rig, client));
    for job in [job, closed] {
        assert_eq!(rig.ask(client, ClientRequest::Bind(job)), ClientReply::Done);
    }
    assert_eq!(rig.refused(client, ClientRequest::Bind(JobId(9))), Refusal::NoJob(JobId(9)));
    for job in [job, free, closed] {
        rig.ask(client, ClientRequest::Submit(Box::new(tasks(JobTarget::Attach(job), "0-2"))));
    }
    rig.ask(client, ClientRequest::CloseJobs(one(closed.0)));
    stage(&mut rig, client, chain("0-1", &[None, Some(0)]));
    rig.input(ServerInput::LinkDown { link: client });
    let other = rig.client();
    let ClientReply::Jobs(jobs) = rig.ask(other, ClientRequest::Jobs(Selector::All)) else { panic!("no jobs") };
    let seen: Vec<_> = jobs.items.iter().map(|job| (job.is_open, job.counts.canceled, job.counts.waiting)).collect();
    assert_eq!(seen, [(false, 3, 0), (true, 0, 3), (false, 0, 3)]);
    let commit = ClientRequest::SubmitStaged { job: JobTarget::New(JobSpec::default()), credit: None };
    assert!(matches!(rig.refused(other, commit), Refusal::Invalid(_)), "nothing was staged on this link");
}
