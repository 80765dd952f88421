//! What waits until what is safe.

use hq_core::{
    Blob, ClientReply, ClientRequest, DepKind, Deps, DetailPage, DetailPart, Fact, JobId, JobSpec, JobTarget, Outcome,
    Page, Profile, Refusal, Request, Selector, Seq, Submit, TaskIds, TaskNumber, ToWorker,
};
use hq_node::{PeerRole, ServerInput};

use crate::kit::{Rig, cancel, config, submit, wait};

fn opens(messages: &[ToWorker]) -> usize {
    messages.iter().filter(|message| matches!(message, ToWorker::Open(_))).count()
}

#[test]
fn the_boot_comes_first_and_nobody_is_answered_before() {
    let mut rig = Rig::with(config(true), vec![]);
    assert_eq!(rig.order, ["append"]);
    assert!(matches!(rig.log[0].1.fact, Fact::Boot { .. }));
    assert!(!rig.node.is_ready());
    let client = rig.client();
    rig.call(client, ClientRequest::ServerInfo);
    let worker = rig.link(PeerRole::Worker);
    let config = hq_core::WorkerConfig::new("w", hq_core::WorkerResources::cpus(1).unwrap());
    rig.say(worker, [hq_core::FromWorker::Hello(Box::new(config))]);
    assert!(rig.replies(client).is_empty() && rig.hear(worker).is_empty());
    rig.confirm();
    assert!(rig.node.is_ready());
    assert!(matches!(rig.replies(client)[..], [(_, ClientReply::Server(_))]));
    assert!(matches!(rig.hear(worker)[..], [ToWorker::Welcome(_)]));
}

#[test]
fn commands_are_answered_when_they_are_safe() {
    let mut rig = Rig::journaled();
    let client = rig.client();
    let commands = [
        submit(3),
        ClientRequest::OpenJob(JobSpec::default()),
        ClientRequest::CloseJobs(Selector::Last),
        cancel(Selector::Ids(hq_core::IdList::range(1, 1))),
        ClientRequest::ForgetJobs { jobs: Selector::All, states: vec![hq_core::JobState::Canceled] },
        ClientRequest::SetPolicy { order: "priority".to_owned(), placement: "pack".to_owned() },
        submit(3),
        ClientRequest::CancelWaiting { jobs: Selector::Last, reason: None },
    ];
    for command in commands {
        let text = format!("{command:?}");
        let appended = rig.log.len();
        let id = rig.call(client, command);
        assert_eq!(rig.replies(client), [], "{text} is answered too early");
        assert!(rig.log.len() > appended, "{text} is not in the journal");
        rig.confirm();
        let replies = rig.replies(client);
        assert_eq!(replies[0].0, id, "{text}");
        assert!(!matches!(replies[0].1, ClientReply::Refused(_)), "{text}: {replies:?}");
    }
}

#[test]
fn without_a_journal_everything_is_safe_at_once() {
    let mut rig = Rig::new();
    assert!(rig.node.is_ready());
    let client = rig.client();
    let id = rig.call(client, submit(1));
    assert!(matches!(rig.replies(client)[..], [(of, ClientReply::Submitted { .. })] if of == id));
    assert_eq!(rig.order, ["append", "client"]);
}

#[test]
fn a_dropped_confirmation_withholds_starts_replies_and_acknowledgements() {
    let mut rig = Rig::journaled();
    let client = rig.client();
    let mut worker = rig.worker(1);
    let submitted = rig.call(client, submit(1));
    assert_eq!(opens(&rig.hear(worker.link)), 0, "the submit is not safe");
    assert_eq!(rig.replies(client), []);
    let open = rig.order.iter().position(|kind| *kind == "worker");
    assert!(open.is_none_or(|at| at > 0), "facts come before effects: {:?}", rig.order);
    rig.confirm();
    assert!(matches!(rig.replies(client)[..], [(of, ClientReply::Submitted { .. })] if of == submitted));
    worker.read(&mut rig);
    assert_eq!(worker.lanes.len(), 1);
    let waits = rig.call(client, wait(Selector::All));
    worker.end(&mut rig, &Outcome::Finished);
    worker.read(&mut rig);
    assert_eq!((worker.acked, rig.replies(client)), (0, vec![]), "the end is not safe");
    rig.confirm();
    worker.read(&mut rig);
    assert_eq!((worker.acked, rig.replies(client)), (1, vec![(waits, ClientReply::Done)]));
}

#[test]
fn dependents_start_before_the_end_they_wait_for_is_safe() {
    let mut rig = Rig::journaled();
    let client = rig.client();
    let mut worker = rig.worker(1);
    let profile = Profile::new(Request::cpus(1).unwrap());
    let target = JobTarget::New(JobSpec::default());
    let mut chain =
        Submit::array(target, TaskIds::Given(hq_core::IdList::range(0, 2)), "program", Blob::default(), profile);
    chain.deps = Deps::new([vec![], vec![(TaskNumber(0), DepKind::Success)]]).unwrap();
    rig.ask(client, ClientRequest::Submit(Box::new(chain)));
    worker.read(&mut rig);
    let first: Vec<_> = worker.lanes.values().flatten().copied().collect();
    worker.end(&mut rig, &Outcome::Finished);
    worker.read(&mut rig);
    let second: Vec<_> = worker.lanes.values().flatten().copied().collect();
    assert_eq!((first.len(), second.len(), worker.acked), (1, 1, 0));
    assert_ne!(first, second);
}

#[test]
fn work_of_a_safe_submit_waits_only_behind_what_stands_before_it() {
    let mut rig = Rig::journaled();
    let client = rig.client();
    let mut one = rig.worker(1);
    rig.submit(client, 1);
    one.read(&mut rig);
    let mut other = rig.worker(1);
    rig.call(client, submit(1));
    other.read(&mut rig);
    assert!(other.lanes.is_empty(), "its task is not safe");
    one.end(&mut rig, &Outcome::Failed("x".to_owned()));
    let told = rig.hear(one.link);
    assert!(!told.is_empty() && opens(&told) == 0, "the link of the first one goes on: {told:?}");
}

#[test]
fn stale_and_impossible_confirmations_change_nothing() {
    let mut rig = Rig::journaled();
    let client = rig.client();
    rig.call(client, submit(1));
    for seq in [Seq(0), Seq(1), Seq(99), Seq(u64::MAX)] {
        rig.input(ServerInput::Durable { seq });
        assert_eq!(rig.replies(client), [], "{seq}");
    }
}

#[test]
fn a_failed_journal_makes_the_server_read_only() {
    let mut rig = Rig::journaled();
    let client = rig.client();
    let mut worker = rig.worker(1);
    rig.submit(client, 3);
    worker.read(&mut rig);
    let waits = rig.call(client, wait(Selector::All));
    let pending = rig.call(client, submit(1));
    rig.input(ServerInput::JournalFailed { reason: "disk full".to_owned() });
    let refusal = Refusal::JournalFailed("disk full".to_owned());
    let mut replies = rig.replies(client);
    replies.sort_by_key(|(id, _)| *id);
    assert_eq!(replies, [waits, pending].map(|id| (id, ClientReply::Refused(refusal.clone()))));
    let appended = rig.log.len();
    for command in [submit(1), cancel(Selector::All), wait(Selector::All), ClientRequest::OpenJob(JobSpec::default())] {
        assert_eq!(rig.refused(client, command), refusal);
    }
    assert!(
        matches!(rig.ask(client, ClientRequest::Jobs(Selector::All)), ClientReply::Jobs(page) if !page.items.is_empty())
    );
    worker.run_all(&mut rig);
    let ClientReply::Jobs(Page { items: jobs, .. }) =
        rig.ask(client, ClientRequest::Jobs(Selector::Ids(hq_core::IdList::range(1, 1))))
    else {
        panic!("jobs are listed")
    };
    assert_eq!((jobs[0].counts.finished, worker.acked, rig.log.len()), (3, 0, appended), "what runs goes on, unsafe");
}

#[test]
fn what_a_failed_journal_refused_is_not_shown() {
    for confirmed in [1, 2] {
        let mut rig = Rig::journaled();
        let client = rig.client();
        rig.ask(client, ClientRequest::OpenJob(JobSpec::default()));
        let last = if confirmed == 2 {
            rig.submit(client, 2);
            JobId(2)
        } else {
            JobId(1)
        };
        let profile = Profile::new(Request::cpus(1).unwrap());
        let ids = TaskIds::Given(hq_core::IdList::range(0, 5));
        let attach = Submit::array(JobTarget::Attach(JobId(1)), ids, "program", Blob::default(), profile);
        rig.call(client, ClientRequest::Submit(Box::new(attach)));
        rig.call(client, submit(1));
        rig.call(client, ClientRequest::OpenJob(JobSpec::default()));
        rig.input(ServerInput::JournalFailed { reason: "disk full".to_owned() });
        assert!(rig.replies(client).iter().all(|(_, reply)| matches!(reply, ClientReply::Refused(_))));
        let all = Selector::Ids(hq_core::IdList::range(1, 9));
        for (selector, expected) in [(Selector::All, 1..=last.0), (all, 1..=last.0), (Selector::Last, last.0..=last.0)]
        {
            let ClientReply::Jobs(Page { items: jobs, .. }) = rig.ask(client, ClientRequest::Jobs(selector.clone()))
            else {
                panic!("jobs are listed")
            };
            assert_eq!(jobs.iter().map(|job| job.id.0).collect::<Vec<_>>(), expected.clone().collect::<Vec<_>>());
            let details = ClientRequest::JobDetails { jobs: selector, part: DetailPart::default() };
            let ClientReply::JobDetails(DetailPage { jobs: details, .. }) = rig.ask(client, details) else {
                panic!("jobs are shown")
            };
            assert_eq!(details.iter().map(|job| job.info.id.0).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
            if details[0].info.id == JobId(1) {
                let job = &details[0];
                assert_eq!((job.info.counts.total(), job.submits.len(), job.tasks.len()), (0, 0, 0));
                assert!(job.rest.iter().all(|(_, ids)| ids.is_empty()), "{:?}", job.rest);
            }
        }
    }
}

#[test]
fn where_the_boot_cannot_be_made_safe_everything_is_refused() {
    let mut rig = Rig::with(config(true), vec![]);
    rig.input(ServerInput::JournalFailed { reason: "disk full".to_owned() });
    let client = rig.client();
    let refusal = Refusal::JournalFailed("disk full".to_owned());
    for request in [ClientRequest::ServerInfo, ClientRequest::Jobs(Selector::All), submit(1)] {
        assert_eq!(rig.refused(client, request), refusal);
    }
}
