use anyhow::{anyhow, bail};
use hq_core::{
    ClientReply, ClientRequest, DepKind, Deps, IdList, JobDetail, JobId, JobTarget, Parts, Selector, Submit, TaskIds,
    TaskNumber, TaskState,
};

use crate::{
    args::TaskStateArg,
    commands::submit::{hand_over, say_submitted},
    context::Context,
    parse,
    server::{Server, unexpected},
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
    let details = server.job_details(args.job.clone(), true).await?;
    let Some(detail) = details.first() else {
        match args.job {
            Selector::Ids(ids) => bail!("Job {ids} not found"),
            _ => bail!("No jobs were found"),
        }
    };
    let states: Vec<TaskState> = args.filter.into_iter().map(Into::into).collect();
    let mut submits = again(detail, &states)?;
    match submits.len() {
        0 => bail!("no task of job {} is {}", detail.info.id, shown(&states)),
        1 => {
            hand_over(submits.remove(0), &server, &mut context.out).await?;
        }
        _ => {
            let job = one_by_one(submits, detail, &server).await?;
            say_submitted(job, &mut context.out)?;
        }
    }
    Ok(())
}

fn shown(states: &[TaskState]) -> String {
    states.iter().map(|state| state.label()).collect::<Vec<_>>().join(" or ")
}

/// Several submits, as one job.
async fn one_by_one(submits: Vec<Submit>, detail: &JobDetail, server: &Server) -> anyhow::Result<JobId> {
    let job = match server.call(ClientRequest::OpenJob(detail.info.spec.clone())).await? {
        ClientReply::Opened { job } => job,
        other => return Err(unexpected(other).into()),
    };
    let own = || Selector::Ids(IdList::range(job.0, 1));
    for submit in submits {
        let request = ClientRequest::Submit(Box::new(Submit { job: JobTarget::Attach(job), ..submit }));
        if let Err(error) = server.call(request).await {
            // Nothing is left half done.
            let reason = Some("the rest of a rerun was refused".to_owned());
            let _ = server.call(ClientRequest::CancelJobs { jobs: own(), reason }).await;
            let _ = server.call(ClientRequest::CloseJobs(own())).await;
            return Err(error.into());
        }
    }
    server.call(ClientRequest::CloseJobs(own())).await?;
    Ok(job)
}

/// The submits of a job, less the tasks that are in other states.
fn again(detail: &JobDetail, states: &[TaskState]) -> anyhow::Result<Vec<Submit>> {
    let recorded = detail.tasks.iter().filter(|task| states.contains(&task.state)).map(|task| task.number.0);
    let rest = detail.rest.iter().filter(|(state, _)| states.contains(state)).flat_map(|(_, ids)| ids.iter());
    let mut wanted: Vec<u32> = recorded.chain(rest).collect();
    wanted.sort_unstable();
    let is_wanted = |number: u32| wanted.binary_search(&number).is_ok();
    let part = |submit: &std::sync::Arc<Submit>| part_of(submit, detail, &is_wanted).transpose();
    detail.submits.iter().filter_map(|info| part(&info.submit)).collect()
}

fn part_of(submit: &Submit, detail: &JobDetail, is_wanted: &impl Fn(u32) -> bool) -> anyhow::Result<Option<Submit>> {
    let TaskIds::Given(ids) = &submit.ids else { return Ok(None) };
    let chosen: Vec<(u64, u32)> = (0..).zip(ids.iter()).filter(|(_, number)| is_wanted(*number)).collect();
    if chosen.is_empty() {
        return Ok(None);
    }
    let too_large = || anyhow!("the tasks are too large for one submit");
    let parts = if submit.parts.is_empty() {
        Parts::default()
    } else {
        Parts::new(chosen.iter().map(|(index, _)| submit.parts.get(*index))).ok_or_else(too_large)?
    };
    // What is not run again has come to the end that was waited for, or it is not waited for any more.
    let row = |index: u64| -> Vec<(TaskNumber, DepKind)> {
        submit.deps.of(index).filter(|(on, _)| is_wanted(on.0)).collect()
    };
    let deps = if submit.deps.is_empty() {
        Deps::default()
    } else {
        Deps::new(chosen.iter().map(|(index, _)| row(*index))).ok_or_else(too_large)?
    };
    let profile_of = if submit.profile_of.is_empty() {
        vec![]
    } else {
        chosen.iter().map(|(index, _)| submit.profile_index(*index)).collect()
    };
    Ok(Some(Submit {
        job: JobTarget::New(detail.info.spec.clone()),
        ids: TaskIds::Given(IdList::from_numbers(chosen.iter().map(|(_, number)| *number))?),
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
