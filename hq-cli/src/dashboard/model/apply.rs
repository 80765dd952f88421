use std::collections::BTreeMap;

use hq_core::{JobId, JobInfo, QueueInfo, WallTime};

use super::{LINES_MAX, Model, News, Sight, Source, list::moved};
use crate::view::all_ids;

/// Queues, and machines, that are kept.
const FEW_MAX: usize = 1_000;

impl Model {
    /// Time passes.
    pub(crate) fn tick(&mut self, now: WallTime) {
        if matches!(self.source, Source::Live { .. }) {
            self.timeline.reach(None, now);
        }
    }

    /// Takes what was seen. What shows another moment than the one that is looked at goes into the curves alone.
    pub(crate) fn see(&mut self, news: News) {
        let News { of, sight } = news;
        let shown = of.is_some() == self.moment().is_some();
        match sight {
            Sight::Jobs { at, whole, lines, gone } => {
                if of.is_none() {
                    self.record(at, whole, &lines);
                }
                if shown {
                    self.see_jobs(whole, lines, &gone);
                }
            }
            Sight::Sample(points) => {
                points.into_iter().for_each(|(at, job, counts)| self.history.job(at, job, counts));
            }
            Sight::Hardware(worker, state) => {
                self.history.load(worker, &state);
                if shown && self.hardware.get(&worker).is_none_or(|known| known.at <= state.at) {
                    self.hardware.insert(worker, state);
                    bound(&mut self.hardware);
                }
            }
            Sight::Reach(first, last) => {
                self.timeline.reach(Some(first), last);
                if self.source == Source::Replay {
                    self.timeline.whole();
                }
            }
            Sight::QueueChanged { queue, at, removed } => {
                let line = self.queues.entry(queue).or_default();
                *(if removed { &mut line.removed } else { &mut line.created }) = Some(at);
                bound(&mut self.queues);
            }
            Sight::Message(text) => self.message = text,
            _ if !shown => {}
            Sight::Job(detail) if Some(detail.info.id) == self.job => {
                self.ids = all_ids(&detail);
                self.task = moved(self.task, 0, self.ids.len());
                self.detail = Some(detail);
            }
            Sight::Job(_) => {}
            Sight::Workers(lines) => {
                if of.is_some() {
                    // Machines as they were follow.
                    self.hardware.clear();
                }
                self.workers = lines.into_iter().map(|worker| (worker.id, worker)).collect();
                let chosen = self.worker.filter(|worker| self.workers.contains_key(worker));
                self.choose_worker(chosen.or_else(|| self.workers.keys().next().copied()));
            }
            Sight::Running { worker, tasks } => {
                if Some(worker) == self.worker {
                    self.running = tasks;
                }
            }
            Sight::Queues(infos) => self.see_queues(infos),
            Sight::Allocations(queue, mut lines) => {
                if let Some(line) = self.queues.get_mut(&queue) {
                    line.allocations = Some(lines.len());
                }
                if Some(queue) == self.queue {
                    // The latest come first.
                    lines.reverse();
                    self.allocations = lines;
                    self.allocation = moved(self.allocation, 0, self.allocations.len() as u64);
                }
            }
        }
    }

    fn record(&mut self, at: WallTime, whole: bool, lines: &[JobInfo]) {
        // What had ended before anybody looked is no rate.
        let more = lines.iter().map(|job| self.history.fresh(job, whole)).fold(0, u64::saturating_add);
        self.history.ended(at, more);
        for job in lines {
            self.history.job(at, job.id, job.counts);
        }
    }

    fn see_jobs(&mut self, whole: bool, lines: Vec<JobInfo>, gone: &[JobId]) {
        if whole {
            self.jobs.clear();
        }
        gone.iter().for_each(|job| drop(self.jobs.remove(job)));
        self.jobs.extend(lines.into_iter().map(|job| (job.id, job)));
        while self.jobs.len() > LINES_MAX as usize {
            self.jobs.pop_first();
        }
        let chosen = self.job.filter(|job| self.jobs.contains_key(job));
        self.choose_job(chosen.or_else(|| self.jobs.keys().next_back().copied()));
        if let Some(detail) = &mut self.detail
            && let Some(line) = self.jobs.get(&detail.info.id)
        {
            detail.info = line.clone();
        }
    }

    fn see_queues(&mut self, infos: Vec<QueueInfo>) {
        for line in self.queues.values_mut() {
            // What was removed is shown as it was last known.
            if line.removed.is_none() && line.created.is_none() {
                line.info = None;
            }
        }
        self.queues.retain(|_, line| line.info.is_some() || line.created.is_some());
        for info in infos {
            let line = self.queues.entry(info.id).or_default();
            line.info = Some(info);
        }
        bound(&mut self.queues);
        let chosen = self.queue.filter(|queue| self.queues.contains_key(queue));
        self.choose_queue(chosen.or_else(|| self.queues.keys().next().copied()));
    }
}

fn bound<K: Ord, V>(lines: &mut BTreeMap<K, V>) {
    while lines.len() > FEW_MAX {
        lines.pop_first();
    }
}
