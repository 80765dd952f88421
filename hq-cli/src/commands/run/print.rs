//! What tasks printed, from their files to our outputs.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use tokio::task::spawn_blocking;

use crate::output::{Mode, Output, StdoutClosed};

/// The file of what a run printed.
pub(super) fn output(dir: &Path, id: u32, channel: &str) -> PathBuf {
    dir.join(format!("{id}.{channel}"))
}

/// Prints what a run printed. A thread of its own writes: whoever reads may keep it waiting, and signals are minded
/// meanwhile. Dropped, it may still write.
///
/// # Errors
/// Where there is no such file although the run ended well, and the system's.
pub(super) async fn print(dir: &Path, id: u32, ended_well: bool, out: &mut Output) -> anyhow::Result<()> {
    let path = output(dir, id, "out");
    // Where there is a document, it is all of standard output.
    if out.mode() != Mode::Json {
        out.flush()?;
        out.wrote_all();
        if !copy(path.clone(), io::stdout().as_fd()).await? && ended_well {
            bail!(
                "what the tasks print is not in `{}`: the working directory has to be shared with the workers; use --stdout and --stderr",
                dir.display()
            );
        }
    }
    // Nobody can be told where standard error is closed.
    let _ = copy(output(dir, id, "err"), io::stderr().as_fd()).await;
    Ok(())
}

/// Says whether the file is there. Past the buffers and locks of the standard library: a thread that is kept waiting holds
/// none of them.
async fn copy(path: PathBuf, to: BorrowedFd<'_>) -> anyhow::Result<bool> {
    let mut to = File::from(to.try_clone_to_owned().context("cannot write to standard output")?);
    spawn_blocking(move || {
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", path.display())),
        };
        match io::copy(&mut file, &mut to) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(StdoutClosed.into()),
            Err(error) => Err(error).context("cannot print what a task printed"),
        }
    })
    .await?
}
