use hq_backend::{
    AllocationDir, AllocationRequest, BackendError, BackendErrorKind, BatchRequest,
    script::{Launcher, clock, double_quote, is_plain, worker_line},
};

use crate::backend::NAME;

/// The script of a request whose files lie in `dir`.
///
/// # Errors
/// Where Slurm cannot be told so.
pub(crate) fn render(
    request: &AllocationRequest,
    batch: &BatchRequest,
    dir: &AllocationDir,
) -> Result<String, BackendError> {
    let body = worker_line(NAME, Launcher::Srun, request, batch)?;
    let mut lines = vec!["#!/bin/bash".to_owned()];
    let mut head = |option: String| lines.push(format!("#SBATCH {option}"));
    head(format!("--nodes={}", request.workers));
    head(format!("--job-name={}", batch.name));
    head(format!("--output={}", path(&dir.text("stdout"))?));
    head(format!("--error={}", path(&dir.text("stderr"))?));
    if let Some(limit) = request.time_limit {
        head(format!("--time={}", clock(limit)));
    }
    if !batch.args.is_empty() {
        head(batch.args.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
    }
    Ok(format!("{}\n\n{body}\n", lines.join("\n")))
}

/// A path for an option in the head. Slurm replaces what begins with `%`, also if it is doubled in a directory, and a
/// backslash switches that off in its own way: neither can be written.
fn path(text: &str) -> Result<String, BackendError> {
    if text.contains(['%', '\\']) {
        let message =
            format!("Slurm cannot write to {text:?}: it has a `%` or `\\`; start the server in another directory");
        return Err(BackendError::new(BackendErrorKind::Files, NAME, "submit", message));
    }
    Ok(if is_plain(text) { text.to_owned() } else { header_quote(text) })
}

/// `sbatch` knows no `\$`: within double quotes only `"` has to be escaped.
fn header_quote(text: &str) -> String {
    double_quote(text).replace("\\$", "$").replace("\\`", "`")
}
