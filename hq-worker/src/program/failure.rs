//! Why a task failed, in words that callers know.

use std::{
    fs::OpenOptions,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use hq_core::{FailCause, Failure as RunFailure, ProgramSpec};

use super::{
    lookup::{interpreter, to_path},
    why::Why,
};
use crate::process::{Failure, ProcessEnd, Stage};

/// The most that is read of a task's error file.
const ERROR_FILE_MAX: usize = 2048;

/// The most that is shown of a command, in characters.
const COMMAND_MAX: usize = 1024;

/// What a shell says where what it ran was killed.
const KILLED: i32 = 128 + libc::SIGKILL;

/// How a program ended; none: well. `was_oom_kill`: asked where somebody else killed it, or one of its processes.
pub(super) fn of_end(
    end: &ProcessEnd,
    error_file: Option<&Path>,
    was_oom_kill: impl Fn() -> bool,
) -> Option<RunFailure> {
    let (cause, text) = match end {
        ProcessEnd::Exited(0) => return None,
        ProcessEnd::Exited(KILLED) if was_oom_kill() => {
            let text = format!(
                "Program terminated with exit code {KILLED}. One of its processes was oom-killed: memory ran out."
            );
            (FailCause::OutOfMemory, text)
        }
        ProcessEnd::Exited(code) => (FailCause::Exit(*code), format!("Program terminated with exit code {code}.")),
        ProcessEnd::Signaled(libc::SIGKILL) if was_oom_kill() => {
            let text = "Program was oom-killed: memory ran out. Received signal 9 (SIGKILL).";
            (FailCause::OutOfMemory, text.to_owned())
        }
        ProcessEnd::Signaled(signal) => {
            let name = signal_name(*signal);
            let text = format!("Program terminated with exit code -1. Received signal {signal} ({name}).");
            (FailCause::Signal(*signal), text)
        }
        ProcessEnd::Unknown(error) => {
            let error = format!("cannot learn how the program ended: {error}");
            return Some(RunFailure { cause: FailCause::Other, error });
        }
    };
    Some(RunFailure { cause, error: error_file.and_then(from_file).unwrap_or(text) })
}

/// What the task itself says; none where it made no error file.
fn from_file(path: &Path) -> Option<String> {
    // It is the task's to make: no link, pipe or device of its making is followed or waited for.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::with_capacity(ERROR_FILE_MAX);
    if let Err(error) = file.take(ERROR_FILE_MAX as u64).read_to_end(&mut bytes) {
        return Some(format!("the error file of the task cannot be read: {error}"));
    }
    if bytes.is_empty() {
        return Some("Task created an error file, but it is empty".to_owned());
    }
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if bytes.len() == ERROR_FILE_MAX {
        text.push_str("\n[The message was truncated]");
    }
    Some(text)
}

/// Why a program could not be started in directory `cwd`.
pub(super) fn of_start(failure: Failure, spec: &ProgramSpec, cwd: &[u8]) -> Why {
    let error = io::Error::from_raw_os_error(failure.errno);
    let text = match failure.stage {
        Stage::Clone if failure.errno == libc::ENOSYS => {
            "cannot start a process: Linux 5.4 or newer is needed".to_owned()
        }
        Stage::Clone => format!("cannot start a process: {error}"),
        Stage::Setup => format!("cannot set up the process of the task: {error}"),
        Stage::Directory => of_cwd(&error, cwd),
        Stage::Exec => of_exec(failure.errno, spec, cwd),
    };
    Why::of_errno(text, failure.errno)
}

/// Why there is no working directory `cwd`.
pub(super) fn of_cwd(error: &io::Error, cwd: &[u8]) -> String {
    format!("cannot use the working directory `{}`: {error}", to_path(cwd).display())
}

/// Why a program could not be executed.
pub(super) fn of_exec(errno: i32, spec: &ProgramSpec, cwd: &[u8]) -> String {
    let name = spec.args.first().map_or(&[][..], |arg| arg);
    let shown = String::from_utf8_lossy(name);
    let mut text = format!("Cannot execute \"{}\": {}", command(spec), io::Error::from_raw_os_error(errno));
    let file = to_path(cwd).join(to_path(name));
    match errno {
        libc::ENOENT if name.contains(&b'/') && file.is_file() => {
            let interpreter = interpreter(&file).unwrap_or_else(|| "the one it was linked for".to_owned());
            text += &format!("\nThe file `{shown}` exists, but its interpreter (`{interpreter}`) was not found.");
        }
        libc::ENOENT => {
            text += &format!("\nThe program that you have tried to execute (`{shown}`) was not found.");
            if !name.is_empty() && !name.contains(&b'/') && file.is_file() {
                text += &format!("\nThe file `{}` exists, maybe you have meant `./{shown}` instead?", file.display());
            }
        }
        libc::EACCES if name.ends_with(b".sh") => {
            text += &format!("\nThe script that you have tried to execute (`{shown}`) is not executable.");
            text += "\nTry making it executable or add a shebang line to it.";
        }
        libc::EACCES if file.is_file() => {
            text += &format!("\nThe file that you have tried to execute (`{shown}`) is not executable.");
        }
        _ => {}
    }
    text
}

fn command(spec: &ProgramSpec) -> String {
    let mut text = String::new();
    for arg in &spec.args {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&String::from_utf8_lossy(arg));
        if let Some((end, _)) = text.char_indices().nth(COMMAND_MAX) {
            text.truncate(end);
            text.push('…');
            break;
        }
    }
    text
}

fn signal_name(signal: i32) -> &'static str {
    const NAMES: [&str; 31] = [
        "SIGHUP",
        "SIGINT",
        "SIGQUIT",
        "SIGILL",
        "SIGTRAP",
        "SIGABRT",
        "SIGBUS",
        "SIGFPE",
        "SIGKILL",
        "SIGUSR1",
        "SIGSEGV",
        "SIGUSR2",
        "SIGPIPE",
        "SIGALRM",
        "SIGTERM",
        "SIGSTKFLT",
        "SIGCHLD",
        "SIGCONT",
        "SIGSTOP",
        "SIGTSTP",
        "SIGTTIN",
        "SIGTTOU",
        "SIGURG",
        "SIGXCPU",
        "SIGXFSZ",
        "SIGVTALRM",
        "SIGPROF",
        "SIGWINCH",
        "SIGIO",
        "SIGPWR",
        "SIGSYS",
    ];
    let index = usize::try_from(signal - 1).unwrap_or(usize::MAX);
    NAMES.get(index).copied().unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn ends() {
        for (end, text) in [
            (ProcessEnd::Exited(0), None),
            (ProcessEnd::Exited(1), Some("Program terminated with exit code 1.")),
            (ProcessEnd::Signaled(9), Some("Program terminated with exit code -1. Received signal 9 (SIGKILL).")),
            (ProcessEnd::Signaled(2), Some("Program terminated with exit code -1. Received signal 2 (SIGINT).")),
            (ProcessEnd::Signaled(40), Some("Program terminated with exit code -1. Received signal 40 (unknown).")),
        ] {
            let found = of_end(&end, None, || false);
            assert_eq!(found.as_ref().map(|failure| failure.error.as_str()), text);
        }
        assert_eq!(signal_name(libc::SIGSYS), "SIGSYS");
    }

    #[test]
    fn causes() {
        for (end, oom_kills, cause) in [
            (ProcessEnd::Exited(137), false, FailCause::Exit(137)),
            (ProcessEnd::Exited(137), true, FailCause::OutOfMemory),
            (ProcessEnd::Exited(1), true, FailCause::Exit(1)),
            (ProcessEnd::Signaled(9), false, FailCause::Signal(9)),
            (ProcessEnd::Signaled(9), true, FailCause::OutOfMemory),
            (ProcessEnd::Signaled(15), true, FailCause::Signal(15)),
        ] {
            let failure = of_end(&end, None, || oom_kills).unwrap();
            assert_eq!((failure.cause, failure.error.contains("oom-killed")), (cause, cause == FailCause::OutOfMemory));
        }
        for (errno, is_lack) in
            [(libc::EAGAIN, true), (libc::EMFILE, true), (libc::ENOENT, false), (libc::EACCES, false)]
        {
            let failure = Failure { stage: Stage::Clone, errno };
            assert_eq!(of_start(failure, &ProgramSpec::default(), b"/").is_lack, is_lack, "{errno}");
        }
    }

    #[test]
    fn error_files() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("hq-error");
        let text = |end| of_end(&end, Some(&file), || false).map(|failure| failure.error);
        assert_eq!(text(ProcessEnd::Exited(1)).unwrap(), "Program terminated with exit code 1.");
        let long = "x".repeat(2048);
        let cut = format!("{long}\n[The message was truncated]");
        for (content, shown) in [
            ("", "Task created an error file, but it is empty"),
            ("bad\n", "bad\n"),
            (&long[..2047], &long[..2047]),
            (&long, &cut),
            (&(long.clone() + "y"), &cut),
        ] {
            fs::write(&file, content).unwrap();
            assert_eq!(text(ProcessEnd::Exited(1)).unwrap(), shown);
            assert_eq!(text(ProcessEnd::Signaled(9)).unwrap(), shown);
            assert_eq!(text(ProcessEnd::Exited(0)), None);
        }
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &file).unwrap();
        assert_eq!(text(ProcessEnd::Exited(1)).unwrap(), "Program terminated with exit code 1.");
    }
}
