use anyhow::{anyhow, bail};
use hq_core::{
    DepKind, Deps, IdList, JobDetail, JobTarget, Parts, Profile, Selector, Submit, SubmitInfo, TaskIds, TaskNumber,
    TaskState,
};

use crate::{
    args::TaskStateArg,
    commands::submit::{say_submitted, warn_of_unoffered},
    context::Context,
    parse,
    view::{TaskFilter, TaskRuns},
};

/// Options of `job rerun`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq job rerun 12                      # what failed, and what was aborted because of it
  hq job rerun 12 --filter failed
  hq job rerun 12 --filter failed,canceled,aborted

The tasks become a new job of the same name, with the same ids, programs, requests and dependencies among them.")]
pub(crate) struct Args {
    /// Which job: `last` or an id
    #[arg(value_name = "JOB", value_parser = parse::reader(parse::job))]
    job: Selector,
    /// Tasks in these states
    #[arg(long, value_name = "STATES", value_delimiter = ',', default_value = "failed,aborted")]
    filter: Vec<TaskStateArg>,
}

/// Submits tasks of a job once more.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let server = context.server().await?;
    let states: Vec<TaskState> = args.filter.into_iter().map(Into::into).collect();
    let filter = TaskFilter { ids: None, states };
    let mut details = server.details(args.job.clone(), filter.part(true));
    let (mut job, mut wanted) = (None, TaskRuns::default());
    while let Some(piece) = details.next().await? {
        wanted.add(&piece.detail, &filter);
        job = Some(JobDetail { tasks: vec![], rest: vec![], ..piece.detail });
    }
    let Some(job) = job else {
        match args.job {
            Selector::Ids(ids) => bail!("Job {ids} not found"),
            _ => bail!("No jobs were found"),
        }
    };
    let wanted = wanted.list();
    let part = |info: &SubmitInfo| part_of(&info.submit, &wanted).transpose();
    let submits: Vec<Submit> = job.submits.iter().filter_map(part).collect::<anyhow::Result<_>>()?;
    if submits.is_empty() {
        bail!("no task of job {} is {}", job.info.id, shown(&filter.states));
    }
    let profiles: Vec<Profile> = submits.iter().flat_map(|submit| submit.profiles.clone()).collect();
    let job = server.submit_all(JobTarget::New(job.info.spec), submits).await?;
    say_submitted(job, &mut context.out)?;
    warn_of_unoffered(&server, &profiles).await;
    Ok(())
}

fn shown(states: &[TaskState]) -> String {
    states.iter().map(|state| state.label()).collect::<Vec<_>>().join(" or ")
}

/// The wanted tasks of a submit; nothing where it has none. Numbers are taken as runs: there may be billions.
fn part_of(submit: &Submit, wanted: &IdList) -> anyhow::Result<Option<Submit>> {
    let TaskIds::Given(ids) = &submit.ids else { return Ok(None) };
    let chosen = ids.common(wanted);
    if chosen.is_empty() {
        return Ok(None);
    }
    // What tasks have of their own is there in one piece already, or they have nothing.
    let indices = || chosen.iter().filter_map(|number| ids.index_of(number));
    let too_large = || anyhow!("the tasks are too large for one submit");
    let parts = if submit.parts.is_empty() {
        Parts::default()
    } else {
        Parts::new(indices().map(|index| submit.parts.get(index))).ok_or_else(too_large)?
    };
    // What is not run again has come to the end that was waited for, or it is not waited for any more.
    let row = |index: u64| -> Vec<(TaskNumber, DepKind)> {
        submit.deps.of(index).filter(|(on, _)| wanted.index_of(on.0).is_some()).collect()
    };
    let deps =
        if submit.deps.is_empty() { Deps::default() } else { Deps::new(indices().map(row)).ok_or_else(too_large)? };
    let profile_of = if submit.profile_of.is_empty() {
        vec![]
    } else {
        indices().map(|index| submit.profile_index(index)).collect()
    };
    Ok(Some(Submit {
        job: submit.job.clone(),
        ids: TaskIds::Given(chosen),
        kind: submit.kind.clone(),
        shared: submit.shared.clone(),
        parts,
        profiles: submit.profiles.clone(),
        profile_of,
        deps,
        owner: submit.owner.clone(),
        after: vec![],
    }))
}
