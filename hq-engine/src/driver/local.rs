use std::collections::HashMap;

use hq_core::{ClientReply, ClientRequest, Reply, RequestId, Seq};

use super::{
    Answer,
    input::{Answered, Feed},
};

/// The calls of this process that wait for a reply.
#[derive(Default)]
pub(super) struct LocalCalls {
    waiting: HashMap<RequestId, (Answer, Seq)>,
}

impl LocalCalls {
    /// Notes who waits for the reply to `request`.
    pub(super) fn note(&mut self, id: RequestId, request: &ClientRequest, answer: Answer, since: Seq) {
        if let ClientRequest::Abandon(abandoned) = request {
            self.waiting.remove(abandoned);
        }
        if !matches!(answer, Answer::Nobody) {
            self.waiting.insert(id, (answer, since));
        }
    }

    /// Hands a reply over. Says which subscription has nobody left to read it.
    pub(super) fn deliver(&mut self, Reply { id, reply }: Reply) -> Option<RequestId> {
        let feed = match reply {
            ClientReply::Events(events) => Feed::Events(events),
            ClientReply::Reset { .. } => Feed::Reset,
            reply => {
                // A subscription that is refused ends.
                if let Some((Answer::Once(sender), since)) = self.waiting.remove(&id) {
                    let _ = sender.send(Answered { reply, since });
                }
                return None;
            }
        };
        let Some((Answer::Events(sender), _)) = self.waiting.get(&id) else { return None };
        if sender.try_send(feed).is_ok() {
            return None;
        }
        self.waiting.remove(&id);
        Some(id)
    }
}
