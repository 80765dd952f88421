use std::sync::Arc;

use hq_core::{Epoch, Fact, LinkId, Record, Refusal, Seq, Tick};
use hq_journal::{AppendError, Journal, Keep, OnCondensed, Urgency};
use hq_node::{ServerInput, ServerNode, ServerOutput};

use super::{Signals, clock::Clock, signals::JournalLost};

/// The server machine with its clock and its journal.
pub(super) struct Machine {
    node: ServerNode,
    clock: Clock,
    journal: Option<Box<dyn Journal>>,
    signals: Arc<Signals>,
    epoch: Epoch,
    /// Number of the next record.
    next: Seq,
    /// What is known to be safe.
    durable: Seq,
}

/// What the machine wants of the world, less what concerns the journal.
pub(super) type Order = ServerOutput;

impl Machine {
    pub(super) fn new(node: ServerNode, journal: Option<Box<dyn Journal>>, signals: Arc<Signals>) -> Self {
        let clock = Clock::starting_at(node.boot_tick());
        Self { node, clock, journal, signals, epoch: Epoch(0), next: Seq(1), durable: Seq(0) }
    }

    /// The present, once per batch of inputs.
    pub(super) fn now(&self) -> Tick {
        self.clock.now()
    }

    pub(super) fn tell(&mut self, now: Tick, input: ServerInput) {
        self.node.handle_input(now, input);
    }

    /// A link is gone, cleanly or not.
    pub(super) fn tell_down(&mut self, now: Tick, link: LinkId) {
        self.tell(now, ServerInput::LinkDown { link });
    }

    /// Hands on what the signals say; says whether they said anything.
    pub(super) fn hear_signals(&mut self, now: Tick) {
        // In this order, so that what became safe before the failure counts.
        let loss = self.signals.take_journal_loss();
        let durable = self.signals.durable();
        if durable > self.durable {
            self.durable = durable;
            self.tell(now, ServerInput::Durable { seq: durable });
        }
        if let Some(JournalLost { reason, is_taken }) = loss {
            let news = if is_taken {
                tracing::error!("{reason}");
                ServerInput::JournalTaken { reason }
            } else {
                tracing::error!("{}", Refusal::JournalFailed(reason.clone()));
                ServerInput::JournalFailed { reason }
            };
            self.tell(now, news);
        }
        if self.signals.take_interrupt() {
            self.tell(now, ServerInput::Interrupted);
        }
    }

    /// Lets the machine's timers run that are due.
    pub(super) fn pass_time(&mut self, now: Tick) {
        if self.node.poll_timeout().is_some_and(|at| at <= now) {
            self.node.handle_timeout(now);
        }
    }

    /// The next thing to do; appends are done in here.
    pub(super) fn poll(&mut self) -> Option<Order> {
        loop {
            match self.node.poll_output()? {
                ServerOutput::Append { first_seq, records } => self.append(first_seq, &records),
                order => return Some(order),
            }
        }
    }

    /// When the machine wants to be asked again.
    pub(super) fn timer(&self) -> Option<tokio::time::Instant> {
        self.node.poll_timeout().map(|at| self.clock.instant(at))
    }

    /// Allocations may be asked for from now on.
    pub(super) fn open_scaling(&mut self, place: Option<String>) {
        self.node.open_scaling(place);
    }

    /// Number of the next record, which is that of the next event.
    pub(super) const fn next_seq(&self) -> Seq {
        self.next
    }

    /// Lets the journal leave out what is over.
    pub(super) fn prune(&mut self, done: OnCondensed) {
        match &mut self.journal {
            Some(journal) => journal.condense(Keep::Unfinished, done),
            None => drop(done), // the machine refuses it
        }
    }

    /// Lets go of the journal when everything in it is safe.
    pub(super) async fn close(self) -> Result<(), String> {
        let Some(journal) = self.journal else { return Ok(()) };
        let closed = tokio::task::spawn_blocking(move || journal.close()).await;
        closed.map_err(|e| e.to_string())?.map_err(|e| e.to_string())
    }

    fn append(&mut self, first: Seq, records: &[Record]) {
        self.next = Seq(first.0 + records.len() as u64);
        let boot = records.iter().find_map(|record| match record.fact {
            Fact::Boot { epoch, .. } => Some(epoch),
            _ => None,
        });
        self.epoch = boot.unwrap_or(self.epoch);
        let Some(journal) = &mut self.journal else { return };
        // A failed journal says so once; the machine accepts nothing more then.
        if let Err(e) = journal.append(self.epoch, first, records, Urgency::of(records)) {
            self.signals.lose_journal(e.to_string(), matches!(e, AppendError::TakenOver { .. }));
        }
    }
}
