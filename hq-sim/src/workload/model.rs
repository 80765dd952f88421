use std::collections::BTreeSet;

use hq_core::{Request, RequestError, Span, Variants};

use crate::wfcommons::Workflow;

/// One task of a workload; for batch logs, a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadTask {
    /// When it is submitted.
    pub arrival: Span,
    /// How long it really runs, wherever that is.
    pub run: Span,
    /// How long its user says that it runs, at most.
    pub estimate: Option<Span>,
    /// What it needs.
    pub request: Variants,
    /// Larger first, for orders that look at it.
    pub priority: i32,
    /// Who submitted it.
    pub user: Option<u32>,
    /// Indices of the tasks it waits for.
    pub deps: Vec<usize>,
}

impl WorkloadTask {
    /// One that arrives at the beginning, is nobody's and waits for nothing.
    pub fn new(run: Span, request: impl Into<Variants>) -> Self {
        let request = request.into();
        Self { arrival: Span::ZERO, run, estimate: None, request, priority: 0, user: None, deps: vec![] }
    }
}

/// Tasks in order of arrival, each behind those it waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    name: String,
    jobs: Vec<WorkloadTask>,
}

/// Tasks that are not a workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// A dependency on nothing.
    #[error("task {task} waits for task {on}, which does not exist")]
    NoTask {
        /// Index of the task.
        task: usize,
        /// What it names.
        on: usize,
    },
    /// A dependency on what is not submitted yet.
    #[error("task {task} waits for task {on}, which arrives later")]
    Later {
        /// Index of the task.
        task: usize,
        /// Index of the one it waits for.
        on: usize,
    },
    /// Tasks that wait for each other.
    #[error("task {0} waits for itself through what it waits for")]
    Cycle(usize),
    /// More than can be numbered.
    #[error("a workload can have at most 4294967294 tasks")]
    TooMany,
    /// A request that no task can have.
    #[error(transparent)]
    Request(#[from] RequestError),
}

impl Workload {
    /// Brings the tasks into order: by arrival, those waited for first, else as given. Indices in `deps` follow.
    ///
    /// # Errors
    /// For dependencies that are not there, that arrive later, or that form a cycle. Indices in errors are those given.
    pub fn new(name: impl Into<String>, jobs: Vec<WorkloadTask>) -> Result<Self, WorkloadError> {
        if u32::try_from(jobs.len()).is_err() {
            return Err(WorkloadError::TooMany);
        }
        for (task, job) in jobs.iter().enumerate() {
            for on in &job.deps {
                match jobs.get(*on) {
                    None => return Err(WorkloadError::NoTask { task, on: *on }),
                    Some(other) if other.arrival > job.arrival => return Err(WorkloadError::Later { task, on: *on }),
                    Some(_) => {}
                }
            }
        }
        Ok(Self { name: name.into(), jobs: sort(jobs)? })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its tasks, in order; what they wait for has smaller indices.
    pub fn jobs(&self) -> &[WorkloadTask] {
        &self.jobs
    }

    /// The same with estimates that are exactly right.
    #[must_use]
    pub fn with_perfect_estimates(mut self) -> Self {
        self.jobs.iter_mut().for_each(|job| job.estimate = Some(job.run));
        self
    }

    /// The same with other priorities.
    #[must_use]
    pub fn with_priorities(mut self, priority: impl Fn(usize, &WorkloadTask) -> i32) -> Self {
        for (i, job) in self.jobs.iter_mut().enumerate() {
            job.priority = priority(i, job);
        }
        self
    }
}

impl TryFrom<&Workflow> for Workload {
    type Error = WorkloadError;

    /// A recorded workflow: all arrives at the beginning, each task asks for the cores that it used.
    fn try_from(workflow: &Workflow) -> Result<Self, WorkloadError> {
        let jobs = workflow.tasks.iter().map(|task| {
            let deps = task.parents.clone();
            Ok(WorkloadTask { deps, ..WorkloadTask::new(task.run, Request::cpus(task.cores)?) })
        });
        Self::new(workflow.name.clone(), jobs.collect::<Result<_, WorkloadError>>()?)
    }
}

fn sort(jobs: Vec<WorkloadTask>) -> Result<Vec<WorkloadTask>, WorkloadError> {
    let mut followers: Vec<Vec<usize>> = vec![vec![]; jobs.len()];
    let mut unmet: Vec<usize> = Vec::with_capacity(jobs.len());
    for (i, job) in jobs.iter().enumerate() {
        unmet.push(job.deps.len());
        for on in &job.deps {
            followers[*on].push(i);
        }
    }
    // Nobody waits for what comes later, so that the earliest of those left is always among the ready ones.
    let mut ready: BTreeSet<(Span, usize)> =
        jobs.iter().enumerate().filter(|(i, _)| unmet[*i] == 0).map(|(i, job)| (job.arrival, i)).collect();
    let mut place = vec![usize::MAX; jobs.len()];
    let mut order = Vec::with_capacity(jobs.len());
    while let Some((_, i)) = ready.pop_first() {
        place[i] = order.len();
        order.push(i);
        for follower in &followers[i] {
            unmet[*follower] -= 1;
            if unmet[*follower] == 0 {
                ready.insert((jobs[*follower].arrival, *follower));
            }
        }
    }
    if let Some(stuck) = place.iter().position(|at| *at == usize::MAX) {
        return Err(WorkloadError::Cycle(on_cycle(&jobs, &place, stuck)));
    }
    let mut jobs: Vec<Option<WorkloadTask>> = jobs.into_iter().map(Some).collect();
    let sorted = order.into_iter().filter_map(|i| jobs[i].take());
    Ok(sorted
        .map(|mut job| {
            job.deps.iter_mut().for_each(|on| *on = place[*on]);
            job.deps.sort_unstable();
            job.deps.dedup();
            job
        })
        .collect())
}

/// Going from a task to one it waits for, as often as there are tasks, ends on a cycle.
fn on_cycle(jobs: &[WorkloadTask], place: &[usize], start: usize) -> usize {
    let step = |at: usize, _| jobs[at].deps.iter().copied().find(|on| place[*on] == usize::MAX).unwrap_or(at);
    (0..jobs.len()).fold(start, step)
}
