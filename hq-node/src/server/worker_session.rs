use std::collections::{BTreeMap, BTreeSet};

use hq_core::{LinkId, LossReason, Seq, Span, Tick, ToWorker, WorkerId};

use super::durability::Withheld;

/// A link to a worker.
#[derive(Debug)]
pub(super) struct WorkerSession {
    pub(super) state: SessionState,
    /// The version of the messages that it speaks.
    pub(super) protocol: u16,
    /// Distance of signs of life, as the worker said.
    pub(super) heartbeat: Span,
    /// When it was heard last, by the clock of attention.
    pub(super) heard: Tick,
    /// When it was told something last.
    pub(super) said: Tick,
    /// Number of the last report that was taken.
    pub(super) reports: u64,
    /// Messages that no sound worker sends.
    pub(super) violations: u32,
    /// Messages behind work that may not start yet.
    queue: Withheld<ToWorker>,
    /// Reports whose facts are not safe yet. Apart from the queue, so that work never waits for them.
    acks: Withheld<u64>,
    /// What is to be told at the end of the step.
    outbox: Vec<ToWorker>,
}

/// How far a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionState {
    /// Hello is awaited, until then.
    Greeting(Tick),
    /// It is this worker.
    Joined(WorkerId),
    /// It is told to end, or said that it does; its link is ended then at the latest.
    Leaving(Tick),
}

impl WorkerSession {
    /// A link that is there since `now`; `heard` is the same moment by the clock of attention.
    pub(super) fn new(protocol: u16, now: Tick, heard: Tick, greet_until: Tick) -> Self {
        Self {
            state: SessionState::Greeting(greet_until),
            protocol,
            heartbeat: Span::ZERO,
            heard,
            said: now,
            reports: 0,
            violations: 0,
            queue: Withheld::default(),
            acks: Withheld::default(),
            outbox: vec![],
        }
    }

    /// Tells it `message` once everything up to `after` is safe, in order.
    pub(super) fn tell(&mut self, message: ToWorker, after: Seq, durable: Seq) {
        if self.queue.is_empty() && after <= durable {
            self.outbox.push(message);
        } else {
            self.queue.push(after, message);
        }
    }

    /// Acknowledges a report once everything up to `after` is safe.
    pub(super) fn acknowledge(&mut self, report: u64, after: Seq) {
        self.acks.push(after, report);
    }

    /// A sign of life, which waits for nothing.
    pub(super) fn signal(&mut self) {
        self.outbox.push(ToWorker::Heartbeat);
    }

    /// Lets go what need not wait any more.
    pub(super) fn release(&mut self, durable: Seq) {
        while let Some(message) = self.queue.pop(durable) {
            self.outbox.push(message);
        }
        let mut last = None;
        while let Some(report) = self.acks.pop(durable) {
            last = Some(report);
        }
        self.outbox.extend(last.map(|seq| ToWorker::Ack { seq }));
    }

    /// Nothing more becomes safe: work that waits for that is dropped, what stands behind it goes on.
    pub(super) fn abandon_unsafe(&mut self, durable: Seq) {
        let queue = self.queue.take_all().into_iter();
        self.outbox.extend(queue.filter_map(|(after, message)| (after <= durable).then_some(message)));
    }

    /// The last word: all others are moot.
    pub(super) fn stop(&mut self, reason: LossReason) {
        self.hush();
        self.outbox.push(ToWorker::Stop { reason });
    }

    /// Nothing is told any more.
    pub(super) fn hush(&mut self) {
        self.queue.take_all();
        self.acks.take_all();
        self.outbox.clear();
    }

    /// Whether something waits to become safe.
    pub(super) fn is_waiting(&self) -> bool {
        !self.queue.is_empty() || !self.acks.is_empty()
    }

    /// Takes what is to be told.
    pub(super) fn take_outbox(&mut self) -> Vec<ToWorker> {
        std::mem::take(&mut self.outbox)
    }
}

/// The links to workers.
#[derive(Debug, Default)]
pub(super) struct Workers {
    pub(super) links: BTreeMap<LinkId, WorkerSession>,
    /// Workers that are there.
    pub(super) by_id: BTreeMap<WorkerId, LinkId>,
    /// When to look after which link; at most one entry per link, never later than needed.
    agenda: BTreeSet<(Tick, LinkId)>,
    planned: BTreeMap<LinkId, Tick>,
}

impl Workers {
    /// The session of a worker that is there.
    pub(super) fn session(&mut self, worker: WorkerId) -> Option<(LinkId, &mut WorkerSession)> {
        let link = *self.by_id.get(&worker)?;
        self.links.get_mut(&link).map(|session| (link, session))
    }

    /// Looks after `link` at `at`, and not at the time planned before.
    pub(super) fn plan(&mut self, link: LinkId, at: Tick) {
        self.unplan(link);
        self.planned.insert(link, at);
        self.agenda.insert((at, link));
    }

    fn unplan(&mut self, link: LinkId) {
        if let Some(before) = self.planned.remove(&link) {
            self.agenda.remove(&(before, link));
        }
    }

    /// The next link whose time has come, once.
    pub(super) fn due(&mut self, now: Tick) -> Option<LinkId> {
        let (_, link) = *self.agenda.first().filter(|(at, _)| *at <= now)?;
        self.unplan(link);
        Some(link)
    }

    /// When the next link has to be looked after.
    pub(super) fn next_due(&self) -> Option<Tick> {
        self.agenda.first().map(|(at, _)| *at)
    }

    /// Forgets a link; says which worker was there.
    pub(super) fn remove(&mut self, link: LinkId) -> Option<(WorkerSession, Option<WorkerId>)> {
        self.unplan(link);
        let session = self.links.remove(&link)?;
        let worker = match session.state {
            SessionState::Joined(worker) => self.by_id.remove(&worker).map(|_| worker),
            SessionState::Greeting(_) | SessionState::Leaving(_) => None,
        };
        Some((session, worker))
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{Epoch, GrantId};

    use super::*;

    fn go_on(n: u32) -> ToWorker {
        ToWorker::GoOn { grant: GrantId { epoch: Epoch(1), n } }
    }

    #[test]
    fn messages_keep_their_order_and_acks_overtake_them() {
        let mut session = WorkerSession::new(2, Tick(0), Tick(0), Tick(9));
        session.tell(go_on(1), Seq(0), Seq(3));
        session.tell(go_on(2), Seq(5), Seq(3));
        session.tell(go_on(3), Seq(0), Seq(3));
        session.acknowledge(1, Seq(3));
        session.acknowledge(2, Seq(4));
        session.acknowledge(3, Seq(9));
        session.release(Seq(4));
        assert_eq!(session.take_outbox(), [go_on(1), ToWorker::Ack { seq: 2 }], "the latest of two is enough");
        session.release(Seq(5));
        assert_eq!(session.take_outbox(), [go_on(2), go_on(3)]);
        assert!(session.is_waiting(), "the third report");
    }

    #[test]
    fn a_failed_journal_holds_up_only_what_is_not_safe() {
        let mut session = WorkerSession::new(2, Tick(0), Tick(0), Tick(9));
        session.tell(go_on(1), Seq(5), Seq(3));
        session.tell(go_on(2), Seq(0), Seq(3));
        session.abandon_unsafe(Seq(3));
        assert_eq!(session.take_outbox(), [go_on(2)]);
    }

    #[test]
    fn a_link_is_planned_once() {
        let mut workers = Workers::default();
        workers.plan(LinkId(1), Tick(5));
        workers.plan(LinkId(1), Tick(8));
        workers.plan(LinkId(2), Tick(7));
        assert_eq!((workers.due(Tick(6)), workers.next_due()), (None, Some(Tick(7))));
        assert_eq!(
            (workers.due(Tick(8)), workers.due(Tick(8)), workers.due(Tick(8))),
            (Some(LinkId(2)), Some(LinkId(1)), None)
        );
        assert_eq!(workers.next_due(), None);
    }
}
