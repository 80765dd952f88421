use hq_backend::{BackendError, BackendErrorKind, CommandError, CommandFailure, CommandOutput};

use crate::backend::NAME;

/// What Slurm says when it cannot answer; the second column tells whether it may have done what was asked.
const AWAY: [(&str, bool); 16] = [
    ("Unable to contact slurm controller", false),
    ("Unable to contact slurmctld", false),
    ("Socket timed out", true),
    ("Zero Bytes were transmitted or received", true),
    ("Unexpected message received", true),
    ("Connection reset", true),
    ("Insane message length", true),
    ("Connection refused", false),
    ("Connection timed out", false),
    ("in standby mode", false),
    ("temporarily unable to accept job", false),
    ("Resource temporarily unavailable", false),
    ("Required partition not available", false),
    ("Protocol authentication error", false),
    ("Unable to process configuration file", false),
    ("Slurm controller not responding", false),
];

/// What it says when the user has too much already.
const LIMITS: [&str; 9] = [
    "job submit limit",
    "MaxSubmitJob",
    "MaxJobs",
    "GrpSubmit",
    "Job violates accounting/QOS policy",
    "exceeds limit",
    "rate limit",
    "too many jobs",
    "Maximum number of jobs",
];

/// What it says of a job that it does not know.
pub(crate) const UNKNOWN_JOB: &str = "Invalid job id specified";

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
        Ok(output) => kind(&output.err()),
    };
    let failure = CommandFailure { program: program.to_owned(), outcome };
    let error = BackendError::new(kind, NAME, operation, failure.brief()).with_source(failure);
    // To ask again does no harm.
    if is_in_doubt && operation == "submit" { error.in_doubt() } else { error }
}

fn kind(said: &str) -> (BackendErrorKind, bool) {
    let said = said.to_ascii_lowercase();
    let has = |text: &str| said.contains(&text.to_ascii_lowercase());
    if let Some((_, is_in_doubt)) = AWAY.iter().find(|(text, _)| has(text)) {
        return (BackendErrorKind::Unavailable, *is_in_doubt);
    }
    if LIMITS.iter().any(|text| has(text)) {
        return (BackendErrorKind::Limited, false);
    }
    (BackendErrorKind::Rejected, false)
}
