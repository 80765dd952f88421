//! What clients ask.

use hq_core::{
    Call, CancelOutcome, ClientReply, ClientRequest, CloseOutcome, DetailPage, DetailPart, IdList, JobId, JobInfo,
    JobSpec, JobState, JobTarget, LinkId, Outcome, Refusal, RequestId, Selector, Standing, TaskCounts, TaskNumber,
    TaskState, WallTime,
};
use hq_node::ServerInput;

use crate::kit::{Rig, cancel, one, submit, submit_to, wait};

fn jobs(rig: &mut Rig, client: LinkId, which: Selector) -> Vec<JobInfo> {
    match rig.ask(client, ClientRequest::Jobs(which)) {
        ClientReply::Jobs(page) => page.items,
        other => panic!("no jobs: {other:?}"),
    }
}

#[test]
fn each_client_gets_its_own_answers() {
    let mut rig = Rig::journaled();
    let (one, two) = (rig.client(), rig.client());
    let (a, b) = (rig.call(one, submit(1)), rig.call(two, submit(2)));
    rig.confirm();
    assert_eq!(rig.replies(one), [(a, ClientReply::Submitted { job: JobId(1) })]);
    assert_eq!(rig.replies(two), [(b, ClientReply::Submitted { job: JobId(2) })]);
}

#[test]
fn a_client_that_goes_takes_nothing_along_but_its_answers() {
    let mut rig = Rig::journaled();
    let (gone, client) = (rig.client(), rig.client());
    rig.call(gone, submit(1));
    rig.call(gone, wait(Selector::All));
    rig.input(ServerInput::LinkDown { link: gone });
    rig.confirm();
    assert_eq!(rig.replies(gone), []);
    assert_eq!(jobs(&mut rig, client, Selector::All).len(), 1);
}

#[test]
fn selectors_select() {
    let mut rig = Rig::new();
    let client = rig.client();
    assert_eq!(jobs(&mut rig, client, Selector::Last), [], "nothing was ever made");
    for _ in 0..3 {
        rig.submit(client, 1);
    }
    let ids = |jobs: Vec<JobInfo>| jobs.into_iter().map(|job| job.id.0).collect::<Vec<_>>();
    for (which, selected) in [
        (Selector::Last, vec![3]),
        (Selector::All, vec![1, 2, 3]),
        (Selector::Ids(IdList::parse("7,3,1").unwrap()), vec![1, 3]),
        (Selector::Ids(IdList::parse("2-4294967295").unwrap()), vec![2, 3]),
    ] {
        assert_eq!(ids(jobs(&mut rig, client, which.clone())), selected, "{which}");
    }
    let many = Selector::Ids(IdList::parse("0-2000000").unwrap());
    assert!(matches!(rig.refused(client, cancel(many)), Refusal::Invalid(_)));
}

#[test]
fn a_job_in_a_line() {
    let mut rig = Rig::new();
    let client = rig.client();
    rig.now = rig.now.after(hq_core::Span(500));
    rig.submit(client, 10);
    let info = jobs(&mut rig, client, Selector::Last).remove(0);
    assert_eq!((info.state(), info.spec.name.as_str()), (JobState::Waiting, "test"));
    assert_eq!(info.counts, TaskCounts { waiting: 10, ..TaskCounts::default() });
    assert_eq!((info.submitted, info.ended), (WallTime(1_000_000_500), None));
}

#[test]
fn waits_end_with_the_last_job_that_is_waited_for() {
    let mut rig = Rig::new();
    let client = rig.client();
    rig.submit(client, 1);
    rig.submit(client, 1);
    let all = rig.call(client, wait(Selector::All));
    let none = rig.call(client, wait(one(99)));
    assert_eq!(rig.replies(client), [(none, ClientReply::Done)]);
    let mut worker = rig.worker(1);
    worker.end(&mut rig, &Outcome::Finished);
    assert_eq!(rig.replies(client), []);
    worker.run_all(&mut rig);
    assert_eq!(rig.replies(client), [(all, ClientReply::Done)]);
    let late = rig.call(client, wait(Selector::All));
    assert_eq!(rig.replies(client), [(late, ClientReply::Done)]);
}

#[test]
fn a_wait_in_the_same_breath_as_its_submit() {
    let mut rig = Rig::new();
    let client = rig.client();
    let calls = [submit(1), wait(Selector::Last)];
    let calls = calls.into_iter().zip(1..).map(|(request, id)| Call { id: RequestId(id), request }).collect();
    rig.input(ServerInput::FromClient { link: client, calls });
    assert_eq!(rig.replies(client), [(RequestId(1), ClientReply::Submitted { job: JobId(1) })]);
    rig.worker(1).run_all(&mut rig);
    assert_eq!(rig.replies(client), [(RequestId(2), ClientReply::Done)]);
}

#[test]
fn open_jobs_are_waited_for_until_they_are_closed_or_not() {
    let mut rig = Rig::new();
    let client = rig.client();
    assert_eq!(rig.ask(client, ClientRequest::OpenJob(JobSpec::default())), ClientReply::Opened { job: JobId(1) });
    let without = ClientRequest::WaitJobs { jobs: Selector::All, until_closed: false };
    assert_eq!(rig.ask(client, without.clone()), ClientReply::Done, "an open job without tasks");
    let closed = rig.call(client, wait(Selector::All));
    rig.ask(client, submit_to(JobTarget::Attach(JobId(1)), 2));
    let ended = rig.call(client, without);
    assert_eq!(rig.replies(client), []);
    rig.worker(2).run_all(&mut rig);
    assert_eq!(rig.replies(client), [(ended, ClientReply::Done)]);
    assert_eq!(jobs(&mut rig, client, Selector::Last)[0].state(), JobState::Opened);
    rig.call(client, ClientRequest::CloseJobs(Selector::All));
    let replies = rig.replies(client);
    assert!(replies.contains(&(closed, ClientReply::Done)), "{replies:?}");
    let (_, close) = replies.iter().find(|(id, _)| *id != closed).unwrap();
    assert_eq!(*close, ClientReply::Closed(vec![(JobId(1), CloseOutcome::Closed)]));
    let again = rig.ask(client, ClientRequest::CloseJobs(Selector::Ids(IdList::range(1, 2))));
    let outcomes = vec![(JobId(1), CloseOutcome::AlreadyClosed), (JobId(2), CloseOutcome::NotFound)];
    assert_eq!(again, ClientReply::Closed(outcomes));
}

#[test]
fn a_cancel_waits_for_what_lies_at_workers() {
    let mut rig = Rig::new();
    let client = rig.client();
    rig.submit(client, 4);
    rig.submit(client, 3);
    let mut worker = rig.worker(1);
    worker.start(&mut rig);
    let id = rig.call(client, cancel(Selector::Ids(IdList::parse("3,1-2").unwrap())));
    let at_once = rig.replies(client);
    worker.read(&mut rig);
    let replies = if at_once.is_empty() { rig.replies(client) } else { at_once };
    let outcome = |canceled| CancelOutcome::Canceled { canceled, already_ended: 0 };
    let outcomes = vec![(JobId(1), outcome(4)), (JobId(2), outcome(3)), (JobId(3), CancelOutcome::NotFound)];
    assert_eq!(replies, [(id, ClientReply::Canceled(outcomes))]);
    assert_eq!(rig.ask(client, cancel(Selector::All)), ClientReply::Canceled(vec![]), "none is left");
    assert_eq!(rig.ask(client, cancel(one(1))), ClientReply::Canceled(vec![(JobId(1), CancelOutcome::NothingLeft)]));
}

#[test]
fn the_reason_of_a_cancel_is_kept_and_bounded() {
    let mut rig = Rig::new();
    let client = rig.client();
    rig.submit(client, 1);
    let with = |len| ClientRequest::CancelJobs { jobs: Selector::All, reason: Some("x".repeat(len)) };
    assert!(matches!(rig.refused(client, with(201)), Refusal::Invalid(_)));
    assert_eq!(jobs(&mut rig, client, Selector::Last)[0].counts.waiting, 1, "a refusal changes nothing");
    rig.ask(client, with(200));
    assert_eq!(jobs(&mut rig, client, Selector::Last)[0].cancel_reason, Some("x".repeat(200)));
}

#[test]
fn only_ended_jobs_of_the_wanted_states_are_forgotten() {
    let mut rig = Rig::new();
    let client = rig.client();
    for _ in 0..3 {
        rig.submit(client, 1);
    }
    rig.ask(client, cancel(Selector::Ids(IdList::range(1, 2))));
    let forget = |states: &[JobState]| ClientRequest::ForgetJobs { jobs: Selector::All, states: states.to_vec() };
    let none = rig.ask(client, forget(&[JobState::Finished, JobState::Waiting]));
    assert_eq!(none, ClientReply::Forgotten { forgotten: 0, ignored: 3 });
    let two = rig.ask(client, forget(&[JobState::Canceled]));
    assert_eq!(two, ClientReply::Forgotten { forgotten: 2, ignored: 1 });
    assert_eq!(jobs(&mut rig, client, Selector::All).len(), 1);
    assert_eq!(rig.submit(client, 1), JobId(4), "ids are never used again");
}

#[test]
fn details_of_ten_million_tasks_are_a_few_runs() {
    let mut rig = Rig::new();
    let client = rig.client();
    rig.submit(client, 10_000_000);
    let mut worker = rig.worker(1);
    worker.start(&mut rig);
    let ask = ClientRequest::JobDetails { jobs: Selector::All, part: DetailPart::whole(true) };
    let ClientReply::JobDetails(DetailPage { jobs: details, next: None }) = rig.ask(client, ask) else {
        panic!("no details")
    };
    assert_eq!(details[0].tasks.len(), 1);
    assert_eq!((details[0].tasks[0].number.0, details[0].tasks[0].state), (0, TaskState::Running));
    let [(TaskState::Waiting, rest)] = &details[0].rest[..] else { panic!("{:?}", details[0].rest) };
    assert_eq!(rest.to_string(), "1-9999999");
    assert_eq!(details[0].server_uid, "abc123");
}

#[test]
fn waits_for_workers() {
    let mut rig = Rig::new();
    let client = rig.client();
    let (none, two) =
        (rig.call(client, ClientRequest::WaitWorkers(0)), rig.call(client, ClientRequest::WaitWorkers(2)));
    assert_eq!(rig.replies(client), [(none, ClientReply::Done)]);
    let first = rig.worker(1);
    rig.input(ServerInput::LinkDown { link: first.link });
    rig.worker(1);
    assert_eq!(rig.replies(client), [], "one of them is gone");
    rig.worker(1);
    assert_eq!(rig.replies(client), [(two, ClientReply::Done)]);
}

#[test]
fn an_abandoned_wait_is_not_answered_and_frees_its_number() {
    let mut rig = Rig::new();
    let client = rig.client();
    rig.submit(client, 1);
    let id = rig.call(client, wait(Selector::All));
    let same = Call { id, request: ClientRequest::WaitWorkers(9) };
    rig.input(ServerInput::FromClient { link: client, calls: vec![same.clone()] });
    assert!(matches!(rig.replies(client)[..], [(_, ClientReply::Refused(Refusal::Invalid(_)))]), "its number is taken");
    rig.call(client, ClientRequest::Abandon(id));
    rig.input(ServerInput::FromClient { link: client, calls: vec![same] });
    rig.worker(1).run_all(&mut rig);
    assert_eq!(rig.replies(client), []);
}

#[test]
fn standing_calls_are_bounded() {
    let mut rig = Rig::new();
    let client = rig.client();
    let calls = (1..=1025).map(|id| Call { id: RequestId(id), request: ClientRequest::WaitWorkers(1) }).collect();
    rig.input(ServerInput::FromClient { link: client, calls });
    assert!(matches!(rig.replies(client)[..], [(RequestId(1025), ClientReply::Refused(Refusal::Invalid(_)))]));
    rig.worker(1);
    assert_eq!(rig.replies(client).len(), 1024);
}

#[test]
fn refusals_change_nothing() {
    let mut rig = Rig::new();
    let client = rig.client();
    let appended = rig.log.len();
    let policy = ClientRequest::SetPolicy { order: "nonsense".to_owned(), placement: "pack".to_owned() };
    let name = ClientRequest::OpenJob(JobSpec { name: "a\nb".to_owned(), max_fails: None });
    for request in [policy, name, submit(0), submit_to(JobTarget::Attach(JobId(9)), 1)] {
        let text = format!("{request:?}");
        rig.refused(client, request);
        assert_eq!(rig.log.len(), appended, "{text}");
    }
}

#[test]
fn a_task_is_explained_until_it_has_ended() {
    let mut rig = Rig::new();
    let client = rig.client();
    let explain = |job, task| ClientRequest::Explain { job: JobId(job), task: TaskNumber(task) };
    assert_eq!(rig.refused(client, explain(1, 0)), Refusal::NoJob(JobId(1)));
    rig.submit(client, 2);
    assert_eq!(rig.refused(client, explain(1, 2)), Refusal::NoTask(TaskNumber(2), JobId(1)));
    let standing = |rig: &mut Rig, task| match rig.ask(client, explain(1, task)) {
        ClientReply::Explained(explanation) => (explanation.standing, explanation.workers.len()),
        other => panic!("no explanation: {other:?}"),
    };
    assert_eq!(standing(&mut rig, 0), (Standing::Infeasible, 0));
    let mut worker = rig.worker(1);
    assert_eq!(standing(&mut rig, 1), (Standing::NoRoom, 1));
    worker.end(&mut rig, &Outcome::Finished);
    assert_eq!(rig.refused(client, explain(1, 0)), Refusal::TaskEnded(TaskNumber(0), JobId(1)));
}
