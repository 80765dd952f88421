use hq_core::{ClientReply, Fact, LinkId, LossReason, Refusal, RequestId, Span, Tick};

use super::{
    ServerNode, ServerOutput,
    worker_session::{SessionState, WorkerSession},
};

/// How long a stopping server waits for its journal.
const PATIENCE: Span = Span::secs(5);
/// And for its allocations to be ended.
const ALLOCATIONS: Span = Span::secs(30);

/// Whether a server still works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It does.
    Running,
    /// It waits until all that it knows is safe, and takes nothing more.
    Stopping {
        /// Those who asked for the end.
        calls: Vec<(LinkId, RequestId)>,
        /// It does not wait longer.
        until: Tick,
        /// Its end is in the books.
        is_noted: bool,
    },
    /// It has ended.
    Stopped,
}

impl ServerNode {
    /// Begins the end; `call` is answered when it is there.
    ///
    /// With a call it is somebody's wish: workers end with their server under every policy. Without one, those that may
    /// come back see no more than the end of their link, and look for the server that follows.
    pub(super) fn begin_stop(&mut self, call: Option<(LinkId, RequestId)>) {
        let is_noted = matches!(self.phase, Phase::Stopping { is_noted: true, .. } | Phase::Stopped);
        if !is_noted {
            self.stop_scaling(call.is_some());
        }
        if call.is_some() && !is_noted {
            self.dismiss_all();
        }
        match &mut self.phase {
            Phase::Running => {
                let patience = if self.scaling.machine.is_quiet() { PATIENCE } else { ALLOCATIONS };
                let until = self.now.after(patience);
                self.phase = Phase::Stopping { calls: call.into_iter().collect(), until, is_noted: false };
            }
            Phase::Stopping { calls, .. } => calls.extend(call),
            Phase::Stopped => {}
        }
    }

    /// Ends at once, and leaves all as it is for the server that has the journal now: workers, and clients that wait, see no
    /// more than the end of their link, and no allocation is ended. Who asked for what is not safe is told `reason`.
    pub(super) fn leave(&mut self, reason: String) {
        self.phase = Phase::Stopped;
        self.is_dirty = false;
        let refusal = Refusal::Invalid(reason.clone());
        self.ledger.fail(reason);
        for (link, session) in &mut self.clients.links {
            session.refuse_unsafe(&refusal);
            self.touched.insert(*link);
        }
        self.drop_orders();
        self.workers.links.values_mut().for_each(WorkerSession::hush);
        self.end_links();
    }

    /// Ends, if that is asked for and nothing is left to wait for. Workers are told to end; in the books they stay, as
    /// they go with their server.
    pub(super) fn finish_stop(&mut self) {
        let Phase::Stopping { until, is_noted, .. } = &mut self.phase else { return };
        if self.now < *until && !self.scaling.machine.is_quiet() {
            return;
        }
        if self.ledger.failure().is_none() && self.now < *until {
            if self.ledger.is_settled() && !*is_noted {
                *is_noted = true;
                // An append of its own, so that nothing is lost with it.
                self.note(Fact::ServerStopped);
                self.append_step();
            }
            if !self.ledger.is_settled() {
                return;
            }
        }
        let Phase::Stopping { calls, .. } = &mut self.phase else { return };
        let calls = std::mem::take(calls);
        let is_wanted = !calls.is_empty();
        for (link, id) in calls {
            self.reply(link, id, ClientReply::Done);
        }
        self.phase = Phase::Stopped;
        let late = Refusal::JournalFailed("the journal did not confirm in time, and the server ends".to_owned());
        for (link, session) in &mut self.clients.links {
            session.refuse_unsafe(&late);
            self.touched.insert(*link);
        }
        for (link, session) in &mut self.workers.links {
            let comes_back = match session.state {
                SessionState::Joined(worker) => self.sessions.comes_back(worker),
                SessionState::Greeting(_) => !is_wanted,
                SessionState::Leaving(_) => false,
            };
            if comes_back {
                session.hush();
            } else {
                session.stop(LossReason::ServerEnded);
            }
            self.touched.insert(*link);
        }
        self.end_links();
    }

    fn end_links(&mut self) {
        self.closing.extend(self.clients.links.keys());
        self.closing.extend(self.workers.links.keys());
        self.flush();
        self.outputs.push_back(ServerOutput::Stop);
    }
}
