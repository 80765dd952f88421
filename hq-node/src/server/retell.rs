use hq_core::{EventKind, Fact, JobId, Ordinal};

use super::{
    book::JobBook,
    events::{LastRun, tell},
    grants::GrantBook,
    story::Story,
    wall::Wall,
};

/// Puts what `fact` has to tell into `stories`, the completion of jobs included, and brings the books up to date. Returns
/// the jobs whose last task has ended, or that were closed, by this fact.
pub(super) fn retell(
    fact: &Fact,
    jobs: &mut JobBook,
    grants: &mut GrantBook,
    wall: &Wall,
    last: impl Fn(Ordinal) -> LastRun,
    stories: &mut Vec<Story>,
) -> Vec<JobId> {
    tell(fact, jobs, grants, wall, last, stories);
    let mut settled = vec![];
    jobs.apply(fact, &mut settled);
    grants.apply(fact);
    let completed = settled.iter().filter(|job| jobs.completes_now(**job));
    stories.extend(completed.map(|job| Story::Told(EventKind::JobCompleted { job: *job })));
    settled
}
