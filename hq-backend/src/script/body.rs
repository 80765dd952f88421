use hq_core::Span;

use super::quote::{double_quote, is_plain, quote, single_quote};
use crate::{AllocationRequest, BackendError, BackendErrorKind, BatchRequest};

/// How a manager starts one worker on each node of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// `srun --overlap --ntasks=N --nodes=N COMMAND`
    Srun,
    /// `pbsdsh -- bash -l -c 'COMMAND'`
    Pbsdsh,
}

/// The line of a script that starts the workers of a request: one on each of its nodes.
///
/// `[START && ][RUST_LOG=… ][WRAP ]COMMAND[; STOP]`, on every node.
///
/// # Errors
/// Where the command cannot be put on one line.
pub fn worker_line(
    backend: &str,
    launcher: Launcher,
    request: &AllocationRequest,
    batch: &BatchRequest,
) -> Result<String, BackendError> {
    let refused = |message: &str| BackendError::new(BackendErrorKind::Unsupported, backend, "submit", message);
    if request.command.is_empty() {
        return Err(refused("no command to start a worker is known: the engine listens to nobody"));
    }
    if request.command.iter().any(|word| word.text.chars().any(char::is_control)) {
        return Err(refused("a word of the worker's command has a control character"));
    }
    let words: Vec<String> = request.command.iter().map(ToString::to_string).collect();
    let command = words.join(" ");
    let simple = batch.wrap_command.as_ref().map_or(command.clone(), |wrap| format!("{wrap} {command}"));
    let mut line = match &batch.rust_log {
        None => simple,
        Some(level) if level.chars().any(char::is_control) => return Err(refused("RUST_LOG has a control character")),
        Some(level) if is_plain(level) => format!("RUST_LOG={level} {simple}"),
        Some(level) => format!("RUST_LOG={} {simple}", double_quote(level)),
    };
    if let Some(start) = &batch.start_command {
        line = format!("{start} && {line}");
    }
    if let Some(stop) = &batch.stop_command {
        line = format!("{line}; {stop}");
    }
    if request.workers <= 1 {
        return Ok(line);
    }
    Ok(match launcher {
        Launcher::Pbsdsh => format!("pbsdsh -- bash -l -c {}", single_quote(&line)),
        Launcher::Srun => {
            let n = request.workers;
            // What `srun` starts is a program, not a line of a shell.
            let each = if is_one_program(batch) { line } else { format!("bash -c {}", single_quote(&line)) };
            format!("srun --overlap --ntasks={n} --nodes={n} {each}")
        }
    })
}

/// Whether the line is a program with its arguments and nothing that a shell would have to do.
fn is_one_program(batch: &BatchRequest) -> bool {
    let wrap = batch.wrap_command.as_ref().map_or("", |wrap| wrap.as_str());
    let mut wraps = wrap.split_whitespace();
    let is_program = wraps.next().is_none_or(|program| is_plain(program) && quote(program) == program);
    batch.rust_log.is_none()
        && batch.start_command.is_none()
        && batch.stop_command.is_none()
        && is_program
        && wraps.all(is_plain)
}

/// A length of time as `HH:MM:SS`, rounded up to whole seconds; there may be more than 99 hours.
pub fn clock(span: Span) -> String {
    let seconds = span.0.div_ceil(1_000_000);
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}
