use std::{
    ffi::{OsStr, OsString},
    io::{self, Read},
    os::unix::ffi::OsStringExt,
    path::Path,
};

use anyhow::{Context as _, bail};
use hq_core::{Blob, ClientRequest, JobId, Submit};
use serde_json::json;
use tracing::{info, warn};

use super::{
    Args, Options,
    build::{Parts, build},
    checks::check,
    directives, listen,
    offers::warn_of_unoffered,
    on_notify::Listener,
    tasks::Tasks,
};
use crate::{
    commands::{
        waiting::{tell_end, telling},
        watch::watch,
    },
    context::Context,
    listening::Listening,
    output::{Mode, Output},
    program::PAYLOAD_MAX,
    server::Server,
};

/// Submits a program as a job.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let (wait, progress, output, exit, resume) = (args.wait, args.progress, args.output, args.exit, args.resume);
    let on_notify = args.on_notify.clone();
    if exit.is_given() && !wait && !progress {
        bail!("--fail-exit-code needs --wait or --progress");
    }
    if resume.timeout().is_some() && !wait && !progress {
        bail!("--reconnect-timeout needs --wait or --progress");
    }
    if output && context.out.mode() == Mode::Json {
        bail!("JSON output mode doesn't support job output");
    }
    let submit = prepare(args, &mut context.out)?;
    let server = context.server().await?.resuming(resume, &context.global.server_dir).await?;
    let listener = match on_notify {
        Some(program) if wait || progress => Some(Listener::start(&server, program).await?),
        Some(_) => bail!("--on-notify needs --wait or --progress"),
        None => None,
    };
    if output {
        let job = run_listening(submit, &server, listener, &mut context.out).await?;
        tell_end(&server, job.into()).await;
        return exit.check(&server, job.into()).await;
    }
    let job = hand_over(submit, &server, &mut context.out).await?;
    if wait || progress {
        context.out.flush()?;
        info!("Waiting for job {job} to end");
    }
    let listen = async {
        match listener {
            Some(listener) => listener.wait(&server, job).await,
            None => Ok(()),
        }
    };
    let below_bar = progress && context.out.is_terminal();
    let end = async {
        if progress {
            watch(&server, job.into(), true, &mut context.out).await
        } else {
            server.wait(ClientRequest::WaitJobs { jobs: job.into(), until_closed: true }).await
        }
    };
    if wait || progress {
        telling(&server, job.into(), below_bar, async { tokio::try_join!(end, listen) }).await?;
        tell_end(&server, job.into()).await;
    }
    exit.check(&server, job.into()).await
}

/// Submits, and prints what tasks print until the job has ended.
async fn run_listening(
    submit: Submit,
    server: &Server,
    listener: Option<Listener>,
    out: &mut Output,
) -> anyhow::Result<JobId> {
    let profiles = submit.profiles.clone();
    let (job, stream) = server.submit_listening(submit).await?;
    say_submitted(job, out)?;
    out.flush()?;
    warn_of_unoffered(server, &profiles).await;
    let listen = async {
        match listener {
            Some(listener) => listener.wait(server, job).await,
            None => Ok(()),
        }
    };
    let print = listen::print(Listening::new(server, job, stream), out);
    telling(server, job.into(), false, async { tokio::try_join!(print, listen) }).await?;
    Ok(job)
}

/// Submits, and says as what job.
pub(crate) async fn hand_over(submit: Submit, server: &Server, out: &mut Output) -> anyhow::Result<JobId> {
    let profiles = submit.profiles.clone();
    let job = server.submit_all(submit.job.clone(), vec![submit]).await?;
    say_submitted(job, out)?;
    warn_of_unoffered(server, &profiles).await;
    Ok(job)
}

/// Says as what job something was submitted.
pub(crate) fn say_submitted(job: JobId, out: &mut Output) -> anyhow::Result<()> {
    match out.mode() {
        Mode::Cli => out.line(&format!("Job submitted successfully, job ID: {job}"))?,
        Mode::Json => out.json(&json!({ "id": job }))?,
        Mode::Quiet => out.line(&job.to_string())?,
    }
    Ok(())
}

/// Reads all that the submit is made of, and warns of what is probably a mistake.
fn prepare(args: Args, out: &mut Output) -> anyhow::Result<Submit> {
    let Some(program) = args.command.first().filter(|program| !program.is_empty()) else {
        bail!("The command is empty: name the program to run.");
    };
    let stdin = args.stdin.then(|| read_stdin(out)).transpose()?;
    let found = directives::read(args.directives, program, stdin.as_deref())?;
    let options = Options { live: args.output, ..args.options.over(found.options) };
    let tasks = Tasks::of(&options, args.job.is_some())?;
    for warning in check(&options, tasks.ids.count(), &tasks.gaps)? {
        warn!("{warning}");
    }
    let bytes = |arg: OsString| Blob::from(arg.into_vec());
    if let [_] = args.command[..]
        && let Some(warning) = quoted(program)
    {
        warn!("{warning}");
    }
    let submit_dir = std::env::current_dir().context("cannot find out the working directory")?;
    let parts = Parts {
        options: &options,
        job: args.job,
        program,
        command: found.shebang.into_iter().chain(args.command.iter().cloned()).map(bytes).collect(),
        stdin: stdin.map(Blob::from),
        tasks,
    };
    build(parts, &submit_dir)
}

/// Warns of a whole command in quotes, which is the name of one program.
pub(super) fn quoted(program: &OsStr) -> Option<String> {
    let text = program.to_string_lossy();
    if !text.trim().contains(char::is_whitespace) || Path::new(program).exists() {
        return None;
    }
    Some(format!(
        "The program is called `{text}`, with blanks in its name, and there is none of that name here. Leave out the quotes, or let \
         a shell read them: hq submit bash -c '{}'",
        text.replace('\'', r"'\''")
    ))
}

fn read_stdin(out: &mut Output) -> anyhow::Result<Vec<u8>> {
    if out.mode() == Mode::Cli {
        out.line("Submitting with the data of standard input; it is read to its end")?;
        out.flush()?;
    }
    let mut data = Vec::new();
    io::stdin().take(PAYLOAD_MAX as u64 + 1).read_to_end(&mut data).context("cannot read standard input")?;
    if data.len() > PAYLOAD_MAX {
        bail!(
            "standard input holds more than {} MiB, which is what each worker can be sent of it: put the data into a file \
             that workers see, and let tasks read that, e.g. `hq submit -- sh -c 'PROGRAM < FILE'`",
            PAYLOAD_MAX >> 20
        );
    }
    Ok(data)
}
