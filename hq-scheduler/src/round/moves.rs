//! When the passing of time alone makes room: what is reserved for when something ends moves if it does not, and the order of
//! queues may depend on the present.

use hq_core::{Span, Tick};

use crate::{Scheduler, state::QueueKey};

impl Scheduler {
    /// Has all queues looked at again if it is time.
    pub(crate) fn look_again(&mut self, now: Tick) {
        if self.mind.moves_at.take_if(|at| *at <= now).is_some() {
            self.mind.dirty_queues.extend(self.state.ready.keys().copied());
            self.mind.needs_round = true;
        }
    }

    /// The next such moment.
    pub(super) fn next_move(&mut self, now: Tick) -> Option<Tick> {
        let delay = self.next_delay(now);
        let order = self.policies.order();
        let change = |key: &QueueKey| order.changes_at(&self.queue_view(now, *key)?);
        let changes = if order.keeps_ranks() { None } else { self.state.ready.keys().filter_map(change).min() };
        delay.into_iter().chain(changes).filter(|at| now < *at).min()
    }

    /// When something is late for the sake of whose end a place is held. What is late already moves all that waits for it along.
    ///
    /// Looks at all lanes, as what ends anywhere may be late: these count.
    fn next_delay(&mut self, now: Tick) -> Option<Tick> {
        let reserved = || self.mind.held.iter().filter_map(|(key, held)| Some((*key, held.at?)));
        reserved().next()?;
        self.mind.effort.lanes += self.state.grants.len() as u64;
        let soon = now.after(Span(1));
        let moving = reserved().filter(|(_, at)| *at <= soon).filter_map(|(key, _)| self.expected_run_of(key));
        let moving: Vec<Span> = if self.policies.order().reservations() > 1 { moving.collect() } else { vec![] };
        let running = self.state.grants.values().filter(|lane| lane.running.is_some());
        let ends = running.filter_map(|lane| self.expected_end_of_running(now, lane));
        let moments = ends.filter(|end| now <= *end).flat_map(|end| {
            // What moves along reaches what others are expected to end by.
            let met = moving.iter().flat_map(move |run| [end.before(*run).before(Span(1)), end.before(*run)]);
            met.chain([end.after(Span(1))])
        });
        moments.filter(|at| now < *at).min()
    }
}
