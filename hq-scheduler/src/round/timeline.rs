//! What is expected to happen on one worker.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use hq_core::{Allocation, GrantId, Request, Span, Tick, WorkerId};

use crate::{Scheduler, pool::Pools, state::Grant};

/// A time that nobody knows: after all others.
const NEVER: Tick = Tick(u64::MAX);

/// When what runs on a worker is expected to end.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// By time.
    ends: BTreeMap<Tick, Vec<Allocation>>,
    /// A gang has the worker until then.
    taken_until: Option<Tick>,
    last: Option<GrantId>,
}

/// Room that is promised from `at` on.
#[derive(Clone, Debug)]
pub(super) struct Booking {
    pub(super) at: Tick,
    pub(super) until: Tick,
    pub(super) need: Need,
}

#[derive(Clone, Debug)]
pub(super) enum Need {
    /// What a request takes.
    Part(Arc<Request>),
    /// The whole worker.
    Whole,
}

impl Booking {
    pub(super) fn new(at: Tick, est: Option<Span>, need: Need) -> Self {
        Self { at, until: est.map_or(NEVER, |est| at.after(est)), need }
    }
}

impl Timeline {
    /// When nothing runs there any more.
    pub(super) fn idle_at(&self, now: Tick) -> Tick {
        let last = self.ends.last_key_value().map(|(end, _)| *end);
        last.into_iter().chain(self.taken_until).fold(now, Tick::max)
    }

    /// The first time, before `before`, from which on a request fits for `est` beside all that is booked; `lasts` says
    /// whether the worker lives long enough from then on.
    pub(super) fn first_fit(
        &self,
        pools: &Pools,
        booked: &[Booking],
        request: &Arc<Request>,
        est: Option<Span>,
        before: Option<Tick>,
        lasts: &dyn Fn(Tick) -> bool,
    ) -> Option<Booking> {
        let mut times: Vec<Tick> = self.ends.keys().copied().chain(self.taken_until).collect();
        times.extend(booked.iter().map(|booking| booking.until));
        times.sort_unstable();
        times.dedup();
        let mut pools_then = pools.clone();
        let mut ends = self.ends.iter().peekable();
        for at in times.into_iter().filter(|at| self.taken_until.is_none_or(|until| until <= *at)) {
            if before.is_some_and(|before| before <= at) || !lasts(at) {
                return None;
            }
            release_until(&mut pools_then, &mut ends, at);
            if pools_then.allocate(request).is_none() {
                continue;
            }
            let booking = Booking::new(at, est, Need::Part(Arc::clone(request)));
            if booked.is_empty() {
                return Some(booking);
            }
            let mut all = booked.to_vec();
            all.push(booking.clone());
            if self.keeps(pools, &all, None) {
                return Some(booking);
            }
        }
        None
    }

    /// Whether all that is booked gets its room at its time, if from now on no more is free than `pools`, and what
    /// `started` just now ends when it is expected to.
    pub(super) fn keeps(&self, pools: &Pools, booked: &[Booking], started: Option<(Tick, &Allocation)>) -> bool {
        let mut pools = pools.clone();
        let mut ends = self.ends.iter().peekable();
        // What ends of all that starts from now on; nothing of it counts where the time of a booking is not known.
        let mut later: Vec<(Tick, Allocation)> =
            started.into_iter().map(|(end, allocation)| (end, allocation.clone())).collect();
        let mut taken_until = self.taken_until;
        let mut booked: Vec<&Booking> = booked.iter().collect();
        booked.sort_by_key(|booking| booking.at);
        for booking in booked {
            release_until(&mut pools, &mut ends, booking.at);
            if booking.at < NEVER {
                later.retain(|(end, allocation)| *end > booking.at || !pools.release(allocation));
            }
            if taken_until.is_some_and(|until| until > booking.at) {
                return false;
            }
            match &booking.need {
                Need::Whole if pools.is_idle() => taken_until = Some(booking.until),
                Need::Whole => return false,
                Need::Part(request) => match pools.allocate(request) {
                    Some(allocation) if pools.take(&allocation) => later.push((booking.until, allocation)),
                    _ => return false,
                },
            }
        }
        true
    }
}

type Ends<'a> = std::iter::Peekable<std::collections::btree_map::Iter<'a, Tick, Vec<Allocation>>>;

fn release_until(pools: &mut Pools, ends: &mut Ends<'_>, at: Tick) {
    while let Some((_, allocations)) = ends.next_if(|(end, _)| **end <= at) {
        for allocation in allocations {
            pools.release(allocation);
        }
    }
}

impl Scheduler {
    pub(super) fn timeline(&self, now: Tick, worker: WorkerId) -> Timeline {
        let mut timeline = Timeline::default();
        let gang = self.state.workers.get(&worker).and_then(|known| self.state.grants.get(&known.gang?));
        timeline.taken_until = gang.map(|gang| self.expected_end(now, gang));
        self.add_new_lanes(now, worker, &mut timeline);
        timeline
    }

    /// Adds the lanes that were opened since.
    pub(super) fn add_new_lanes(&self, now: Tick, worker: WorkerId, timeline: &mut Timeline) {
        let Some(known) = self.state.workers.get(&worker) else { return };
        let from = timeline.last.map_or(Bound::Unbounded, Bound::Excluded);
        for grant in known.grants.range((from, Bound::Unbounded)) {
            let Some(lane) = self.state.grants.get(grant) else { continue };
            timeline.ends.entry(self.expected_end(now, lane)).or_default().push((*lane.allocation).clone());
            timeline.last = Some(*grant);
        }
    }

    /// When the last task of a lane has run for as long as expected. What has run for longer ends in a moment.
    fn expected_end(&self, now: Tick, lane: &Grant) -> Tick {
        let soon = now.after(Span(1));
        let Some(end) = self.expected_end_of_running(now, lane) else { return NEVER };
        let mut end = if end < now { soon } else { end };
        for range in lane.backlog() {
            for (_, part) in self.state.split_by_submit(range) {
                let Some(est) = self.expected_run(part.start) else { return NEVER };
                end = end.after(est.times(part.len));
            }
        }
        end
    }

    /// When what runs in a lane has run for as long as expected, which may be over; nothing where nobody knows.
    pub(super) fn expected_end_of_running(&self, now: Tick, lane: &Grant) -> Option<Tick> {
        let Some(running) = lane.running else { return Some(now) };
        let start = self.state.records.get(running).map_or(now, |entry| entry.start);
        Some(start.after(self.expected_run(running)?))
    }

    /// How long a task runs, as far as somebody said or it was measured.
    pub(crate) fn expected_run(&self, task: hq_core::Ordinal) -> Option<Span> {
        let (base, submit) = self.state.submit_of(task)?;
        submit.key(task.0 - base.0).estimate.or_else(|| self.mind.mean_run.get(&base).copied())
    }
}
