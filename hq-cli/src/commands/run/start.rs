use std::{
    ffi::OsStr,
    io::{self, IsTerminal},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use anyhow::{Context as _, bail};
use hq_client::CallError;
use hq_core::{ClientReply, ClientRequest, JobId, JobSpec, OnClose, RetryOn, RetryRule};
use serde_json::json;
use tempfile::TempDir;
use tracing::warn;

use super::{
    Args,
    follow::{Follow, Progress},
    joblog::{self, JobLog},
    line,
    plan::{Plan, usual_shell},
};
use crate::{
    commands::{
        submit::{Options, describe, warn_of_unoffered},
        waiting::{tell_end, telling},
    },
    context::Context,
    interrupt::Signals,
    output::Mode,
    parse::StdioArg,
    server::{Server, unexpected},
};

/// Runs a command with many arguments, and waits for all.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    check(&args.options)?;
    let line = line::read(args.command, line::stdin)?;
    let plan = Plan::new(line, args.shell.unwrap_or_else(usual_shell))?;
    let done = match &args.joblog {
        Some(path) if args.resume || args.resume_failed => joblog::read(path)?,
        _ => Default::default(),
    };
    let is_left = |seq: &u32| done.get(seq).is_none_or(|exit| args.resume_failed && !exit.is_success());
    if args.dry_run {
        return (1..=plan.count).filter(is_left).try_for_each(|seq| context.out.line(&plan.command(seq)));
    }
    plan.check_size(done.len())?;
    let seqs: Vec<u32> = (1..=plan.count).filter(is_left).collect();
    if seqs.is_empty() {
        warn!("There is nothing to run");
        return Ok(());
    }
    let log = args.joblog.as_deref().map(|path| JobLog::open(path, args.resume || args.resume_failed)).transpose()?;
    let submit_dir = std::env::current_dir().context("cannot find out the working directory")?;
    let mut options = args.options;
    if context.out.mode() == Mode::Json && options.stream.is_none() && options.stdout.is_none() {
        bail!("JSON output mode has no place for what tasks print: use --stdout (a file, or `none`) or --stream");
    }
    let outputs = outputs(&mut options, &submit_dir)?;
    if let Some(again) = u16::try_from(args.retries - 1).ok().filter(|again| *again > 0) {
        // Rules of the user's own go first.
        options.retry.push(RetryRule::at_once(RetryOn::Any, again));
    }
    let (profile, spec) = describe(&options, vec![], None, &submit_dir)?;
    let server = context.server().await?.resuming(args.reconnect, &context.global.server_dir).await?;
    // From here on something may be left behind.
    let mut signals = Signals::new()?;

    let name = options.name.clone().unwrap_or_else(|| "run".to_owned());
    let job = tokio::select! {
        job = open(&server, JobSpec { name, max_fails: options.max_fails }) => job?,
        // A first one is minded once it is known what to close.
        signal = signals.nth(2) => bail!("{signal}: the server was not waited for"),
    };
    let pairs: Vec<(u32, u32)> = seqs.iter().map(|seq| (*seq, *seq)).collect();
    let tasks = seqs.len() as u64;
    let mut follow = Follow {
        plan: &plan,
        server: &server,
        job,
        outputs: outputs.as_ref().map(TempDir::path),
        log,
        halt: args.halt,
        bar: args.bar,
        in_order: args.keep_order,
        seqs,
        state: Progress::of(tasks),
    };
    let submit = plan.submit(job, &pairs, profile, spec);
    let work = async {
        let stream = server.subscribe(None, Some(vec![job])).await?;
        let submit = options.relations.apply(submit?);
        let profiles = submit.profiles.clone();
        // Its job stays open, so that it ends with this process, however that ends.
        server.submit_all(submit.job.clone(), vec![submit]).await?;
        warn_of_unoffered(&server, &profiles).await;
        follow.follow(stream, &mut context.out).await?;
        follow.print_rest(&mut context.out).await
    };
    let below_bar = args.bar && io::stderr().is_terminal();
    let result = tokio::select! {
        result = telling(&server, job.into(), below_bar, work) => result,
        signal = signals.nth(1) => Err(anyhow::anyhow!("{signal}: the tasks are cancelled")),
    };
    tokio::select! {
        () = finish(&server, job, result.is_err()) => {}
        signal = signals.nth(2) => bail!("{signal}: the server was not waited for; job {job} may go on"),
    }
    result?;
    tell_end(&server, job.into()).await;
    let counts = follow.state.counts;
    if context.out.mode() == Mode::Json {
        let (failed, canceled) = (counts.failed, counts.canceled + counts.aborted);
        context.out.json(&json!({ "id": job, "finished": counts.finished, "failed": failed, "canceled": canceled }))?;
    }
    args.exit.of(counts.finished == tasks)
}

/// Refuses options that mean something else here.
fn check(options: &Options) -> anyhow::Result<()> {
    match refused(options).find(|(is_given, _)| *is_given) {
        Some((_, name)) => bail!("{name} cannot be used with `hq run`: tasks are made of the arguments behind `:::`"),
        None => Ok(()),
    }
}

/// Options that say what tasks there are, and whether each is given.
pub(super) fn refused(options: &Options) -> impl Iterator<Item = (bool, &'static str)> {
    [
        (options.each_line.is_some(), "--each-line"),
        (options.from_json.is_some(), "--from-json"),
        (options.array.is_some(), "--array"),
        (!options.sweep.is_empty(), "--sweep"),
        (options.zip, "--zip"),
    ]
    .into_iter()
}

/// Lets outputs that the user says nothing of go to a directory of their own, which is there as long as what is returned.
fn outputs(options: &mut Options, submit_dir: &Path) -> anyhow::Result<Option<TempDir>> {
    if options.stream.is_some() || (options.stdout.is_some() && options.stderr.is_some()) {
        return Ok(None);
    }
    let unusable =
        || format!("cannot make a directory for outputs in `{}`; use --stdout and --stderr", submit_dir.display());
    let dir = tempfile::Builder::new().prefix(".hq-run-").tempdir_in(submit_dir).with_context(unusable)?;
    let file = |channel: &str| {
        let path =
            [dir.path().as_os_str(), OsStr::new("/%{TASK_ID}."), OsStr::new(channel)].map(OsStr::as_bytes).concat();
        StdioArg::File { path: Some(path), on_close: OnClose::Keep }
    };
    options.stdout.get_or_insert_with(|| file("out"));
    options.stderr.get_or_insert_with(|| file("err"));
    Ok(Some(dir))
}

async fn open(server: &Server, spec: JobSpec) -> anyhow::Result<JobId> {
    match server.call(ClientRequest::OpenJob(spec)).await? {
        ClientReply::Opened { job } => {
            // However this process ends, nothing stays open.
            server.call(ClientRequest::Bind(job)).await?;
            Ok(job)
        }
        other => Err(unexpected(other).into()),
    }
}

/// Leaves nothing open or running behind.
async fn finish(server: &Server, job: JobId, cancel: bool) {
    let own = || job.into();
    if cancel {
        let reason = Some("hq run has ended".to_owned());
        if let Err(CallError::Lost(_)) = server.call(ClientRequest::CancelJobs { jobs: own(), reason }).await {
            warn!("The server is gone; if it is started again, it cancels job {job} after its --adopt-timeout");
        }
    }
    _ = server.call(ClientRequest::CloseJobs(own())).await;
}
