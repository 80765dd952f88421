use hq_core::{JobDetail, Submit, TaskIds, TaskInfo, TaskNumber};

/// The submit that a task came with, and its index in it.
pub(crate) fn locate(detail: &JobDetail, task: TaskNumber) -> Option<(&Submit, u64)> {
    detail.submits.iter().find_map(|info| {
        let index = match &info.submit.ids {
            TaskIds::Given(ids) => ids.index_of(task.0)?,
            TaskIds::Next(n) if task.0 < *n => task.0.into(),
            TaskIds::Next(_) => return None,
        };
        Some((&*info.submit, index))
    })
}

/// Names of the machines a task runs or ran on, the main one first.
pub(crate) fn host_names<'a>(detail: &'a JobDetail, task: &TaskInfo) -> Vec<&'a str> {
    let name = |id| detail.workers.iter().find(|(known, _)| known == id).map_or("?", |(_, name)| name);
    task.workers.iter().map(name).collect()
}
