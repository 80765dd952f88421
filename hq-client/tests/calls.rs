//! Calls, subscriptions and their ends, over the memory transport against a server that the tests play.

use hq_client::{CallError, Client, EventBatch};
use hq_core::{
    Call, ClientReply, ClientRequest, Event, EventKind, JobId, Page, Refusal, Reply, RequestId, Selector, Seq,
    TaskNumber, WallTime,
};
use hq_transport::{Role, TypedReceiver, TypedSender, Versions, memory};

struct Server {
    calls: TypedReceiver<Call>,
    replies: TypedSender<Reply>,
    early: Vec<Call>,
}

impl Server {
    async fn next(&mut self) -> Call {
        if self.early.is_empty() {
            self.early = self.calls.recv().await.expect("a batch").expect("no good-bye");
        }
        self.early.remove(0)
    }

    async fn reply(&mut self, id: RequestId, reply: ClientReply) {
        self.replies.send(&[Reply { id, reply }]).await.expect("client is there");
    }
}

fn pair() -> (Client, Server) {
    let (ours, theirs) = memory::pair(Role::Client, Versions::current("1"));
    let server =
        Server { calls: TypedReceiver::new(theirs.receiver), replies: TypedSender::new(theirs.sender), early: vec![] };
    (Client::over(ours), server)
}

fn event(seq: u64) -> Event {
    Event { seq: Seq(seq), at: WallTime(0), kind: EventKind::JobClosed { job: JobId(1) } }
}

#[tokio::test]
async fn calls_are_answered_in_any_order() {
    let (client, mut server) = pair();
    let serve = async {
        let (a, b) = (server.next().await, server.next().await);
        assert_eq!((&a.request, &b.request), (&ClientRequest::ServerInfo, &ClientRequest::WaitWorkers(1)));
        server.reply(b.id, ClientReply::Done).await;
        server.reply(a.id, ClientReply::Jobs(Page::whole(vec![]))).await;
        // Nobody waits for this one.
        server.reply(RequestId(77), ClientReply::Done).await;
    };
    let (a, b, ()) =
        tokio::join!(client.call(ClientRequest::ServerInfo), client.call(ClientRequest::WaitWorkers(1)), serve);
    assert_eq!(a.expect("a"), ClientReply::Jobs(Page::whole(vec![])));
    assert_eq!(b.expect("b"), ClientReply::Done);
}

#[tokio::test]
async fn refusals_and_strange_answers_are_errors() {
    let (client, mut server) = pair();
    let serve = async {
        for reply in [ClientReply::Refused(Refusal::Stopping), ClientReply::Done] {
            let id = server.next().await.id;
            server.reply(id, reply).await;
        }
    };
    let ask = async { [client.server_info().await.err(), client.explain(JobId(1), TaskNumber(0)).await.err()] };
    let (errors, ()) = tokio::join!(ask, serve);
    assert!(matches!(
        errors,
        [Some(CallError::Refused(Refusal::Stopping)), Some(CallError::Unexpected(reply))] if *reply == ClientReply::Done
    ));
}

#[tokio::test]
async fn a_dropped_call_is_abandoned() {
    let (client, mut server) = pair();
    let asked = tokio::select! {
        _ = client.wait(Selector::All, false) => panic!("nobody answered"),
        call = server.next() => call,
    };
    assert_eq!(server.next().await.request, ClientRequest::Abandon(asked.id));
}

#[tokio::test]
async fn a_lost_link_fails_all_calls() {
    let (client, mut server) = pair();
    let serve = async {
        server.next().await;
        drop(server);
    };
    let (lost, ()) = tokio::join!(client.server_info(), serve);
    assert!(matches!(lost, Err(CallError::Lost(_))), "{lost:?}");
    assert!(matches!(client.server_info().await, Err(CallError::Lost(_))));
}

#[tokio::test]
async fn closing_says_good_bye() {
    let (client, mut server) = pair();
    let (end, ()) = tokio::join!(server.calls.recv(), client.close());
    assert_eq!(end.expect("no error"), None);
}

#[tokio::test]
async fn events_come_with_credit_for_each_batch_read() {
    let (client, mut server) = pair();
    let mut events = client.subscribe(Some(Seq(3)), None).await.expect("subscribe");
    let Call { id, request: ClientRequest::Subscribe { from, jobs, credit } } = server.next().await else {
        panic!("a subscription is expected")
    };
    assert_eq!((from, jobs), (Some(Seq(3)), None));
    server.reply(id, ClientReply::Reset { next: Seq(8) }).await;
    for seq in 0..u64::from(credit) {
        server.reply(id, ClientReply::Events(vec![event(8 + seq)])).await;
    }
    assert_eq!(events.next().await.expect("some").expect("ok"), EventBatch::Reset { next: Seq(8) });
    assert_eq!(events.next().await.expect("some").expect("ok"), EventBatch::Events(vec![event(8)]));
    assert_eq!(events.next().await.expect("some").expect("ok"), EventBatch::Events(vec![event(9)]));
    assert_eq!(server.next().await.request, ClientRequest::Credit { subscription: id, batches: 1 });
    drop(events);
    assert_eq!(server.next().await.request, ClientRequest::Abandon(id));
}

#[tokio::test]
async fn a_server_that_floods_a_subscription_ends_it() {
    let (client, mut server) = pair();
    let mut events = client.subscribe(None, None).await.expect("subscribe");
    let Call { id, request: ClientRequest::Subscribe { credit, .. } } = server.next().await else {
        panic!("a subscription is expected")
    };
    for seq in 0..u64::from(credit) + 10 {
        server.reply(id, ClientReply::Events(vec![event(seq)])).await;
    }
    // The reader works through all of them before it answers this.
    let serve = async {
        let id = server.next().await.id;
        server.reply(id, ClientReply::Done).await;
    };
    let (done, ()) = tokio::join!(client.wait(Selector::All, false), serve);
    done.expect("the link lives on");
    let mut read = 0;
    while let Some(batch) = events.next().await {
        batch.expect("a batch");
        read += 1;
    }
    assert!((credit..credit + 10).contains(&read), "{read} batches were kept");
}

#[tokio::test]
async fn a_client_that_is_dropped_or_closed_says_good_bye() {
    for is_closed in [false, true] {
        let (client, mut server) = pair();
        // A stream that lives on does not hold up the end.
        let stream = client.subscribe(None, None).await.expect("sent");
        if is_closed {
            client.close().await;
        } else {
            drop(client);
        }
        assert!(matches!(server.next().await.request, ClientRequest::Subscribe { .. }));
        assert!(matches!(server.calls.recv().await, Ok(None)), "closed: {is_closed}");
        drop(stream);
    }
}

/// A server that does not listen any more, but has something to say.
struct Deaf;

#[async_trait::async_trait]
impl hq_transport::LinkSender for Deaf {
    async fn send(&mut self, _: Vec<u8>) -> Result<(), hq_transport::LinkError> {
        Err(hq_transport::LinkError::Cut)
    }

    async fn close(&mut self) {}
}

#[tokio::test(start_paused = true)]
async fn what_the_server_said_last_is_heard_though_it_does_not_listen() {
    let (mut ours, theirs) = memory::pair(Role::Client, Versions::current("1"));
    ours.sender = Box::new(Deaf);
    let client = Client::over(ours);
    let mut replies = TypedSender::new(theirs.sender);
    let say = async {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        replies.send(&[Reply { id: RequestId(1), reply: ClientReply::Done }]).await.expect("said");
    };
    let (reply, ()) = tokio::join!(client.call(ClientRequest::StopServer), say);
    assert_eq!(reply.expect("heard"), ClientReply::Done);
    assert!(matches!(client.call(ClientRequest::ServerInfo).await, Err(CallError::Lost(_))));
}
