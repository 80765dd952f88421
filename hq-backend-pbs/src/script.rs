use hq_backend::{
    AllocationDir, AllocationRequest, BackendError, BatchRequest,
    script::{Launcher, clock, is_plain, worker_line},
};

use crate::backend::NAME;

/// The script of a request whose files lie in `dir`.
///
/// # Errors
/// Where the command of the workers cannot be put on a line.
pub(crate) fn render(
    request: &AllocationRequest,
    batch: &BatchRequest,
    dir: &AllocationDir,
) -> Result<String, BackendError> {
    let body = worker_line(NAME, Launcher::Pbsdsh, request, batch)?;
    let mut lines = vec!["#!/bin/bash".to_owned()];
    let mut head = |option: String| lines.push(format!("#PBS {option}"));
    head(format!("-l select={}", request.workers));
    head(format!("-N {}", batch.name));
    head(format!("-o {}", path(dir, "stdout")));
    head(format!("-e {}", path(dir, "stderr")));
    if let Some(limit) = request.time_limit {
        head(format!("-l walltime={}", clock(limit)));
    }
    if !batch.args.is_empty() {
        head(batch.args.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
    }
    if batch.is_trial {
        head("-h".to_owned());
    }
    Ok(format!("{}\n\n{body}\n", lines.join("\n")))
}

/// A path for an option in the head. `qsub` takes what is not absolute as of where it runs, which is that directory: so
/// one whose name PBS would read otherwise need not be written.
fn path(dir: &AllocationDir, file: &str) -> String {
    let text = dir.text(file);
    if is_plain(&text) && !text.contains([':', ',', '@', '=', '+']) { text } else { file.to_owned() }
}
