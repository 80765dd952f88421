use anyhow::bail;
use hq_core::{Gap, placeholder};

use super::Options;
use crate::{
    args::Channel,
    parse::StdioArg,
    program::{has_cwd, unknown, unknown_in_stream},
};

/// So many files in one directory make file systems slow.
const FILES_MAX: u64 = 999;

/// Looks for what is probably a mistake in the options of so many tasks.
///
/// # Errors
/// For what certainly is one.
pub(super) fn check(args: &Options, tasks: u64, gaps: &[Gap]) -> anyhow::Result<Vec<String>> {
    let mut warnings = Vec::new();
    let cwd = args.cwd.as_ref().map(|path| path.as_os_str().as_encoded_bytes());
    if let Some(cwd) = cwd {
        if let Some(error) = has_cwd(cwd) {
            bail!("{error}");
        }
        warnings.extend(unknown(cwd, gaps, "working directory path"));
    }
    for (arg, channel) in [(&args.stdout, Channel::Stdout), (&args.stderr, Channel::Stderr)] {
        if let Some(StdioArg::File { path: Some(path), .. }) = arg {
            warnings.extend(unknown(path, gaps, &format!("{} path", channel.name())));
            if tasks > 1 && !differs_by_task(path, cwd, gaps) {
                warnings.push(format!(
                    "You have submitted an array job, but the `{}` path does not contain the task ID placeholder. \
                     Consider adding `%{{TASK_ID}}` to it, or the tasks will overwrite each other's output.",
                    channel.name()
                ));
            }
        }
    }
    if let Some(stream) = &args.stream {
        warnings.extend(unknown_in_stream(stream.as_os_str().as_encoded_bytes()));
    }
    let is_file = |arg: &&Option<StdioArg>| match arg {
        Some(StdioArg::None) => false,
        Some(StdioArg::File { .. }) => true,
        None => args.stream.is_none() && !args.live,
    };
    let files = [&args.stdout, &args.stderr].into_iter().filter(is_file).count() as u64;
    if tasks.saturating_mul(files) > FILES_MAX {
        warnings.push(format!(
            "The job will create {} files for standard output and standard error. Consider `--stream DIR`, which puts \
             them into one file per worker, or `--stdout none` and `--stderr none`.",
            tasks.saturating_mul(files)
        ));
    }
    for (i, var) in args.env.iter().enumerate() {
        if args.env[..i].iter().any(|earlier| earlier.name == var.name) {
            let name = String::from_utf8_lossy(&var.name);
            warnings.push(format!("The variable `{name}` is given more than once; its last value is used."));
        }
    }
    if args.nodes.is_some_and(|nodes| nodes > 0) && !args.resource.is_empty() {
        warnings.push("Tasks on whole nodes use all of their resources; --resource is ignored.".to_owned());
    }
    Ok(warnings)
}

/// Whether each task has a path of its own: by its id or a value of its own, or by those of its directory.
fn differs_by_task(path: &[u8], cwd: Option<&[u8]>, gaps: &[Gap]) -> bool {
    let has = |template: &[u8], name: &str| placeholder::names(template).iter().any(|known| known == name);
    let is_in_cwd = has(path, "CWD") || !(path.starts_with(b"/") || has(path, "SUBMIT_DIR"));
    let differs = |template: &[u8]| has(template, "TASK_ID") || gaps.iter().any(|gap| has(template, &gap.name));
    differs(path) || (is_in_cwd && cwd.is_some_and(differs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::submit::tests::parse_submit;

    #[test]
    fn warnings() {
        const NO_ID: &str = "but the `stdout` path does not contain the task ID placeholder.";
        for (args, expected) in [
            (&["p"][..], None),
            (&["--array=1-2", "p"], None),
            (&["--array=1-2", "--stdout=x", "p"], Some(NO_ID)),
            (&["--array=1-2", "--stderr=x", "p"], Some("but the `stderr` path does not contain")),
            (&["--array=1", "--stdout=x", "p"], None),
            (&["--array=1-2", "--stdout=x%{TASK_ID}", "p"], None),
            (&["--array=1-2", "--stdout=%{CWD}/x", "--cwd=/d", "p"], Some(NO_ID)),
            (&["--array=1-2", "--stdout=%{CWD}/x", "--cwd=%{TASK_ID}", "p"], None),
            (&["--array=1-2", "--stdout=/x", "--cwd=%{TASK_ID}", "p"], Some(NO_ID)),
            (&["--array=1-2", "--stdout=x", "--cwd=%{TASK_ID}", "p"], None),
            (&["--array=1-2", "--stdout=none", "p"], None),
            (&["--stdout=%{FOO}", "p"], Some("Found unknown placeholder `FOO` in stdout path")),
            (&["--stderr=%{BAR}%{JOB_ID}%{BAZ}", "p"], Some("Found unknown placeholders `BAR, BAZ` in stderr path")),
            (&["--cwd=%{FOO}", "p"], Some("Found unknown placeholder `FOO` in working directory path")),
            (&["--stream=log-%{JOB_ID}-%{SUBMIT_DIR}-%{SERVER_UID}", "p"], None),
            (&["--stream=%{FOO}", "p"], Some("Found unknown placeholder `FOO` in log path")),
            (&["--stream=%{CWD}/%{TASK_ID}", "p"], Some("Found unknown placeholders `CWD, TASK_ID` in log path")),
            (&["--array=1-499", "p"], None),
            (&["--array=1-5000", "--stream=log", "p"], None),
            (&["--array=1-5000", "--stream=log", "--stderr=%{TASK_ID}", "p"], Some("5000 files")),
            (&["--array=1-500", "p"], Some("1000 files")),
            (&["--array=1-500", "--stdout=none", "p"], None),
            (&["--env=A=1", "--env=A=2", "p"], Some("`A` is given more than once")),
            (&["--nodes=2", "--resource=x=1", "p"], Some("--resource is ignored")),
        ] {
            let options = parse_submit(args).options;
            let tasks = options.array.as_ref().map_or(1, hq_core::IdList::len);
            let warnings = check(&options, tasks, &[]).expect("only warnings");
            match expected {
                None => assert_eq!(warnings, Vec::<String>::new(), "{args:?}"),
                Some(text) => {
                    assert_eq!(warnings.len(), 1, "{args:?}: {warnings:?}");
                    assert!(warnings[0].contains(text), "{args:?}: {warnings:?}");
                }
            }
        }
    }

    #[test]
    fn a_directory_cannot_be_in_itself() {
        let error = check(&parse_submit(&["--cwd=%{CWD}/x", "p"]).options, 1, &[]).expect_err("refused").to_string();
        assert_eq!(error, "Working directory path cannot contain the working directory placeholder `%{CWD}`.");
    }
}
