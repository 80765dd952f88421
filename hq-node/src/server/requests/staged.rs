use hq_core::{ClientReply, JobTarget, LinkId, Refusal, RequestId, Submit};

use super::super::{ServerNode, check};

/// Bytes that a link may keep ready: as much goes into one append of a journal.
const STAGED_MAX: usize = 768 << 20;

impl ServerNode {
    pub(super) fn stage(&mut self, link: LinkId, id: RequestId, submit: Submit) -> Result<(), Refusal> {
        check::submit(&submit)?;
        let Some(session) = self.clients.links.get_mut(&link) else { return Ok(()) };
        let bytes = session.staged_bytes.saturating_add(submit.weight());
        if bytes > STAGED_MAX {
            session.drop_staged();
            let text =
                format!("all tasks of a submit together are too large: at most {} MiB are possible", STAGED_MAX >> 20);
            return Err(Refusal::Invalid(text));
        }
        session.staged_bytes = bytes;
        session.staged.push(submit);
        self.reply(link, id, ClientReply::Done);
        Ok(())
    }

    pub(super) fn submit_staged(
        &mut self,
        link: LinkId,
        id: RequestId,
        target: JobTarget,
        credit: Option<u32>,
    ) -> Result<(), Refusal> {
        let Some(session) = self.clients.links.get_mut(&link) else { return Ok(()) };
        let submits = session.drop_staged();
        if let JobTarget::New(spec) = &target {
            check::spec(spec)?;
        }
        // All of it is one append, with nothing else: whole in the journal or not there at all.
        self.step();
        let job = self.scheduler.submit_all(self.now, target, submits)?;
        if let Some(credit) = credit {
            self.begin_listening(link, id, job, credit);
        }
        self.reply_durable(link, id, ClientReply::Submitted { job });
        self.step();
        Ok(())
    }
}
