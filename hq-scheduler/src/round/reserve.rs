//! Reservations: when what is blocked can start, as far as estimates tell, and what does not delay that.

use std::{collections::BTreeSet, sync::Arc};

use hq_core::{Request, Span, Tick, WorkerId};

use super::{
    blocked::{Asker, Blockers},
    lanes::has_time,
    timeline::{Booking, Need},
};
use crate::{Scheduler, policy::Rank, pool::Pools, state::QueueKey};

/// A place and a time for the first task of a blocked queue.
#[derive(Clone, Debug)]
pub(super) struct Reservation {
    pub(super) rank: Rank,
    pub(super) key: QueueKey,
    pub(super) workers: BTreeSet<WorkerId>,
    pub(super) booking: Booking,
}

impl Scheduler {
    /// Reserves the place where the first task of a queue can start first, where one of the workers ever can run it.
    pub(super) fn reserve(&self, now: Tick, blockers: &mut Blockers, key: QueueKey, rank: Rank) {
        let est = self.expected_run_of(key);
        let place = if self.state.classes.get(key.class).is_gang() {
            self.gang_place(now, blockers, key, est)
        } else {
            self.single_place(now, blockers, key, est)
        };
        if let Some((workers, booking)) = place {
            blockers.reservations.push(Reservation { rank, key, workers, booking });
        }
    }

    /// How long the first task of a queue runs, as far as somebody said or it was measured.
    pub(super) fn expected_run_of(&self, key: QueueKey) -> Option<Span> {
        key.estimate.or_else(|| self.expected_run(self.state.ready.get(&key)?.first()?))
    }

    /// The worker where it can start first; of several the one of lowest id.
    fn single_place(
        &self,
        now: Tick,
        blockers: &Blockers,
        key: QueueKey,
        est: Option<Span>,
    ) -> Option<(BTreeSet<WorkerId>, Booking)> {
        let mut best: Option<(WorkerId, Booking)> = None;
        for worker in self.mind.makes.capable_in_order(key.class) {
            if !self.could_give(now, &blockers.gives, worker, key.class) {
                continue;
            }
            let Some(known) = self.state.workers.get(&worker) else { continue };
            let timeline = self.timeline(now, worker);
            let booked = blockers.booked(worker);
            for request in &self.state.classes.get(key.class).requests {
                let before = best.as_ref().map(|(_, booking)| booking.at);
                let lasts = |at: Tick| has_time(known.deadline(), at, request.min_time());
                let found = timeline.first_fit(&known.pools, &booked, request, est, before, &lasts);
                best = found.map(|booking| (worker, booking)).or(best);
            }
        }
        best.map(|(worker, booking)| (BTreeSet::from([worker]), booking))
    }

    /// The workers of one group that are idle first.
    fn gang_place(
        &self,
        now: Tick,
        blockers: &Blockers,
        key: QueueKey,
        est: Option<Span>,
    ) -> Option<(BTreeSet<WorkerId>, Booking)> {
        let nodes = self.state.classes.get(key.class).nodes() as usize;
        let mut best: Option<(Tick, BTreeSet<WorkerId>)> = None;
        for members in self.groups(now, key.class, |_, _| true).into_values() {
            let idle_at = |worker: WorkerId| {
                let booked = blockers.booked(worker).iter().map(|booking| booking.until).max();
                (self.timeline(now, worker).idle_at(now).max(booked.unwrap_or(now)), worker)
            };
            let mut members: Vec<(Tick, WorkerId)> = members.into_iter().map(idle_at).collect();
            members.sort_unstable();
            let Some((at, _)) = nodes.checked_sub(1).and_then(|last| members.get(last).copied()) else { continue };
            if best.as_ref().is_none_or(|(before, _)| at < *before) {
                best = Some((at, members.into_iter().take(nodes).map(|(_, worker)| worker).collect()));
            }
        }
        best.map(|(at, workers)| (workers, Booking::new(at, est, Need::Whole)))
    }

    /// Whether one more task of a queue can start on a worker, whose free state is `pools`, without delaying what has a
    /// reservation there. Whichever variant fits now must not.
    pub(super) fn keeps_reservations(&self, asker: Asker, blockers: &mut Blockers, pools: &Pools) -> bool {
        let Asker { now, queue, worker, .. } = asker;
        let booked = blockers.booked(worker);
        let end = self.expected_run_of(queue).map(|est| now.after(est));
        if ends_before(end, &booked) {
            return true;
        }
        let timeline = blockers.timelines.entry(worker).or_insert_with(|| self.timeline(now, worker));
        self.add_new_lanes(now, worker, timeline);
        let requests: &[Arc<Request>] = &self.state.classes.get(queue.class).requests;
        let mut fitting = requests.iter().filter_map(|request| pools.allocate(request));
        fitting.all(|allocation| {
            let mut rest = pools.clone();
            rest.take(&allocation) && timeline.keeps(&rest, &booked, end.map(|end| (end, &allocation)))
        })
    }

    /// The same for a gang, which takes the whole worker.
    pub(super) fn gang_keeps_reservations(&self, asker: Asker, blockers: &Blockers) -> bool {
        let end = self.expected_run_of(asker.queue).map(|est| asker.now.after(est));
        ends_before(end, &blockers.booked(asker.worker))
    }
}

/// Whether something that is expected to end then ends before anything that is booked. What is booked for a time that
/// nobody knows must not be delayed by any number of short ones.
fn ends_before(end: Option<Tick>, booked: &[Booking]) -> bool {
    let first = booked.iter().map(|booking| booking.at).min();
    first.is_none_or(|first| first < Tick(u64::MAX) && end.is_some_and(|end| end <= first))
}
