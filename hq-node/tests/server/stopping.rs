//! The end of a server.

use hq_core::{ClientReply, ClientRequest, Fact, LossReason, Refusal, Selector, Span, ToWorker};
use hq_node::{PeerRole, ServerInput};

use crate::kit::{Rig, submit, wait};

#[test]
fn a_server_that_is_stopped_answers_and_takes_its_workers_along() {
    let mut rig = Rig::new();
    let (client, other) = (rig.client(), rig.client());
    let worker = rig.worker(1);
    rig.submit(client, 1);
    rig.call(other, wait(Selector::All));
    let appended = rig.log.len();
    let id = rig.call(client, ClientRequest::StopServer);
    assert_eq!(rig.replies(client), [(id, ClientReply::Done)]);
    assert_eq!(rig.hear(worker.link).last(), Some(&ToWorker::Stop { reason: LossReason::ServerEnded }));
    assert!(rig.stopped && [client, other, worker.link].iter().all(|link| rig.closed.contains(link)));
    assert_eq!(rig.order.last(), Some(&"stop"));
    let last = rig.log[appended..].iter().map(|(_, record)| record.fact.clone()).collect::<Vec<_>>();
    assert_eq!(last, [Fact::ServerStopped], "workers that go with their server are not lost");
    rig.input(ServerInput::LinkDown { link: worker.link });
    assert_eq!((rig.node.poll_timeout(), rig.log.len()), (None, appended + 1));
}

#[test]
fn what_is_not_safe_is_waited_for() {
    let mut rig = Rig::journaled();
    let client = rig.client();
    let submitted = rig.call(client, submit(1));
    let stop = rig.call(client, ClientRequest::StopServer);
    let late = rig.call(client, submit(1));
    assert_eq!(rig.replies(client), [(late, ClientReply::Refused(Refusal::Stopping))]);
    let newcomer = rig.link(PeerRole::Worker);
    assert!(rig.closed.contains(&newcomer) && !rig.stopped);
    rig.confirm();
    assert!(!rig.stopped, "the end is an append of its own");
    rig.confirm();
    assert!(rig.stopped);
    let replies = rig.replies(client);
    let submitted = (submitted, ClientReply::Submitted { job: hq_core::JobId(1) });
    assert_eq!(replies, [submitted, (stop, ClientReply::Done)]);
}

#[test]
fn a_journal_that_says_nothing_is_not_waited_for_for_ever() {
    let mut rig = Rig::journaled();
    let client = rig.client();
    let submitted = rig.call(client, submit(1));
    rig.input(ServerInput::Interrupted);
    assert!(!rig.stopped);
    rig.pass(Span::secs(5));
    assert!(rig.stopped);
    let replies = rig.replies(client);
    assert!(
        matches!(replies[..], [(id, ClientReply::Refused(Refusal::JournalFailed(_)))] if id == submitted),
        "{replies:?}"
    );
}

#[test]
fn interrupted_is_stopped() {
    let mut rig = Rig::new();
    let worker = rig.worker(1);
    rig.input(ServerInput::Interrupted);
    assert!(rig.stopped && rig.closed.contains(&worker.link));
    assert!(!rig.log.iter().any(|(_, record)| matches!(record.fact, Fact::WorkerLost { .. })));
}

#[test]
fn a_server_whose_journal_was_taken_leaves_all_as_it_is() {
    let mut rig = Rig::journaled();
    let client = rig.client();
    let worker = rig.worker(1);
    rig.confirm();
    let submitted = rig.call(client, submit(1));
    rig.hear(worker.link); // bodies need not wait
    let appended = rig.log.len();
    rig.input(ServerInput::JournalTaken { reason: "taken".to_owned() });
    let refusal = ClientReply::Refused(Refusal::Invalid("taken".to_owned()));
    assert_eq!(rig.replies(client), [(submitted, refusal)]);
    assert_eq!(rig.hear(worker.link), [], "it looks for the server that has the journal");
    assert!(rig.stopped && [client, worker.link].iter().all(|link| rig.closed.contains(link)));
    assert_eq!((rig.log.len(), rig.node.poll_timeout(), rig.order.last()), (appended, None, Some(&"stop")));
}
