use hq_core::{JobDetail, Submit, TaskIds, TaskInfo, TaskNumber};

/// The submit that a task came with, and its index in it.
pub(crate) fn locate(detail: &JobDetail, task: TaskNumber) -> Option<(&Submit, u64)> {
    let (i, index) = place(detail, task)?;
    Some((&*detail.submits.get(i)?.submit, index))
}

/// The same, with which of the job's submits it is.
pub(super) fn place(detail: &JobDetail, task: TaskNumber) -> Option<(usize, u64)> {
    detail.submits.iter().enumerate().find_map(|(i, info)| {
        let index = match &info.submit.ids {
            TaskIds::Given(ids) => ids.index_of(task.0)?,
            TaskIds::Next(n) if task.0 < *n => task.0.into(),
            TaskIds::Next(_) => return None,
        };
        Some((i, index))
    })
}

/// Names of the machines a task runs or ran on, the main one first.
pub(crate) fn host_names<'a>(detail: &'a JobDetail, task: &TaskInfo) -> Vec<&'a str> {
    let name = |id| detail.workers.iter().find(|(known, _)| known == id).map_or("?", |(_, name)| name);
    task.workers.iter().map(name).collect()
}
