use hq_backend::{BackendError, BackendErrorKind, CommandError, CommandFailure, CommandOutput};

use crate::backend::NAME;

/// What PBS says when its server cannot answer; the second column tells whether it may have done what was asked.
const AWAY: [(&str, bool); 12] = [
    ("connection refused", false),
    ("cannot connect to server", false),
    ("couldn't connect to cluster", false),
    ("unknown host", false),
    ("queue is not enabled", false),
    ("server shutting down", false),
    ("communication failure", true),
    ("end of file", true),
    ("premature end of message", true),
    ("protocol error", true),
    ("timed out", true),
    ("connection reset", true),
];
/// What it says when the user has too much already.
const LIMITS: [&str; 5] =
    ["maximum number of jobs", "would exceed", "exceeds limit", "limit on number of jobs", "too many jobs"];
/// Codes of a server that is away.
const AWAY_CODES: [i32; 2] = [162, 255];

/// Whether the answer is of a server that cannot be reached.
pub(crate) fn is_away(output: &CommandOutput) -> bool {
    let said = output.err().to_ascii_lowercase();
    AWAY.iter().any(|(text, _)| said.contains(text)) || output.code.is_some_and(|code| AWAY_CODES.contains(&code))
}

/// Whether PBS does not know the job.
pub(crate) fn is_unknown(output: &CommandOutput) -> bool {
    output.code == Some(153) || output.err().contains("Unknown Job Id")
}

/// Whether the job has ended, and PBS tells no more.
pub(crate) fn is_over(output: &CommandOutput) -> bool {
    output.code == Some(35) || output.err().contains("has finished")
}

/// The error of a command that failed.
pub(crate) fn refusal(
    operation: &'static str,
    program: &str,
    outcome: Result<CommandOutput, CommandError>,
) -> BackendError {
    let (kind, is_in_doubt) = match &outcome {
        Err(CommandError::Start(_)) => (BackendErrorKind::Missing, false),
        Err(CommandError::TimedOut { .. }) | Ok(CommandOutput { code: None, .. }) => {
            (BackendErrorKind::Unavailable, true)
        }
        Ok(output) if output.is_success() => (BackendErrorKind::Unexpected, true),
        Ok(output) => kind(output),
    };
    let failure = CommandFailure { program: program.to_owned(), outcome };
    let error = BackendError::new(kind, NAME, operation, failure.brief()).with_source(failure);
    // To ask again does no harm.
    if is_in_doubt && operation == "submit" { error.in_doubt() } else { error }
}

fn kind(output: &CommandOutput) -> (BackendErrorKind, bool) {
    let said = output.err().to_ascii_lowercase();
    if let Some((_, is_in_doubt)) = AWAY.iter().find(|(text, _)| said.contains(text)) {
        return (BackendErrorKind::Unavailable, *is_in_doubt);
    }
    if LIMITS.iter().any(|text| said.contains(text)) {
        return (BackendErrorKind::Limited, false);
    }
    let is_away = output.code.is_some_and(|code| AWAY_CODES.contains(&code));
    (if is_away { BackendErrorKind::Unavailable } else { BackendErrorKind::Rejected }, false)
}
