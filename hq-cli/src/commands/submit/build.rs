use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use hq_core::{
    ArgPiece, Blob, Gap, JobId, JobSpec, JobTarget, OnClose, PROGRAM_KIND, Pin, Profile, ProgramBody, ProgramSpec,
    ProgramTemplate, Request, ResourceEntry, ResourceName, Span, Stdio, Submit,
};

use super::{Options, tasks::Tasks};
use crate::{
    args::Channel,
    parse::{EnvVar, StdioArg},
    program,
};

/// What is submitted, from all places where it is said.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    /// Options of the command line and of directives.
    pub(super) options: &'a Options,
    /// The job that it is attached to.
    pub(super) job: Option<u32>,
    /// What was given on the command line: names the job.
    pub(super) program: &'a OsStr,
    /// The whole command, maybe with an interpreter before.
    pub(super) command: Vec<Blob>,
    /// What the tasks read.
    pub(super) stdin: Option<Blob>,
    /// The tasks.
    pub(super) tasks: Tasks,
}

/// The submit that the options describe, from directory `submit_dir`.
///
/// # Errors
/// For options that do not go together, and for what no program can be given.
pub(super) fn build(parts: Parts<'_>, submit_dir: &Path) -> anyhow::Result<Submit> {
    let options = parts.options;
    let job = target(&parts)?;
    let (profile, program) = describe(options, parts.command, parts.stdin, submit_dir)?;
    let body = body(program, parts.tasks.gaps, parts.tasks.longest)?;
    let shared = postcard::to_stdvec(&body).context("cannot encode the program")?;
    let submit = Submit::array(job, parts.tasks.ids, PROGRAM_KIND, shared.into(), profile);
    Ok(options.relations.apply(Submit { parts: parts.tasks.parts, ..submit }))
}

/// What tasks need and what they run.
///
/// # Errors
/// For options that do not go together.
pub(crate) fn describe(
    options: &Options,
    command: Vec<Blob>,
    stdin: Option<Blob>,
    submit_dir: &Path,
) -> anyhow::Result<(Profile, ProgramSpec)> {
    let profile = Profile {
        priority: options.priority.unwrap_or_default(),
        time_limit: options.time_limit,
        crash_limit: options.crash_limit.unwrap_or_default(),
        retry: options.retry.clone(),
        task_dir: options.task_dir,
        ..Profile::new(request(options)?)
    };
    profile.check().map_err(|reason| anyhow::anyhow!("{reason}"))?;
    Ok((profile, spec(options, command, stdin, submit_dir)))
}

/// The program with its gaps, if it has any.
///
/// # Errors
/// For what no program can be given.
fn body(program: ProgramSpec, gaps: Vec<Gap>, longest: usize) -> anyhow::Result<ProgramBody> {
    let args: Vec<Vec<ArgPiece>> = program.args.iter().map(|arg| ProgramTemplate::pieces(&gaps, arg)).collect();
    let used = args.iter().flatten().filter(|piece| matches!(piece, ArgPiece::Gap(_))).count();
    program::check(&program, longest.saturating_mul(used + 1))?;
    Ok(program::with_gaps(program, gaps))
}

fn target(parts: &Parts<'_>) -> anyhow::Result<JobTarget> {
    let options = parts.options;
    let Some(job) = parts.job else {
        let name = options.name.clone().unwrap_or_else(|| default_name(parts.program));
        return Ok(JobTarget::New(JobSpec { name, max_fails: options.max_fails }));
    };
    if options.name.is_some() {
        bail!("Parameter --name is not allowed when submitting to an open job.");
    }
    if options.max_fails.is_some() {
        bail!("Parameter --max-fails is not allowed when submitting to an open job.");
    }
    Ok(JobTarget::Attach(JobId(job)))
}

/// The program's name without its directory.
fn default_name(program: &OsStr) -> String {
    let name = Path::new(program).file_name();
    let name = name.map(|name| name.to_string_lossy().replace(['\n', '\t'], " "));
    name.unwrap_or_else(|| "job".to_owned())
}

fn request(args: &Options) -> anyhow::Result<Request> {
    let nodes = args.nodes.unwrap_or_default();
    let request = if nodes > 0 {
        // The parser sees only what stands on one side: the command line or the directives.
        if args.cpus.is_some() || args.pin.is_some() {
            bail!("--nodes cannot be combined with --cpus or --pin");
        }
        Request::gang(nodes)
    } else {
        let mut entries = args.resource.clone();
        let names_cpus = entries.iter().any(|entry| entry.resource.as_str() == ResourceName::CPUS);
        match args.cpus {
            Some(_) if names_cpus => bail!("--cpus and --resource cpus=... cannot be combined"),
            Some(quantity) => entries.push(ResourceEntry { resource: ResourceName::cpus(), quantity }),
            None if names_cpus => {}
            None => entries.extend_from_slice(Request::cpus(1)?.entries()),
        }
        Request::new(entries)?
    };
    let request = request.with_min_time(args.time_request.unwrap_or(Span::ZERO));
    Ok(match args.weight {
        Some(weight) => request.with_weight(weight)?,
        None => request,
    })
}

/// Variables by their last value.
fn last_of_each(env: &[EnvVar]) -> impl Iterator<Item = &EnvVar> {
    env.iter()
        .enumerate()
        .filter(|(i, var)| env[i + 1..].iter().all(|later| later.name != var.name))
        .map(|(_, var)| var)
}

fn spec(args: &Options, command: Vec<Blob>, stdin: Option<Blob>, submit_dir: &Path) -> ProgramSpec {
    let bytes = |text: &OsStr| Blob::from(text.as_bytes());
    let cwd = args.cwd.clone().unwrap_or_else(|| PathBuf::from("%{SUBMIT_DIR}"));
    ProgramSpec {
        args: command,
        env: last_of_each(&args.env).map(|var| (var.name.clone().into(), var.value.clone().into())).collect(),
        cwd: bytes(cwd.as_os_str()),
        stdout: stdio(args.stdout.as_ref(), args, Channel::Stdout),
        stderr: stdio(args.stderr.as_ref(), args, Channel::Stderr),
        stdin,
        submit_dir: bytes(submit_dir.as_os_str()),
        pin: args.pin.map_or(Pin::None, Into::into),
        task_dir: args.task_dir,
    }
}

fn stdio(arg: Option<&StdioArg>, args: &Options, channel: Channel) -> Stdio {
    let usual = || channel.usual_path().into_bytes();
    match arg {
        None => match &args.stream {
            Some(dir) => Stdio::Stream { dir: dir.as_os_str().as_bytes().into() },
            None if args.live => Stdio::Live,
            None => Stdio::File { path: usual().into(), on_close: OnClose::Keep },
        },
        Some(StdioArg::None) => Stdio::Null,
        Some(StdioArg::File { path, on_close }) => {
            Stdio::File { path: path.clone().unwrap_or_else(usual).into(), on_close: *on_close }
        }
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{IdList, TaskIds};

    use super::*;
    use crate::{
        commands::submit::tests::parse_submit,
        view::{Body, body},
    };

    fn try_build(args: &[&str]) -> anyhow::Result<Submit> {
        let args = parse_submit(args);
        let tasks = Tasks::of(&args.options, args.job.is_some())?;
        let command: Vec<Blob> = args.command.iter().map(|arg| arg.as_bytes().into()).collect();
        let parts =
            Parts { options: &args.options, job: args.job, program: &args.command[0], command, stdin: None, tasks };
        build(parts, "/w".as_ref())
    }

    fn built(args: &[&str]) -> Submit {
        try_build(args).expect("builds")
    }

    fn refused(args: &[&str]) -> String {
        format!("{:#}", try_build(args).expect_err("refused"))
    }

    fn spec_of(args: &[&str]) -> ProgramSpec {
        let Body::Array(spec) = body(&built(args)) else { panic!("not a program") };
        spec
    }

    #[test]
    fn defaults() {
        let submit = built(&["/usr/bin/env", "--x", "-V"]);
        assert_eq!(submit.job, JobTarget::New(JobSpec { name: "env".into(), max_fails: None }));
        assert_eq!(submit.ids, TaskIds::Given(IdList::range(0, 1)));
        assert_eq!(submit.profiles, [Profile::new(Request::cpus(1).expect("a request"))]);
        let file = |path: &str| Stdio::File { path: path.as_bytes().into(), on_close: OnClose::Keep };
        let expected = ProgramSpec {
            args: ["/usr/bin/env", "--x", "-V"].map(|arg| arg.as_bytes().into()).into(),
            cwd: b"%{SUBMIT_DIR}"[..].into(),
            stdout: file("%{CWD}/job-%{JOB_ID}/%{TASK_ID}.stdout"),
            stderr: file("%{CWD}/job-%{JOB_ID}/%{TASK_ID}.stderr"),
            submit_dir: b"/w"[..].into(),
            ..ProgramSpec::default()
        };
        assert_eq!(spec_of(&["/usr/bin/env", "--x", "-V"]), expected);
    }

    #[test]
    fn all_options_arrive() {
        let args = [
            "--name=n",
            "--max-fails=3",
            "--cpus=2 scatter",
            "--resource=x=0.5",
            "--time-request=1h",
            "--weight=2.5",
            "--pin=omp",
            "--cwd=d",
            "--stdout=none",
            "--stderr=:rm-if-finished",
            "--env=A=1",
            "--env=B",
            "--array=1-3",
            "--priority=-7",
            "--time-limit=500ms",
            "--task-dir",
            "--crash-limit=never-restart",
            "--",
            "p",
            "--name=q",
        ];
        let submit = built(&args);
        assert_eq!(submit.job, JobTarget::New(JobSpec { name: "n".into(), max_fails: Some(3) }));
        assert_eq!(submit.ids, TaskIds::Given(IdList::range(1, 3)));
        let entries = ["cpus=2 scatter", "x=0.5"].map(|entry| ResourceEntry::parse(entry).expect("an entry"));
        let request = Request::new(entries.into()).expect("a request").with_min_time(Span::secs(3600));
        let expected = Profile {
            priority: -7,
            time_limit: Some(Span::millis(500)),
            crash_limit: hq_core::CrashLimit::NeverRestart,
            task_dir: true,
            ..Profile::new(request.with_weight(25_000).expect("a weight"))
        };
        assert_eq!(submit.profiles, [expected]);
        let spec = spec_of(&args);
        assert_eq!(spec.args, ["p", "--name=q"].map(|arg| Blob::from(arg.as_bytes())));
        let env = [("A", "1"), ("B", "")].map(|(name, value)| (name.as_bytes().into(), value.as_bytes().into()));
        assert_eq!(spec.env, env);
        assert_eq!((&spec.cwd[..], spec.stdout, spec.pin, spec.task_dir), (&b"d"[..], Stdio::Null, Pin::OpenMp, true));
        let usual = b"%{CWD}/job-%{JOB_ID}/%{TASK_ID}.stderr"[..].into();
        assert_eq!(spec.stderr, Stdio::File { path: usual, on_close: OnClose::RemoveIfFinished });
    }

    #[test]
    fn streams_are_for_what_has_no_place_of_its_own() {
        let stream = Stdio::Stream { dir: b"log/%{JOB_ID}"[..].into() };
        let file = Stdio::File { path: b"x"[..].into(), on_close: OnClose::Keep };
        for (more, stdout, stderr) in [
            (&[][..], &stream, &stream),
            (&["--stdout=x"], &file, &stream),
            (&["--stderr=x"], &stream, &file),
            (&["--stdout=none", "--stderr=x"], &Stdio::Null, &file),
        ] {
            let spec = spec_of(&[&["--stream=log/%{JOB_ID}"], more, &["p"]].concat());
            assert_eq!((&spec.stdout, &spec.stderr), (stdout, stderr), "{more:?}");
        }
    }

    #[test]
    fn gangs_and_open_jobs() {
        assert_eq!(built(&["--nodes=3", "p"]).profiles, [Profile::new(Request::gang(3))]);
        let submit = built(&["--job=5", "p"]);
        assert_eq!((submit.job, submit.ids), (JobTarget::Attach(JobId(5)), TaskIds::Next(1)));
        assert_eq!(built(&["--job=5", "--array=2", "p"]).ids, TaskIds::Given(IdList::range(2, 1)));
    }

    #[test]
    fn what_does_not_go_together() {
        for (args, expected) in [
            (&["--cpus=1", "--resource=cpus=2", "p"][..], "--cpus and --resource cpus=... cannot be combined"),
            (&["--resource=foo=1", "--resource=foo=2", "p"], "Resource 'foo' defined more than once"),
            (&["--job=1", "--name=n", "p"], "Parameter --name is not allowed when submitting to an open job."),
            (
                &["--job=1", "--max-fails=1", "p"],
                "Parameter --max-fails is not allowed when submitting to an open job.",
            ),
        ] {
            assert_eq!(refused(args), expected);
        }
    }

    #[test]
    fn names() {
        for (program, expected) in [("/bin/bash", "bash"), ("a\nb", "a b"), ("/", "job"), ("..", "job")] {
            assert_eq!(default_name(program.as_ref()), expected);
        }
    }
}
