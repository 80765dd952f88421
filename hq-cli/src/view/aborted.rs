use hq_core::{DepKind, JobDep, JobDetail, JobInfo, JobState, TaskNumber};

use super::locate;

/// So many tasks and jobs are named.
const NAMED_MAX: usize = 5;

/// Why a task was aborted, as far as its job tells. Nobody notes it: there may be billions of such tasks.
pub(crate) fn abort_reason(detail: &JobDetail, task: TaskNumber) -> Option<String> {
    let (submit, index) = locate(detail, task)?;
    if let Some(max) = detail.info.spec.max_fails.filter(|max| detail.info.counts.failed > u64::from(*max)) {
        let n = detail.info.counts.failed;
        return Some(format!("Aborted: {n} tasks of the job failed, and its max-fails is {max}."));
    }
    let on: Vec<String> = submit.deps.of(index).map(|(on, kind)| format!("{on} ({})", wanted(kind))).collect();
    if !on.is_empty() {
        return Some(format!("Aborted: not all tasks it waits for ended as it needs: {}.", some(&on)));
    }
    if submit.after.is_empty() {
        return None;
    }
    let jobs: Vec<String> = submit.after.iter().map(after).collect();
    Some(format!("Aborted: not all jobs it waits for ended as it needs: {}.", some(&jobs)))
}

/// Jobs that a submit of the job waits or waited for.
pub(crate) fn awaited_jobs(detail: &JobDetail) -> Vec<u32> {
    let mut jobs: Vec<u32> = detail.submits.iter().flat_map(|info| &info.submit.after).map(|dep| dep.job.0).collect();
    jobs.sort_unstable();
    jobs.dedup();
    jobs
}

/// Why tasks of a job were aborted, in a line, given the first of them and the jobs that it waited for as they are now; nothing
/// where that is not known.
pub(crate) fn why_aborted(detail: &JobDetail, first: TaskNumber, awaited: &[JobInfo]) -> Option<String> {
    let reason = abort_reason(detail, first)?;
    let mut line = format!("Task {}@{first}: {reason}", detail.info.id);
    let states: Vec<String> = awaited
        .iter()
        .filter(|job| !matches!(job.state(), JobState::Finished | JobState::Waiting | JobState::Running))
        .map(|job| format!("job {} is {}", job.id, job.state().label()))
        .collect();
    if !states.is_empty() && reason.contains("jobs") {
        line += &format!(" Now {}.", some(&states));
    }
    let n = detail.info.counts.aborted;
    if n > 1 {
        line += &format!(" {n} tasks of job {} are aborted; this is the first of them.", detail.info.id);
    }
    Some(line)
}

const fn wanted(kind: DepKind) -> &'static str {
    match kind {
        DepKind::Success => "had to finish",
        DepKind::AnyEnd => "had to end",
        DepKind::Failure => "had to fail",
    }
}

fn after(dep: &JobDep) -> String {
    let kind = match dep.kind {
        DepKind::Success => "afterok",
        DepKind::AnyEnd => "afterany",
        DepKind::Failure => "afternotok",
    };
    format!("{kind}:{}", dep.job)
}

fn some(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMED_MAX)].join(", ");
    if names.len() > NAMED_MAX { format!("{shown}, … ({} in all)", names.len()) } else { shown }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hq_core::{Deps, JobId, Submit, TaskCounts};

    use super::*;
    use crate::testing::samples;

    fn job(change: impl FnOnce(&mut JobDetail, &mut Submit)) -> JobDetail {
        let mut detail = samples::graph_job();
        detail.info.counts = TaskCounts { aborted: 2, ..TaskCounts::default() };
        let mut submit = (*detail.submits[0].submit).clone();
        change(&mut detail, &mut submit);
        detail.submits[0].submit = Arc::new(submit);
        detail
    }

    #[test]
    fn reasons() {
        let on = |kind| Deps::new([vec![], vec![(TaskNumber(0), kind)]]).expect("edges");
        let after = |job: u32, kind| JobDep { job: JobId(job), kind };
        for (detail, expected) in [
            (job(|_, _| {}), None),
            (
                job(|detail, _| (detail.info.spec.max_fails, detail.info.counts.failed) = (Some(1), 2)),
                Some("Aborted: 2 tasks of the job failed, and its max-fails is 1."),
            ),
            (
                job(|_, submit| submit.deps = on(DepKind::Failure)),
                Some("Aborted: not all tasks it waits for ended as it needs: 0 (had to fail)."),
            ),
            (
                job(|_, submit| submit.after = vec![after(1, DepKind::Success), after(2, DepKind::Failure)]),
                Some("Aborted: not all jobs it waits for ended as it needs: afterok:1, afternotok:2."),
            ),
        ] {
            assert_eq!(abort_reason(&detail, TaskNumber(1)).as_deref(), expected);
        }
        let detail = job(|_, submit| submit.after = vec![after(3, DepKind::Success)]);
        assert_eq!(awaited_jobs(&detail), [3]);
        let failed = samples::failed_job().info;
        assert_eq!(
            why_aborted(&detail, TaskNumber(0), &[failed]).as_deref(),
            Some(
                "Task 4@0: Aborted: not all jobs it waits for ended as it needs: afterok:3. Now job 3 is FAILED. \
                 2 tasks of job 4 are aborted; this is the first of them."
            )
        );
    }
}
