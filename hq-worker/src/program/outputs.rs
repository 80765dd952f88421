use std::{
    fs::{self, File, OpenOptions},
    io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::fs::OpenOptionsExt,
    },
    path::PathBuf,
};

use hq_core::{
    OnClose, ProgramSpec, Stdio,
    placeholder::{self, Placeholders},
};
use rustix::fs::{OFlags, fcntl_setfl};

use super::lookup::to_path;

/// The output files of a run.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    stdout: Output,
    stderr: Output,
}

#[derive(Debug, Default)]
enum Output {
    #[default]
    Null,
    /// The same file as standard output.
    Same,
    File {
        file: File,
        path: PathBuf,
        on_close: OnClose,
    },
}

/// Files to remove if the run finishes.
pub(super) type Removals = Vec<PathBuf>;

impl Outputs {
    /// Creates the files, and the directories on their way, and empties those that exist.
    ///
    /// # Errors
    /// Says what could not be created.
    pub(super) fn create(spec: &ProgramSpec, cwd: &[u8], known: &Placeholders<'_>) -> Result<Self, String> {
        let path = |stdio: &Stdio| match stdio {
            Stdio::Null => None,
            Stdio::File { path, on_close } => Some((placeholder::output_path(path, cwd, known), *on_close)),
        };
        let (stdout, stderr) = (path(&spec.stdout), path(&spec.stderr));
        let same = stdout.is_some() && stdout.as_ref().map(|(path, _)| path) == stderr.as_ref().map(|(path, _)| path);
        Ok(Self {
            stdout: stdout.map_or(Ok(Output::Null), |(path, on_close)| create(&path, on_close))?,
            stderr: match stderr {
                _ if same => Output::Same,
                Some((path, on_close)) => create(&path, on_close)?,
                None => Output::Null,
            },
        })
    }

    /// Standard output and standard error; `null` for what goes nowhere.
    pub(super) fn descriptors<'a>(&'a self, null: BorrowedFd<'a>) -> [BorrowedFd<'a>; 2] {
        let stdout = match &self.stdout {
            Output::File { file, .. } => file.as_fd(),
            Output::Same | Output::Null => null,
        };
        let stderr = match &self.stderr {
            Output::File { file, .. } => file.as_fd(),
            Output::Same => stdout,
            Output::Null => null,
        };
        [stdout, stderr]
    }

    /// Closes our ends; the program has its own.
    pub(super) fn into_removals(self) -> Removals {
        let removal = |output| match output {
            Output::File { path, on_close: OnClose::RemoveIfFinished, .. } => Some(path),
            Output::File { .. } | Output::Same | Output::Null => None,
        };
        [self.stdout, self.stderr].into_iter().filter_map(removal).collect()
    }
}

fn create(path: &[u8], on_close: OnClose) -> Result<Output, String> {
    let path = to_path(path);
    let file = open(path).or_else(|error| match path.parent() {
        Some(parent) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(parent)?;
            open(path)
        }
        _ => Err(error),
    });
    let file = file.map_err(|error| format!("cannot create the output file `{}`: {error}", path.display()))?;
    Ok(Output::File { file, path: path.to_owned(), on_close })
}

fn open(path: &std::path::Path) -> io::Result<File> {
    // Without O_NONBLOCK, opening a pipe that nobody reads would hold up the other tasks of the worker.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().write(true).create(true).truncate(true).custom_flags(flags).open(path)?;
    fcntl_setfl(&file, OFlags::empty())?;
    super::run::above_stdio(file.into()).map(File::from)
}
