use std::collections::BTreeMap;

use hq_core::{
    Blob, DepKind, Deps, IdList, JobId, JobSpec, JobTarget, Owner, PROGRAM_KIND, Parts, Profile, Span, Submit, TaskIds,
    TaskNumber, Variants,
};

use crate::workload::{Workload, WorkloadTask};

/// The tasks from `first` on that arrive together and are of one user.
pub(super) fn arrive_together(workload: &Workload, first: usize) -> &[WorkloadTask] {
    let rest = workload.jobs().get(first..).unwrap_or_default();
    let same = |job: &&WorkloadTask| job.arrival == rest[0].arrival && job.user == rest[0].user;
    &rest[..rest.iter().take_while(same).count()]
}

/// They as one submit: a job of their own, or part of `job`. Task numbers are indices into the workload. None past 2^32 edges.
pub(super) fn submit(first: usize, tasks: &[WorkloadTask], job: Option<JobId>) -> Option<Submit> {
    let mut known: BTreeMap<(&Variants, i32, Option<Span>), u16> = BTreeMap::new();
    let mut profiles: Vec<Profile> = Vec::new();
    let mut profile_of = Vec::with_capacity(tasks.len());
    for task in tasks {
        let profile = *known.entry((&task.request, task.priority, task.estimate)).or_insert_with(|| {
            profiles.push(Profile {
                priority: task.priority,
                time_limit: task.estimate,
                ..Profile::new(task.request.clone())
            });
            // More are refused with the submit.
            (profiles.len() - 1) as u16
        });
        profile_of.push(profile);
    }
    let target = job.map_or(JobTarget::New(JobSpec::default()), JobTarget::Attach);
    let ids = TaskIds::Given(IdList::range(first as u32, tasks.len() as u32));
    let edge = |on: &usize| (TaskNumber(*on as u32), DepKind::Success);
    let deps = Deps::new(tasks.iter().map(|task| task.deps.iter().map(edge)))?;
    let kind = PROGRAM_KIND.to_owned();
    let (shared, parts) = (Blob::default(), Parts::default());
    let user = tasks.first().and_then(|task| task.user);
    let owner = user.map_or_else(Owner::default, |user| Owner::user(format!("user{user}")));
    Some(Submit { job: target, ids, kind, shared, parts, profiles, profile_of, deps, owner, after: vec![] })
}
