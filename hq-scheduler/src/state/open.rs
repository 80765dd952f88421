//! Many lanes in one fact: workers that are alike get alike, which is worked out for one of them.

use std::sync::Arc;

use hq_core::{GrantId, OpenedLane, OpenedLanes, Tick};

use super::{Effects, Grant, State, queue::TaskQueue};
use crate::pool::Pools;

impl State {
    /// The same as if they were opened one by one; none of a gang.
    pub(super) fn open_lanes(&mut self, at: Tick, lanes: &OpenedLanes, fx: &mut Effects) -> Result<(), String> {
        let first = lanes.first;
        if !lanes.is_sound() {
            return Err(format!("the lanes from grant {first} on are damaged"));
        }
        self.leave_queues(first, &lanes.tasks, fx)?;
        let class = self.class_of(first, &lanes.tasks)?;
        self.take_for(lanes)?;
        let grant = |lane: OpenedLane<'_>| Grant {
            worker: lane.worker,
            others: vec![],
            class,
            variant: lane.variant,
            allocation: Arc::clone(lane.allocation),
            opened: at,
            tasks: TaskQueue::one(lane.task),
            running: None,
        };
        self.classes.hold_all(class, lanes.workers.len());
        self.grants.insert_run(first, lanes.iter().map(grant));
        self.last_grant = first.n + (lanes.workers.len() - 1) as u32;
        Ok(())
    }

    /// Takes what the lanes get from their workers.
    fn take_for(&mut self, lanes: &OpenedLanes) -> Result<(), String> {
        let name = |at: usize| GrantId { n: lanes.first.n + at as u32, ..lanes.first };
        let mut last: Option<Taken> = None;
        for own in lanes.by_worker().chunk_by(|a, b| a.0 == b.0) {
            let Some((id, newest)) = own.last().copied() else { continue };
            let worker = self.workers.get_mut(&id).ok_or_else(|| format!("worker {id} does not exist"))?;
            let shapes = own.iter().map(|(_, at)| lanes.shape_of[*at]);
            match &last {
                Some(last) if last.shapes.iter().copied().eq(shapes.clone()) && last.before == worker.pools => {
                    worker.pools.clone_from(&last.after);
                }
                _ => {
                    let before = worker.pools.clone();
                    for (shape, (_, at)) in shapes.clone().zip(own) {
                        if !worker.pools.take(&lanes.shapes[shape as usize].1) {
                            return Err(format!("worker {id} does not have free what grant {} takes", name(*at)));
                        }
                    }
                    last = Some(Taken { shapes: shapes.collect(), before, after: worker.pools.clone() });
                }
            }
            let names = own.iter().map(|(_, at)| name(*at));
            if worker.grants.is_empty() {
                worker.grants = names.collect();
            } else {
                worker.grants.extend(names);
            }
            worker.last_lane = Some(name(newest));
        }
        Ok(())
    }
}

/// What was taken from a worker.
struct Taken {
    shapes: Vec<u32>,
    before: Pools,
    after: Pools,
}
