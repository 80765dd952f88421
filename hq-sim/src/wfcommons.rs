//! Recorded scientific workflows in the JSON of [WfCommons](https://wfcommons.org), schema 1.3 to 1.5.
//!
//! ```
//! let text = r#"{"name": "two", "workflow": {
//!     "specification": {"tasks": [{"name": "b", "id": "2", "parents": ["1"]}, {"name": "a", "id": "1", "parents": []}]},
//!     "execution": {"tasks": [{"id": "1", "runtimeInSeconds": 1.5}, {"id": "2", "runtimeInSeconds": 2}]}}}"#;
//! let workflow = hq_sim::wfcommons::read(text).unwrap();
//! assert_eq!(workflow.tasks[1].parents, [0]);
//! assert_eq!(workflow.critical_path(), hq_core::Span::millis(3500));
//! ```

use std::collections::{BTreeMap, BTreeSet};

use hq_core::{Blob, DepKind, Deps, IdList, JobTarget, Parts, Profile, Request, Span, Submit, TaskIds, TaskNumber};
use serde::Deserialize;

use crate::{RunSpec, SIM_KIND};

/// A recorded workflow: tasks in an order in which each comes after those it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workflow {
    /// As recorded.
    pub name: String,
    /// Its tasks; of those that could come next, the one that stands first in the file does.
    pub tasks: Vec<WorkflowTask>,
}

/// A task of a recorded workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowTask {
    /// As recorded; need not be unique.
    pub name: String,
    /// Unique.
    pub id: String,
    /// Measured run time.
    pub run: Span,
    /// Cores it used; 1 where the record does not say.
    pub cores: u32,
    /// Indices of the tasks it waits for, ascending, all smaller than its own.
    pub parents: Vec<usize>,
}

/// A text that is not a workflow.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    /// Not JSON, or not of this form.
    #[error("this is not a workflow in WfCommons JSON: {0}")]
    Form(#[from] serde_json::Error),
    /// Neither of the places where tasks are recorded is there.
    #[error(
        "the workflow has no tasks: `workflow.specification.tasks` (or `workflow.tasks` before schema 1.5) is missing"
    )]
    NoTasks,
    /// Two tasks with one id.
    #[error("two tasks have the id `{0}`")]
    Twice(String),
    /// A parent that is not there.
    #[error("task `{task}` has the parent `{parent}`, which is not a task of the workflow")]
    NoParent {
        /// The task.
        task: String,
        /// What it names.
        parent: String,
    },
    /// No run time in the execution.
    #[error("task `{0}` has no run time: `workflow.execution.tasks` has no `runtimeInSeconds` for it")]
    NoRunTime(String),
    /// A negative or absurd number.
    #[error("task `{task}` has the {what} {value}, which is not possible")]
    Number {
        /// The task.
        task: String,
        /// Of what.
        what: &'static str,
        /// The number.
        value: f64,
    },
    /// Tasks that wait for each other.
    #[error("task `{0}` waits for itself through its parents")]
    Cycle(String),
}

#[derive(Deserialize)]
struct RawFile {
    #[serde(default)]
    name: String,
    workflow: RawWorkflow,
}

#[derive(Deserialize)]
struct RawWorkflow {
    specification: Option<RawTasks>,
    execution: Option<RawTasks>,
    tasks: Option<Vec<RawTask>>,
}

#[derive(Deserialize)]
struct RawTasks {
    tasks: Vec<RawTask>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawTask {
    id: Option<String>,
    name: Option<String>,
    #[serde(default)]
    parents: Vec<String>,
    #[serde(alias = "runtime")]
    runtime_in_seconds: Option<f64>,
    #[serde(alias = "cores")]
    core_count: Option<f64>,
}

impl RawTask {
    /// Before schema 1.4 the name stands for the id where that is missing.
    fn id(&self) -> String {
        self.id.clone().or_else(|| self.name.clone()).unwrap_or_default()
    }
}

/// Reads a workflow.
///
/// # Errors
/// Says what is wrong and with which task.
pub fn read(text: &str) -> Result<Workflow, WorkflowError> {
    let file: RawFile = serde_json::from_str(text)?;
    let specified = file.workflow.specification.map(|specification| specification.tasks);
    let raw = specified.or(file.workflow.tasks).ok_or(WorkflowError::NoTasks)?;
    let mut measured: BTreeMap<String, RawTask> = BTreeMap::new();
    for task in file.workflow.execution.map(|execution| execution.tasks).unwrap_or_default() {
        let id = task.id();
        if measured.insert(id.clone(), task).is_some() {
            return Err(WorkflowError::Twice(id));
        }
    }
    let index = Index::new(&raw)?;
    let mut tasks = Vec::with_capacity(raw.len());
    for task in &raw {
        let id = task.id();
        let run = measured.get(&id);
        let seconds = run.and_then(|run| run.runtime_in_seconds).or(task.runtime_in_seconds);
        let cores = run.and_then(|run| run.core_count).or(task.core_count).unwrap_or(1.0);
        let parents: BTreeSet<usize> =
            task.parents.iter().map(|parent| index.find(&id, parent)).collect::<Result<_, _>>()?;
        tasks.push(WorkflowTask {
            name: task.name.clone().unwrap_or_else(|| id.clone()),
            run: span(&id, seconds.ok_or_else(|| WorkflowError::NoRunTime(id.clone()))?)?,
            cores: whole(&id, "number of cores", cores.ceil().max(1.0), u32::MAX.into())? as u32,
            parents: parents.into_iter().collect(),
            id,
        });
    }
    Ok(Workflow { name: file.name, tasks: sort(tasks)? })
}

/// Where the tasks of a file are, by id and, for old files, by name.
struct Index {
    by_id: BTreeMap<String, usize>,
    by_name: BTreeMap<String, usize>,
}

impl Index {
    fn new(tasks: &[RawTask]) -> Result<Self, WorkflowError> {
        let mut index = Self { by_id: BTreeMap::new(), by_name: BTreeMap::new() };
        for (i, task) in tasks.iter().enumerate() {
            if index.by_id.insert(task.id(), i).is_some() {
                return Err(WorkflowError::Twice(task.id()));
            }
            if let Some(name) = &task.name {
                index.by_name.insert(name.clone(), i);
            }
        }
        Ok(index)
    }

    fn find(&self, task: &str, parent: &str) -> Result<usize, WorkflowError> {
        let found = self.by_id.get(parent).or_else(|| self.by_name.get(parent)).copied();
        found.ok_or_else(|| WorkflowError::NoParent { task: task.to_owned(), parent: parent.to_owned() })
    }
}

fn span(task: &str, seconds: f64) -> Result<Span, WorkflowError> {
    whole(task, "run time", (seconds * 1e6).round(), 1e15).map(Span)
}

/// The formats' numbers are floating point; nothing but this conversion ever works with them.
fn whole(task: &str, what: &'static str, value: f64, max: f64) -> Result<u64, WorkflowError> {
    if value.is_finite() && (0.0..=max).contains(&value) {
        Ok(value as u64)
    } else {
        Err(WorkflowError::Number { task: task.to_owned(), what, value })
    }
}

/// Brings parents before children.
fn sort(tasks: Vec<WorkflowTask>) -> Result<Vec<WorkflowTask>, WorkflowError> {
    let mut children: Vec<Vec<usize>> = vec![vec![]; tasks.len()];
    let mut unmet: Vec<usize> = Vec::with_capacity(tasks.len());
    for (i, task) in tasks.iter().enumerate() {
        unmet.push(task.parents.len());
        for parent in &task.parents {
            children[*parent].push(i);
        }
    }
    let mut ready: BTreeSet<usize> = (0..tasks.len()).filter(|i| unmet[*i] == 0).collect();
    let mut place = vec![usize::MAX; tasks.len()];
    let mut order = Vec::with_capacity(tasks.len());
    while let Some(i) = ready.pop_first() {
        place[i] = order.len();
        order.push(i);
        for child in &children[i] {
            unmet[*child] -= 1;
            if unmet[*child] == 0 {
                ready.insert(*child);
            }
        }
    }
    if let Some(stuck) = (0..tasks.len()).find(|i| place[*i] == usize::MAX) {
        return Err(WorkflowError::Cycle(on_cycle(&tasks, &place, stuck)));
    }
    let mut sorted: Vec<Option<WorkflowTask>> = tasks.into_iter().map(Some).collect();
    let sorted = order.into_iter().filter_map(|i| sorted[i].take());
    Ok(sorted
        .map(|mut task| {
            task.parents.iter_mut().for_each(|parent| *parent = place[*parent]);
            task.parents.sort_unstable();
            task
        })
        .collect())
}

/// A task that lies on a cycle itself: going from parent to unplaced parent ends on one.
fn on_cycle(tasks: &[WorkflowTask], place: &[usize], start: usize) -> String {
    let mut at = start;
    for _ in 0..tasks.len() {
        let unplaced = tasks[at].parents.iter().find(|parent| place[**parent] == usize::MAX);
        at = unplaced.copied().unwrap_or(at);
    }
    tasks[at].id.clone()
}

impl Workflow {
    /// The longest chain of run times: no number of workers ends it sooner.
    pub fn critical_path(&self) -> Span {
        let mut ends: Vec<u64> = Vec::with_capacity(self.tasks.len());
        for task in &self.tasks {
            let start = task.parents.iter().filter_map(|parent| ends.get(*parent)).max().copied().unwrap_or(0);
            ends.push(start.saturating_add(task.run.0));
        }
        Span(ends.into_iter().max().unwrap_or(0))
    }

    /// The workflow as one submit of [`SIM_KIND`]: task numbers are indices, each task asks for its cores and takes its run
    /// time. None for what cannot be one submit (past 2^32 edges, 65,536 numbers of cores, or without tasks).
    pub fn submit(&self, job: JobTarget) -> Option<Submit> {
        let cores: BTreeSet<u32> = self.tasks.iter().map(|task| task.cores).collect();
        let cores: Vec<u32> = cores.into_iter().collect();
        let profiles: Vec<Profile> =
            cores.iter().map(|cores| Request::cpus(*cores).ok().map(Profile::new)).collect::<Option<_>>()?;
        let profile_of = |task: &WorkflowTask| u16::try_from(cores.binary_search(&task.cores).ok()?).ok();
        let ids = IdList::range(0, u32::try_from(self.tasks.len()).ok()?);
        let first = profiles.first()?.clone();
        let mut submit = Submit::array(job, TaskIds::Given(ids), SIM_KIND, Blob::default(), first);
        submit.profile_of = self.tasks.iter().map(profile_of).collect::<Option<_>>()?;
        submit.profiles = profiles;
        submit.parts = Parts::new(self.tasks.iter().map(|task| RunSpec::takes(task.run).bytes()))?;
        let edge = |parent: &usize| (TaskNumber(*parent as u32), DepKind::Success);
        submit.deps = Deps::new(self.tasks.iter().map(|task| task.parents.iter().map(edge)))?;
        Some(submit)
    }

    /// Core time of all tasks together.
    pub fn total_work(&self) -> Span {
        Span(self.tasks.iter().fold(0, |sum, task| sum.saturating_add(task.run.times(u64::from(task.cores)).0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(specified: &str, measured: &str) -> String {
        format!(
            r#"{{"name":"w","workflow":{{"specification":{{"tasks":[{specified}]}},"execution":{{"tasks":[{measured}]}}}}}}"#
        )
    }

    #[test]
    fn tasks_come_after_their_parents() {
        let text = file(
            r#"{"name":"c","id":"c","parents":["b","a"]},{"name":"b","id":"b","parents":["a"]},{"name":"a","id":"a"}"#,
            r#"{"id":"a","runtimeInSeconds":1.0,"coreCount":2},{"id":"b","runtimeInSeconds":0.25},{"id":"c","runtimeInSeconds":3}"#,
        );
        let workflow = read(&text).unwrap();
        let shown: Vec<_> =
            workflow.tasks.iter().map(|t| (t.id.as_str(), t.run.0, t.cores, t.parents.clone())).collect();
        assert_eq!(shown, [("a", 1_000_000, 2, vec![]), ("b", 250_000, 1, vec![0]), ("c", 3_000_000, 1, vec![0, 1])]);
        assert_eq!(workflow.critical_path(), Span(4_250_000));
        assert_eq!(workflow.total_work(), Span(5_250_000));
    }

    /// A fork of eight between a first and a last task, on four cores: two rounds of the fork.
    #[test]
    fn a_workflow_runs_as_its_bounds_allow() {
        let middle: Vec<String> = (0..8).map(|i| format!(r#"{{"id":"m{i}","parents":["a"]}}"#)).collect();
        let parents: Vec<String> = (0..8).map(|i| format!(r#""m{i}""#)).collect();
        let last = format!(r#"{{"id":"z","parents":[{}]}}"#, parents.join(","));
        let specified = format!(r#"{{"id":"a"}},{},{last}"#, middle.join(","));
        let runs: Vec<String> = (0..8).map(|i| format!(r#"{{"id":"m{i}","runtimeInSeconds":10}}"#)).collect();
        let measured =
            format!(r#"{{"id":"a","runtimeInSeconds":1}},{},{{"id":"z","runtimeInSeconds":1}}"#, runs.join(","));
        let workflow = read(&file(&specified, &measured)).unwrap();
        let submit = workflow.submit(JobTarget::New(hq_core::JobSpec::default())).unwrap();
        let worker = hq_core::WorkerConfig::new("node", hq_core::WorkerResources::cpus(4).unwrap());
        let report = crate::Simulation::new(7).workers(1, &worker).submit_at(Span::ZERO, submit).run().report.unwrap();
        assert_eq!(report.counts.finished, 10);
        assert_eq!(report.busy, workflow.total_work());
        assert!(report.makespan >= Span::secs(22) && report.makespan < Span::millis(22_100), "{}", report.makespan);
    }

    #[test]
    fn the_older_form_is_read() {
        let text = r#"{"name":"old","workflow":{"tasks":[
            {"name":"first","id":"ID1","runtime":2,"cores":4.0,"parents":[],"children":["second"]},
            {"name":"second","runtimeInSeconds":0.5,"parents":["first"]}]}}"#;
        let workflow = read(text).unwrap();
        assert_eq!((workflow.tasks[0].run, workflow.tasks[0].cores), (Span::secs(2), 4));
        assert_eq!((workflow.tasks[1].id.as_str(), &workflow.tasks[1].parents[..]), ("second", &[0][..]));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let a = r#"{"name":"a","id":"a","parents":[]}"#;
        let run = r#"{"id":"a","runtimeInSeconds":1}"#;
        let pair = r#"{"id":"a","parents":["b"]},{"id":"b","parents":["a"]},{"id":"c","parents":["a"]}"#;
        let runs = r#"{"id":"a","runtimeInSeconds":1},{"id":"b","runtimeInSeconds":1},{"id":"c","runtimeInSeconds":1}"#;
        for (text, part) in [
            ("{".to_owned(), "not a workflow"),
            (r#"{"name":"x","workflow":{}}"#.to_owned(), "has no tasks"),
            (file(&format!("{a},{a}"), run), "two tasks have the id `a`"),
            (file(a, &format!("{run},{run}")), "two tasks have the id `a`"),
            (file(r#"{"id":"a","parents":["z"]}"#, run), "task `a` has the parent `z`"),
            (file(a, ""), "task `a` has no run time"),
            (file(a, r#"{"id":"a","runtimeInSeconds":-1}"#), "run time -1000000"),
            (file(r#"{"id":"a","parents":["a"]}"#, run), "task `a` waits for itself"),
            (file(pair, runs), "waits for itself"),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let Err(WorkflowError::Cycle(id)) = read(&file(pair, runs)) else { panic!("a cycle") };
        assert_ne!(id, "c", "it waits for the cycle and is not on it");
    }
}
