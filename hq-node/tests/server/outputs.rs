//! What programs print, on its way to those who listen.

use hq_core::{
    Call, Channel, ClientReply, ClientRequest, FromWorker, GrantId, JobId, LinkId, Ordinal, Outcome, Refusal,
    RequestId, RunId, RunOutput, Selector, ToWorker, WorkerConfig, WorkerResources,
};
use hq_node::{PeerRole, ServerInput};

use crate::kit::{Hand, Rig, cancel, submit};

fn submit_listening(rig: &mut Rig, client: LinkId, tasks: u32, credit: u32) -> RequestId {
    let ClientRequest::Submit(submit) = submit(tasks) else { panic!("a submit") };
    rig.call(client, ClientRequest::SubmitListening { submit, credit })
}

/// The run that a worker has in its only lane.
fn run(hand: &Hand) -> RunId {
    let (grant, task) = hand.lanes.iter().find_map(|(grant, lane)| Some((*grant, *lane.front()?))).unwrap();
    RunId { task, grant }
}

/// In the first session.
fn print(run: RunId, offset: u64) -> FromWorker {
    print_in(1, run, offset)
}

fn print_in(session: u64, run: RunId, offset: u64) -> FromWorker {
    FromWorker::Output(RunOutput { run, session, channel: Channel::Stdout, offset, data: b"x"[..].into() })
}

/// What a client was told in a few words.
fn told(rig: &mut Rig, client: LinkId) -> Vec<String> {
    let show = |(_, reply)| match reply {
        ClientReply::Outputs(outputs) => {
            let each = outputs.iter().map(|output| format!(" {}.{}+{}", output.task, output.instance, output.offset));
            format!("outputs{}", each.collect::<String>())
        }
        ClientReply::Submitted { job } => format!("submitted {job}"),
        ClientReply::Done => "done".to_owned(),
        ClientReply::Canceled(_) => "canceled".to_owned(),
        ClientReply::Refused(Refusal::JournalFailed(_)) => "refused".to_owned(),
        other => panic!("{other:?}"),
    };
    rig.replies(client).into_iter().map(show).collect()
}

fn listens(messages: &[ToWorker]) -> Vec<String> {
    let show = |message: &ToWorker| match message {
        ToWorker::Listen { job, session, credit } => Some(format!("listen {job}#{session}+{credit}")),
        ToWorker::Unlisten { job, session } => Some(format!("unlisten {job}#{session}")),
        ToWorker::Open(_) => Some("open".to_owned()),
        _ => None,
    };
    messages.iter().filter_map(show).collect()
}

#[test]
fn from_the_first_byte_to_the_end_of_the_job() {
    let mut rig = Rig::new();
    let client = rig.client();
    let early = rig.worker(1);
    submit_listening(&mut rig, client, 1, 1);
    assert_eq!(told(&mut rig, client), ["submitted 1"]);
    let messages = rig.hear(early.link);
    assert_eq!(listens(&messages), ["listen 1#1+8", "open"], "before there is anything to hear");
    let mut late = rig.worker(1);
    assert!(rig.hear(late.link).is_empty(), "told with its welcome");
    let mut early = Hand { lanes: Default::default(), ..early };
    let grant = messages.iter().find_map(|message| match message {
        ToWorker::Open(open) => Some(open.grant),
        _ => None,
    });
    early.lanes.insert(grant.unwrap(), [Ordinal(0)].into());
    early.start(&mut rig);
    let run = run(&early);
    rig.say(late.link, [print(run, 77)]);
    late.read(&mut rig);
    rig.say(early.link, [print(run, 0), print(run, 1), print(RunId { task: Ordinal(9), ..run }, 5)]);
    let unknown = GrantId { n: 99, ..run.grant };
    rig.say(early.link, [print(RunId { grant: unknown, ..run }, 6)]);
    assert_eq!(told(&mut rig, client), ["outputs 0.0+0"], "its credit is used up");
    assert_eq!(listens(&rig.hear(early.link)), ["listen 1#1+1"; 2], "room for what was taken, and what is nobody's");
    early.end(&mut rig, &Outcome::Finished);
    rig.confirm();
    assert_eq!(told(&mut rig, client), Vec::<String>::new(), "the end waits for what was printed");
    rig.call(client, ClientRequest::Credit { subscription: RequestId(1), batches: 5 });
    assert_eq!(told(&mut rig, client), ["outputs 0.0+1", "done"]);
    assert_eq!(listens(&rig.hear(early.link)), ["listen 1#1+1", "unlisten 1#1"]);
    assert_eq!(listens(&rig.hear(late.link)), ["unlisten 1#1"]);
}

#[test]
fn who_leaves_frees_everything() {
    let mut rig = Rig::new();
    let (client, other) = (rig.client(), rig.client());
    submit_listening(&mut rig, client, 1, 0);
    let mut worker = rig.worker(1);
    worker.start(&mut rig);
    let call = rig.call(other, ClientRequest::Listen { job: JobId(1), credit: 100 });
    let run = run(&worker);
    rig.say(worker.link, (0..20).map(|n| print(run, n)));
    assert_eq!(told(&mut rig, other), ["outputs 0.0+0 0.0+1 0.0+2 0.0+3 0.0+4 0.0+5 0.0+6 0.0+7"]);
    assert_eq!(listens(&rig.hear(worker.link)), Vec::<String>::new(), "the slowest holds it up");
    rig.input(ServerInput::LinkDown { link: client });
    assert_eq!(listens(&rig.hear(worker.link)), ["listen 1#1+8"]);
    rig.call(other, ClientRequest::Abandon(call));
    assert_eq!(listens(&rig.hear(worker.link)), ["unlisten 1#1"]);
    rig.say(worker.link, [print(run, 20)]);
    assert_eq!(told(&mut rig, other), Vec::<String>::new());
}

#[test]
fn a_run_that_was_superseded_is_not_heard() {
    let mut rig = Rig::new();
    let client = rig.client();
    submit_listening(&mut rig, client, 1, 100);
    let mut first = rig.worker(1);
    first.start(&mut rig);
    let stale = run(&first);
    rig.say(first.link, [print(stale, 0)]);
    rig.input(ServerInput::LinkDown { link: first.link });
    let mut second = rig.worker(1);
    second.start(&mut rig);
    rig.say(second.link, [print(stale, 1), print(run(&second), 0)]);
    assert_eq!(told(&mut rig, client), ["submitted 1", "outputs 0.0+0", "outputs 0.1+0"]);
}

#[test]
fn jobs_that_say_nothing_more() {
    let mut rig = Rig::new();
    let client = rig.client();
    let listen = |job| ClientRequest::Listen { job: JobId(job), credit: 1 };
    assert_eq!(rig.refused(client, listen(1)), Refusal::NoJob(JobId(1)));
    rig.submit(client, 1);
    rig.call(client, listen(1));
    assert_eq!(told(&mut rig, client), Vec::<String>::new());
    rig.call(client, cancel(Selector::All));
    rig.confirm();
    let replies = rig.replies(client);
    assert!(replies.iter().any(|(_, reply)| *reply == ClientReply::Done), "{replies:?}");
    assert_eq!(rig.ask(client, listen(1)), ClientReply::Done);
}

#[test]
fn what_no_run_of_the_worker_prints_is_nobodys_and_takes_no_room() {
    let mut rig = Rig::new();
    let (client, victim) = (rig.client(), rig.client());
    rig.submit(client, 1);
    let mut worker = rig.worker(1);
    worker.start(&mut rig);
    let own = run(&worker);
    submit_listening(&mut rig, victim, 1, 10);
    rig.hear(worker.link);
    // Of a task of another job, in a lane that is its own.
    let word = FromWorker::Notify { run: RunId { task: Ordinal(1), ..own }, message: "psst".to_owned() };
    rig.call(victim, ClientRequest::Subscribe { from: None, jobs: None, credit: 9 });
    rig.replies(victim);
    rig.say(worker.link, [print(RunId { task: Ordinal(1), ..own }, 0), word]);
    assert_eq!(rig.replies(victim), []);
    assert_eq!(listens(&rig.hear(worker.link)), ["listen 2#1+1"]);
}

#[test]
fn the_end_is_told_when_it_is_safe_and_behind_the_answer() {
    let mut rig = Rig::journaled();
    let (client, other) = (rig.client(), rig.client());
    submit_listening(&mut rig, client, 1, 9);
    rig.call(other, cancel(Selector::All));
    assert_eq!(told(&mut rig, client), Vec::<String>::new());
    rig.confirm();
    assert_eq!(told(&mut rig, client), ["submitted 1", "done"]);

    submit_listening(&mut rig, client, 1, 9);
    rig.confirm();
    let mut worker = rig.worker(1);
    rig.confirm();
    worker.start(&mut rig);
    let run = run(&worker);
    rig.say(worker.link, [print_in(2, run, 0)]);
    worker.end(&mut rig, &Outcome::Finished);
    assert_eq!(told(&mut rig, client), ["submitted 2", "outputs 0.0+0"]);
    rig.confirm();
    assert_eq!(told(&mut rig, client), ["done"]);
}

#[test]
fn an_end_that_cannot_be_made_safe_is_refused() {
    // Before it and after it.
    for has_ended in [false, true] {
        let mut rig = Rig::journaled();
        let client = rig.client();
        submit_listening(&mut rig, client, 1, 9);
        rig.confirm();
        let mut worker = rig.worker(1);
        rig.confirm();
        worker.start(&mut rig);
        rig.confirm();
        if has_ended {
            worker.end(&mut rig, &Outcome::Finished);
        }
        rig.input(ServerInput::JournalFailed { reason: "disk full".to_owned() });
        if !has_ended {
            worker.end(&mut rig, &Outcome::Finished);
        }
        assert_eq!(told(&mut rig, client), ["submitted 1", "refused"], "{has_ended}");
    }
}

#[test]
fn who_listens_again_hears_nothing_of_before_and_all_that_comes() {
    for in_one_batch in [true, false] {
        let mut rig = Rig::new();
        let client = rig.client();
        let first = submit_listening(&mut rig, client, 1, 0);
        let mut worker = rig.worker(1);
        worker.start(&mut rig);
        let run = run(&worker);
        rig.hear(worker.link);
        if in_one_batch {
            rig.say(worker.link, (0..8).map(|n| print(run, n)));
        }
        let again = ClientRequest::Listen { job: JobId(1), credit: 0 };
        let second = RequestId(99);
        let calls = [(RequestId(98), ClientRequest::Abandon(first)), (second, again)];
        let calls = calls.map(|(id, request)| Call { id, request });
        if in_one_batch {
            rig.input(ServerInput::FromClient { link: client, calls: calls.to_vec() });
            assert_eq!(listens(&rig.hear(worker.link)), ["listen 1#2+8"]);
        } else {
            for call in calls {
                rig.input(ServerInput::FromClient { link: client, calls: vec![call] });
            }
            assert_eq!(listens(&rig.hear(worker.link)), ["unlisten 1#1", "listen 1#2+8"]);
            // They were on their way.
            rig.say(worker.link, (0..8).map(|n| print(run, n)));
        }
        rig.say(worker.link, (8..16).map(|n| print_in(2, run, n)));
        rig.call(client, ClientRequest::Credit { subscription: second, batches: 100 });
        let whole: String = (8..16).map(|n| format!(" 0.0+{n}")).collect();
        assert_eq!(told(&mut rig, client), ["submitted 1".to_owned(), format!("outputs{whole}")]);
        assert_eq!(listens(&rig.hear(worker.link)), ["listen 1#2+8"], "the whole window is there again");
    }
}

#[test]
fn a_worker_of_the_version_before_hears_nothing_that_it_does_not_know() {
    let mut rig = Rig::new();
    let client = rig.client();
    let old = rig.link_of(PeerRole::Worker, 1);
    let hello = |cpus| WorkerConfig::new("old", WorkerResources::cpus(cpus).unwrap());
    rig.say(old, [FromWorker::Hello(Box::new(hello(1)))]);
    submit_listening(&mut rig, client, 1, 1);
    let late = rig.link_of(PeerRole::Worker, 1);
    rig.say(late, [FromWorker::Hello(Box::new(hello(1)))]);
    rig.call(client, cancel(Selector::All));
    for link in [old, late] {
        assert!(rig.hear_together(link).iter().all(|message| message.since() == 1));
    }
}

#[test]
fn a_worker_of_the_version_before_is_told_of_lanes_one_by_one() {
    let heard = |protocol| {
        let mut rig = Rig::new();
        let client = rig.client();
        rig.ask(client, submit(3));
        let link = rig.link_of(PeerRole::Worker, protocol);
        rig.say(link, [FromWorker::Hello(Box::new(WorkerConfig::new("w", WorkerResources::cpus(3).unwrap())))]);
        rig.hear_together(link)
    };
    let (old, new) = (heard(1), heard(2));
    assert_eq!(old.iter().filter(|message| matches!(message, ToWorker::Open(_))).count(), 3);
    assert_eq!(new.iter().filter(|message| matches!(message, ToWorker::OpenLanes(_))).count(), 1);
    assert_eq!(new.into_iter().flat_map(ToWorker::singly).collect::<Vec<_>>(), old);
}
