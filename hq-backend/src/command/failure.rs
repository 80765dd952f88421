use std::{fmt, io, sync::Arc, time::Duration};

use super::line::CommandOutput;

/// A command did not come to its end.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CommandError {
    /// It was not started.
    #[error("{0}")]
    Start(Arc<io::Error>),
    /// It did not end in time and was killed.
    #[error("no end after {}", humane(.limit))]
    TimedOut {
        /// The time that it had.
        limit: Duration,
        /// What it had said until then.
        output: CommandOutput,
    },
}

/// A command that did not do what it was run for: all that is known of it, in a few lines.
#[derive(Clone, Debug)]
pub struct CommandFailure {
    /// The program.
    pub program: String,
    /// How it ended.
    pub outcome: Result<CommandOutput, CommandError>,
}

/// Bytes that are shown of each output.
const SHOWN_MAX: usize = 4096;

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = &self.program;
        match &self.outcome {
            Err(CommandError::Start(e)) => {
                write!(f, "{program} start failed: {e}")?;
                start_advice(e).map_or(Ok(()), |advice| write!(f, "\nThe program `{program}` is {advice}"))
            }
            Err(error @ CommandError::TimedOut { output, .. }) => {
                write!(f, "{program} execution failed: {error}")?;
                write!(f, "\nStderr: {}\nStdout: {}", shown(&output.stderr), shown(&output.stdout))
            }
            Ok(output) => {
                write!(f, "{program} execution failed")?;
                match output.code {
                    Some(code) => write!(f, "\nExit code: {code}")?,
                    None => write!(f, "\nEnded by a signal")?,
                }
                write!(f, "\nStderr: {}\nStdout: {}", shown(&output.stderr), shown(&output.stdout))
            }
        }
    }
}

impl std::error::Error for CommandFailure {}

impl CommandFailure {
    /// The same in one line: the first line of its errors, or else of its output.
    pub fn brief(&self) -> String {
        let program = &self.program;
        let output = match &self.outcome {
            Err(CommandError::Start(e)) => {
                return format!("{program}: {}", start_advice(e).map_or_else(|| e.to_string(), str::to_owned));
            }
            Err(error) => return format!("{program}: {error}"),
            Ok(output) => output,
        };
        let line = |text: &[u8]| shown(text).lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned);
        let said = line(&output.stderr).or_else(|| line(&output.stdout));
        let how = output.code.map_or("was ended by a signal".to_owned(), |code| format!("ended with {code}"));
        said.map_or_else(|| format!("{program} {how} and said nothing"), |said| format!("{program} {how}: {said}"))
    }
}

/// What is the matter with a program that cannot be started, and what to do about it.
fn start_advice(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        io::ErrorKind::NotFound => Some(
            "not in the PATH of the server: start the server where it is installed (a login node, maybe after \
             `module load`), with its directory in PATH",
        ),
        io::ErrorKind::PermissionDenied => Some("in the PATH of the server and not executable: see its mode"),
        _ => None,
    }
}

/// The beginning of it as text without control characters other than ends of lines.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_MAX)]);
    text.trim().chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect()
}

fn humane(limit: &Duration) -> hq_core::Span {
    (*limit).into()
}
