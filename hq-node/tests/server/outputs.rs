//! What programs print, on its way to those who listen.

use hq_core::{
    Channel, ClientReply, ClientRequest, FromWorker, GrantId, JobId, LinkId, Ordinal, Outcome, Refusal, RequestId,
    RunId, RunOutput, Selector, ToWorker,
};
use hq_node::ServerInput;

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

fn print(run: RunId, offset: u64) -> FromWorker {
    FromWorker::Output(RunOutput { run, channel: Channel::Stdout, offset, data: b"x"[..].into() })
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
        other => panic!("{other:?}"),
    };
    rig.replies(client).into_iter().map(show).collect()
}

fn listens(messages: &[ToWorker]) -> Vec<String> {
    let show = |message: &ToWorker| match message {
        ToWorker::Listen { job, credit } => Some(format!("listen {job}+{credit}")),
        ToWorker::Unlisten { job } => Some(format!("unlisten {job}")),
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
    assert_eq!(listens(&messages), ["listen 1+8", "open"], "before there is anything to hear");
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
    assert_eq!(listens(&rig.hear(early.link)), ["listen 1+1"], "room for what was taken");
    early.end(&mut rig, &Outcome::Finished);
    rig.confirm();
    assert_eq!(told(&mut rig, client), Vec::<String>::new(), "the end waits for what was printed");
    rig.call(client, ClientRequest::Credit { subscription: RequestId(1), batches: 5 });
    assert_eq!(told(&mut rig, client), ["outputs 0.0+1", "done"]);
    assert_eq!(listens(&rig.hear(early.link)), ["listen 1+1", "unlisten 1"]);
    assert_eq!(listens(&rig.hear(late.link)), ["unlisten 1"]);
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
    assert_eq!(listens(&rig.hear(worker.link)), ["listen 1+8"]);
    rig.call(other, ClientRequest::Abandon(call));
    assert_eq!(listens(&rig.hear(worker.link)), ["unlisten 1"]);
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
