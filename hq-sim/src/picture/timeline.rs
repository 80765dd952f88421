use std::collections::BTreeMap;

use hq_core::{Amount, ResourceKind, ResourceName, Tick, WorkerId};

use crate::policy::Event;

/// Who ran where, gathered while it happens: give it to [`Simulation::on_event`](crate::policy::Simulation::on_event).
///
/// Bars are kept for few indices and few runs only, and workers as long as they are few; of these it remembers each change of how
/// much is in use.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    pub(super) workers: BTreeMap<WorkerId, Row>,
    /// Bars of a task that runs.
    open: BTreeMap<usize, Vec<(WorkerId, usize)>>,
    /// What a task that runs takes of its workers, by resource of the worker; nothing: all.
    taken: BTreeMap<usize, Vec<(WorkerId, Taken)>>,
    lanes: usize,
    bars: usize,
    /// Workers that were there, all together.
    pub(super) seen: usize,
}

/// Place of a resource, amount in 1/10,000.
type Taken = Vec<(usize, u64)>;

/// A worker.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) host: String,
    pub(super) joined: Tick,
    pub(super) left: Option<Tick>,
    /// Resources with indices, by name, and the first lane of each.
    pub(super) lanes: Vec<(ResourceName, usize)>,
    pub(super) lane_count: usize,
    pub(super) bars: Vec<Bar>,
    /// The largest share of one of its resources that is in use from then on, in 1/10,000.
    pub(super) busy: Vec<(Tick, u64)>,
    names: Vec<ResourceName>,
    totals: Vec<u64>,
    used: Vec<u64>,
}

/// A part of a run: neighbouring indices, or a part of one.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    pub(super) task: usize,
    /// The first of its lanes.
    pub(super) lane: usize,
    pub(super) lanes: usize,
    /// From where to where in the lane, in 1/10,000.
    pub(super) part: (u64, u64),
    pub(super) start: Tick,
    pub(super) end: Option<Tick>,
}

/// Of all workers together.
const LANES_MAX: usize = 160;
const BARS_MAX: usize = 4_000;
const WORKERS_MAX: usize = 128;
const WHOLE: u64 = Amount::PARTS;

impl Timeline {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Something happens.
    pub fn see(&mut self, now: Tick, event: &Event<'_>) {
        match event {
            Event::Joined { worker, config } => {
                self.seen += 1;
                if self.seen > WORKERS_MAX {
                    self.workers.clear();
                    return;
                }
                let row = Row::new(
                    now,
                    &config.hostname,
                    config.resources.resources().iter().map(|def| (&def.name, &def.kind)),
                );
                self.lanes += row.lane_count;
                self.workers.insert(*worker, row);
            }
            Event::Left { worker } => {
                if let Some(row) = self.workers.get_mut(worker) {
                    row.left = Some(now);
                    row.used.fill(0);
                    row.note(now);
                }
            }
            Event::Submitted { .. } => {}
            Event::Started { task, workers, allocation } => {
                for worker in *workers {
                    let Some(row) = self.workers.get_mut(worker) else { continue };
                    let taken = row.take(&allocation.0);
                    row.note(now);
                    self.taken.entry(*task).or_default().push((*worker, taken));
                }
                self.add_bars(now, *task, workers, &allocation.0);
            }
            Event::Ended { task, .. } => {
                for (worker, taken) in self.taken.remove(task).unwrap_or_default() {
                    let Some(row) = self.workers.get_mut(&worker).filter(|row| row.left.is_none()) else { continue };
                    for (resource, parts) in taken {
                        row.used[resource] = row.used[resource].saturating_sub(parts);
                    }
                    row.note(now);
                }
                for (worker, bar) in self.open.remove(task).unwrap_or_default() {
                    let bar = self.workers.get_mut(&worker).and_then(|row| row.bars.get_mut(bar));
                    _ = bar.map(|bar| bar.end = Some(now));
                }
            }
        }
    }

    /// Whether runs are few enough to be drawn one by one.
    pub(super) fn has_bars(&self) -> bool {
        self.lanes <= LANES_MAX && self.bars <= BARS_MAX
    }

    fn add_bars(&mut self, now: Tick, task: usize, workers: &[WorkerId], granted: &[hq_core::GrantedResource]) {
        if !self.has_bars() {
            return;
        }
        for worker in workers {
            let Some(row) = self.workers.get_mut(worker) else { continue };
            let before = row.bars.len();
            row.add_bars(now, task, granted);
            self.bars += row.bars.len() - before;
            self.open.entry(task).or_default().extend((before..row.bars.len()).map(|bar| (*worker, bar)));
        }
    }
}

impl Row {
    fn new<'a>(now: Tick, host: &str, defs: impl Iterator<Item = (&'a ResourceName, &'a ResourceKind)>) -> Self {
        let (mut lanes, mut lane_count, mut names, mut totals) = (vec![], 0, vec![], vec![]);
        for (name, kind) in defs {
            if !matches!(kind, ResourceKind::Sum(_)) {
                lanes.push((name.clone(), lane_count));
                lane_count += kind.total().whole() as usize;
            }
            names.push(name.clone());
            totals.push(kind.total().parts());
        }
        let used = vec![0; names.len()];
        let (host, bars, busy) = (host.to_owned(), vec![], vec![]);
        Self { host, joined: now, left: None, lanes, lane_count, bars, busy, names, totals, used }
    }

    /// Takes it out of what is free; everything for a gang.
    fn take(&mut self, granted: &[hq_core::GrantedResource]) -> Taken {
        let taken: Taken = if granted.is_empty() {
            self.totals.iter().copied().enumerate().collect()
        } else {
            let place = |name: &ResourceName| self.names.iter().position(|known| known == name);
            granted.iter().filter_map(|one| Some((place(&one.resource)?, one.amount.parts()))).collect()
        };
        for (resource, parts) in &taken {
            self.used[*resource] += parts;
        }
        taken
    }

    fn note(&mut self, now: Tick) {
        let shares = self.used.iter().zip(&self.totals).map(|(used, total)| used.saturating_mul(WHOLE) / total.max(&1));
        let share = shares.max().unwrap_or(0);
        match self.busy.last_mut() {
            Some((at, last)) if *at == now => *last = share,
            Some((_, last)) if *last == share => {}
            _ => self.busy.push((now, share)),
        }
    }

    fn add_bars(&mut self, start: Tick, task: usize, granted: &[hq_core::GrantedResource]) {
        let bar = |lane, lanes, part| Bar { task, lane, lanes, part, start, end: None };
        if granted.is_empty() {
            self.bars.push(bar(0, self.lane_count, (0, WHOLE)));
            return;
        }
        for one in granted {
            let Some((_, first)) = self.lanes.iter().find(|(name, _)| *name == one.resource) else { continue };
            let first = *first;
            for piece in &one.pieces {
                let lane = first + piece.index as usize;
                let parts = piece.amount.parts();
                if parts < WHOLE {
                    let at = self.room(lane, parts);
                    self.bars.push(bar(lane, 1, (at, at + parts)));
                    continue;
                }
                match self.bars.last_mut() {
                    Some(last)
                        if last.task == task
                            && last.start == start
                            && last.lane + last.lanes == lane
                            && last.lane >= first
                            && last.part == (0, WHOLE) =>
                    {
                        last.lanes += 1;
                    }
                    _ => self.bars.push(bar(lane, 1, (0, WHOLE))),
                }
            }
        }
    }

    /// The lowest gap among the parts of a lane that are in use; the end of the lane where parts lie badly.
    fn room(&self, lane: usize, parts: u64) -> u64 {
        let in_use = self.bars.iter().filter(|bar| bar.lane == lane && bar.end.is_none());
        let mut in_use: Vec<(u64, u64)> = in_use.map(|bar| bar.part).collect();
        in_use.sort_unstable();
        let mut at = 0;
        for (from, to) in in_use {
            if from >= at + parts {
                return at;
            }
            at = at.max(to);
        }
        at.min(WHOLE - parts.min(WHOLE))
    }
}
