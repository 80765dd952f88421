use std::{collections::BTreeMap, fmt};

use hq_core::{
    JobDetail, Quantity, Request, ResourceName, Span, TaskInfo, WallTime, WorkerId, WorkerInfo, WorkerResources,
};

/// What ran where, for how long, and how much of the workers that used.
///
/// Displayed, it is a table of a line per worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobReport {
    /// From the first start to the last end.
    pub elapsed: Span,
    /// Tasks that have started.
    pub tasks: u64,
    /// Per worker that ran one, by id.
    pub workers: Vec<WorkerUse>,
}

/// How a job used a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerUse {
    /// The worker.
    pub worker: WorkerId,
    /// Its name.
    pub hostname: String,
    /// Tasks that ran there last.
    pub tasks: u64,
    /// Per resource of the worker that was asked for: the share of it that was in use over [`JobReport::elapsed`], in
    /// 1/1,000.
    pub utilization: Vec<(ResourceName, u32)>,
}

/// Parts of units times microseconds, by resource.
type Busy = BTreeMap<ResourceName, u128>;

impl JobReport {
    pub(crate) fn new(job: &JobDetail, workers: &[WorkerInfo]) -> Self {
        let runs: Vec<(&TaskInfo, WallTime, WallTime)> =
            job.tasks.iter().filter_map(|task| Some((task, task.started?, task.ended?))).collect();
        let first = runs.iter().map(|(_, start, _)| start.0).min().unwrap_or(0);
        let last = runs.iter().map(|(_, _, end)| end.0).max().unwrap_or(0);
        let elapsed = Span(last.saturating_sub(first));
        let mut by_worker: BTreeMap<WorkerId, (u64, Busy)> = BTreeMap::new();
        for (task, start, end) in &runs {
            let request = request_of(job, task);
            for (position, id) in task.workers.iter().enumerate() {
                let Some(worker) = workers.iter().find(|worker| worker.id == *id) else { continue };
                let (tasks, busy) = by_worker.entry(*id).or_default();
                *tasks += u64::from(position == 0);
                for (resource, parts) in used(request, &worker.config.resources) {
                    let time = u128::from(end.0.saturating_sub(start.0));
                    *busy.entry(resource).or_default() += u128::from(parts) * time;
                }
            }
        }
        let workers = by_worker.into_iter().filter_map(|(id, (tasks, busy))| {
            let info = workers.iter().find(|worker| worker.id == id)?;
            let utilization = busy.into_iter().map(|(resource, busy)| {
                let total = info.config.resources.get(resource.as_str()).map_or(0, |def| def.kind.total().parts());
                let whole = (u128::from(total) * u128::from(elapsed.0)).max(1);
                (resource, u32::try_from(busy * 1000 / whole).unwrap_or(u32::MAX))
            });
            let hostname = info.config.hostname.clone();
            Some(WorkerUse { worker: id, hostname, tasks, utilization: utilization.collect() })
        });
        Self { elapsed, tasks: runs.len() as u64, workers: workers.collect() }
    }
}

fn request_of<'a>(job: &'a JobDetail, task: &TaskInfo) -> Option<&'a Request> {
    job.submits.iter().find_map(|info| {
        let index = match &info.submit.ids {
            hq_core::TaskIds::Given(ids) => ids.index_of(task.number.0)?,
            hq_core::TaskIds::Next(_) => return None,
        };
        info.submit.profile(index).variants.get(task.variant)
    })
}

/// What a run holds of a worker.
fn used(request: Option<&Request>, worker: &WorkerResources) -> Vec<(ResourceName, u64)> {
    let Some(request) = request else { return vec![] };
    let total = |name: &ResourceName| worker.get(name.as_str()).map_or(0, |def| def.kind.total().parts());
    if request.nodes() > 0 {
        return worker.resources().iter().map(|def| (def.name.clone(), def.kind.total().parts())).collect();
    }
    let entries = request.entries().iter().map(|entry| match entry.quantity {
        Quantity::Amount(amount, _) => (entry.resource.clone(), amount.parts()),
        Quantity::All => (entry.resource.clone(), total(&entry.resource)),
    });
    entries.collect()
}

impl fmt::Display for JobReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tasks in {}", self.tasks, Span(self.elapsed.0 / 1000 * 1000))?;
        for worker in &self.workers {
            write!(f, "\n  worker {} ({}): {} tasks", worker.worker, worker.hostname, worker.tasks)?;
            for (resource, share) in &worker.utilization {
                write!(f, ", {resource} {}.{} % used", share / 10, share % 10)?;
            }
        }
        Ok(())
    }
}
