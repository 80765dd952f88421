//! Lanes for places that were chosen: opened together, told to each worker together.

use std::{collections::BTreeMap, sync::Arc};

use hq_core::{
    Allocation, Fact, GrantId, Open, OpenLane, OpenLanes, OpenedLanes, Ordinal, OrdinalRange, Tick, ToWorker, WorkerId,
};

use super::slots::Slot;
use crate::{
    Action, Scheduler,
    state::{Effects, QueueKey, Worker},
};

/// A lane that was opened, and its first task.
struct Lane {
    grant: GrantId,
    slot: Slot,
    head: Ordinal,
}

impl Scheduler {
    /// Tasks go to the lanes turn by turn, so that those of low number start everywhere first; then the backlogs.
    pub(super) fn open_lanes(&mut self, now: Tick, key: QueueKey, mut slots: Vec<Slot>, budget: u64) {
        if slots.is_empty() {
            return;
        }
        slots.sort_by_key(Slot::order);
        let mut fx = Effects::default();
        let lanes = self.open_with_heads(now, key, slots, &mut fx);
        let opened = lanes.len() as u64;
        // Beyond the budget others may be next.
        let mut rest = budget.saturating_sub(opened);
        let mut lanes = lanes.into_iter();
        let mut plain = Vec::new();
        for lane in lanes.by_ref() {
            let share = self.state.ready.get(&key).map_or(0, |set| set.len()) / (2 * opened.max(1));
            let more = self.peek(key, self.backlog_room(key).min(share).min(rest));
            rest -= more.iter().map(|range| range.len).sum::<u64>();
            if more.is_empty() {
                plain.push(lane);
                break; // Nor do the others get more.
            }
            self.emit(now, Fact::GrantExtended { grant: lane.grant, tasks: more.clone() }, &mut fx);
            self.send_open(now, key, &lane, &[vec![OrdinalRange::one(lane.head)], more].concat());
        }
        plain.extend(lanes);
        self.send_opens(now, key, plain);
    }

    /// Opens a lane for each place with a task of the queue.
    fn open_with_heads(&mut self, now: Tick, key: QueueKey, slots: Vec<Slot>, fx: &mut Effects) -> Vec<Lane> {
        let mut lanes = Vec::with_capacity(slots.len());
        let mut slots = slots.into_iter().peekable();
        while slots.peek().is_some() {
            let wanted = u32::try_from(slots.len()).unwrap_or(u32::MAX);
            let (first, n) = self.state.next_grants(wanted);
            let tasks = self.peek(key, n.into());
            let names = (first.n..=u32::MAX).map(|n| GrantId { n, ..first });
            let heads = tasks.iter().flat_map(|range| range.iter());
            let before = lanes.len();
            // Slots last: none is lost where the others end.
            lanes.extend(names.zip(heads).zip(&mut slots).map(|((grant, head), slot)| Lane { grant, slot, head }));
            let Some(fact) = opened(&lanes[before..], tasks) else { break };
            self.emit(now, fact, fx);
        }
        lanes
    }

    /// Tells workers of lanes that have one task each, each worker of all of its own.
    fn send_opens(&mut self, now: Tick, key: QueueKey, lanes: Vec<Lane>) {
        let workers: Vec<WorkerId> = lanes.iter().map(|lane| lane.slot.worker).collect();
        for own in WorkerId::sorted(&workers).chunk_by(|a, b| a.0 == b.0) {
            let mut own: Vec<&Lane> = own.iter().map(|(_, at)| &lanes[*at]).collect();
            own.sort_by_key(|lane| lane.slot.variant);
            for lanes in own.chunk_by(|a, b| a.slot.variant == b.slot.variant) {
                if lanes.len() > 1 && self.are_alike(lanes) {
                    self.send_open_lanes(now, key, lanes);
                } else {
                    lanes.iter().for_each(|lane| self.send_open(now, key, lane, &[OrdinalRange::one(lane.head)]));
                }
            }
        }
    }

    /// Whether the tasks are of one submit, and of its body have no part of their own.
    fn are_alike(&self, lanes: &[&Lane]) -> bool {
        let (Some(first), Some(last)) = (lanes.first(), lanes.last()) else { return false };
        let Some((base, submit)) = self.state.submit_of(first.head) else { return false };
        // Heads ascend.
        let is_plain = submit.submit.profile_of.is_empty() && submit.submit.parts.is_empty();
        is_plain && last.head.0 - base.0 < submit.len()
    }

    fn send_open_lanes(&mut self, now: Tick, key: QueueKey, lanes: &[&Lane]) {
        let Some(Slot { worker, variant, .. }) = lanes.first().map(|lane| &lane.slot) else { return };
        let (worker, variant) = (*worker, *variant);
        let class = self.state.classes.get(key.class);
        let Some(request) = class.requests.get(usize::from(variant)).cloned() else { return };
        let variants = class.requests.len() as u8;
        self.mind.idle.end(worker);
        let deadline = self.state.workers.get(&worker).and_then(Worker::deadline);
        let limits = lanes.iter().map(|lane| self.limit_lane(lane.grant, deadline, &request));
        let not_after = limits.fold(None, |_, limit| limit).map(|limit| limit.since(now));
        let heads = lanes.iter().map(|lane| lane.head);
        let Some(work) = self.work_of_heads(worker, heads) else { return };
        let open = |(lane, run): (&&Lane, _)| OpenLane {
            grant: lane.grant,
            allocation: Arc::clone(&lane.slot.allocation),
            run,
        };
        let open = OpenLanes {
            request,
            variant,
            variants,
            not_after,
            submit: work.submit,
            time_limit: work.time_limit,
            instances: work.instances,
            lanes: lanes.iter().zip(work.runs).map(open).collect(),
        };
        self.actions.push_back(Action::Send { worker, message: ToWorker::OpenLanes(Box::new(open)) });
    }

    fn send_open(&mut self, now: Tick, key: QueueKey, lane: &Lane, tasks: &[OrdinalRange]) {
        let Lane { grant, slot, .. } = lane;
        let class = self.state.classes.get(key.class);
        let Some(request) = class.requests.get(usize::from(slot.variant)).cloned() else { return };
        let variants = class.requests.len() as u8;
        self.mind.idle.end(slot.worker);
        let deadline = self.state.workers.get(&slot.worker).and_then(Worker::deadline);
        let not_after = self.limit_lane(*grant, deadline, &request);
        let work = self.work_for(slot.worker, tasks);
        let open = Open {
            grant: *grant,
            request,
            variant: slot.variant,
            variants,
            allocation: Arc::clone(&slot.allocation),
            hosts: vec![],
            work,
            not_after: not_after.map(|limit| limit.since(now)),
        };
        self.actions.push_back(Action::Send { worker: slot.worker, message: ToWorker::Open(Box::new(open)) });
    }
}

/// What happened: one fact for all lanes.
fn opened(lanes: &[Lane], tasks: Vec<OrdinalRange>) -> Option<Fact> {
    let Lane { grant: first, slot, .. } = lanes.first()?;
    if lanes.len() == 1 {
        let (workers, allocation) = (vec![slot.worker], Arc::clone(&slot.allocation));
        return Some(Fact::GrantOpened {
            grant: *first,
            workers,
            class: None,
            variant: slot.variant,
            allocation,
            tasks,
        });
    }
    let mut shapes = Shapes::default();
    let shape_of = lanes.iter().map(|lane| shapes.number_of(&lane.slot)).collect();
    let workers = lanes.iter().map(|lane| lane.slot.worker).collect();
    let shapes = shapes.all;
    Some(Fact::GrantsOpened(Box::new(OpenedLanes { first: *first, workers, shapes, shape_of, tasks })))
}

/// What lanes got: workers that are filled alike share it.
#[derive(Default)]
struct Shapes {
    all: Vec<(u8, Arc<Allocation>)>,
    /// Only to find them again: no order comes from it.
    known: BTreeMap<(u8, *const Allocation), u32>,
    last: u32,
}

impl Shapes {
    fn number_of(&mut self, slot: &Slot) -> u32 {
        // Nearly always the same as before.
        let last = self.all.get(self.last as usize);
        if last.is_some_and(|(variant, last)| *variant == slot.variant && *last == slot.allocation) {
            return self.last;
        }
        let all = &mut self.all;
        self.last = *self.known.entry((slot.variant, Arc::as_ptr(&slot.allocation))).or_insert_with(|| {
            all.push((slot.variant, Arc::clone(&slot.allocation)));
            all.len() as u32 - 1
        });
        self.last
    }
}
