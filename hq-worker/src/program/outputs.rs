use std::{
    fs::{self, File},
    io,
    os::fd::{AsFd, BorrowedFd},
    path::{Path, PathBuf},
};

use hq_core::{
    OnClose, ProgramSpec, Stdio,
    placeholder::{self, Placeholders},
};

use super::{failure, lookup::to_path, open::open_output};

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
    /// Says what could not be created; where that is the working directory `cwd`, that.
    pub(super) fn create(spec: &ProgramSpec, cwd: &[u8], known: &Placeholders<'_>) -> Result<Self, String> {
        let path = |stdio: &Stdio| match stdio {
            Stdio::Null => None,
            Stdio::File { path, on_close } => Some((placeholder::output_path(path, cwd, known), *on_close)),
        };
        let (stdout, stderr) = (path(&spec.stdout), path(&spec.stderr));
        let same = stdout.is_some() && stdout.as_ref().map(|(path, _)| path) == stderr.as_ref().map(|(path, _)| path);
        Ok(Self {
            stdout: stdout.map_or(Ok(Output::Null), |(path, on_close)| create(&path, cwd, on_close))?,
            stderr: match stderr {
                _ if same => Output::Same,
                Some((path, on_close)) => create(&path, cwd, on_close)?,
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

fn create(path: &[u8], cwd: &[u8], on_close: OnClose) -> Result<Output, String> {
    let path = to_path(path);
    let file = open_output(path).or_else(|error| match path.parent() {
        Some(parent) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(parent)?;
            open_output(path)
        }
        _ => Err(error),
    });
    let file = file.map_err(|error| {
        let bad_cwd = path.starts_with(to_path(cwd)).then(|| why_no_directory(cwd)).flatten();
        bad_cwd.map_or_else(
            || format!("cannot create the output file `{}`: {error}", path.display()),
            |error| failure::of_cwd(&error, cwd),
        )
    })?;
    Ok(Output::File { file, path: path.to_owned(), on_close })
}

/// What is wrong with a directory that there should be; none where it is one.
fn why_no_directory(path: &[u8]) -> Option<io::Error> {
    let path = if path.is_empty() { Path::new(".") } else { to_path(path) };
    fs::create_dir_all(path).err().map(|error| match fs::metadata(path) {
        Ok(data) if !data.is_dir() => io::Error::from_raw_os_error(libc::ENOTDIR),
        _ => error,
    })
}
