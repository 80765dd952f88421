use hq_core::{ClientReply, LinkId, RequestId};

use super::{ServerNode, client_session::Standing, feed::Chapter};

impl ServerNode {
    /// Tells all listeners what may be told by now.
    pub(super) fn tell_listeners(&mut self) {
        for (link, id) in self.clients.listeners() {
            self.tell_listener(link, id);
        }
    }

    /// Tells a listener what may be told by now, as far as its credit goes. A reset costs no credit, and is only told
    /// where there is some.
    pub(super) fn tell_listener(&mut self, link: LinkId, id: RequestId) {
        let (scheduler, jobs, next) = (&self.scheduler, &self.jobs, self.ledger.next());
        let find = |task| {
            let (job, number) = jobs.locate(task)?;
            Some((job, number, scheduler.task(task).map(|task| task.instance).unwrap_or_default()))
        };
        let mut chapters = Vec::new();
        let standing = self.clients.links.get_mut(&link).and_then(|session| session.standing.get_mut(&id));
        let Some(Standing::Subscription { cursor, credit }) = standing else { return };
        while *credit > 0 {
            match self.feed.read(cursor, &self.wall, next, find) {
                None => break,
                Some(Chapter::Reset { next }) => chapters.push(ClientReply::Reset { next }),
                Some(Chapter::Events(events)) => {
                    *credit -= 1;
                    chapters.push(ClientReply::Events(events));
                }
            }
        }
        for chapter in chapters {
            self.reply(link, id, chapter);
        }
    }
}
