use std::{
    fs::{self, File},
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
};

use hq_core::{
    OnClose, ProgramSpec, Stdio,
    placeholder::{self, Placeholders},
};

use super::{failure, lookup::to_path, open::open_output, why::Why};
use crate::stream::{Feed, pipe};

/// The outputs of a run.
#[derive(Default)]
pub(super) struct Outputs {
    stdout: Output,
    stderr: Output,
    /// What is streamed.
    stream: Option<Stream>,
}

struct Stream {
    feed: Feed,
    /// Our ends of pipes, by channel.
    pipes: [Option<OwnedFd>; 2],
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
    /// The program's end of a pipe.
    Pipe(OwnedFd),
}

/// Files to remove if the run finishes.
pub(super) type Removals = Vec<PathBuf>;

impl Outputs {
    /// Creates the files, and the directories on their way, and empties those that exist. `join` joins the run to the
    /// stream file of a directory, or to those who listen.
    ///
    /// # Errors
    /// Says what could not be created; where that is the working directory `cwd`, that.
    pub(super) fn create(
        spec: &ProgramSpec,
        cwd: &[u8],
        known: &Placeholders<'_>,
        join: impl FnOnce(Option<&Path>) -> Result<Feed, String>,
    ) -> Result<Self, Why> {
        let mut this = Self::files(spec, cwd, known)?;
        let piped = [&spec.stdout, &spec.stderr].map(|stdio| match stdio {
            Stdio::Stream { dir } => Some(Some(dir)),
            Stdio::Live => Some(None),
            Stdio::Null | Stdio::File { .. } => None,
        });
        let Some(target) = piped[0].or(piped[1]) else { return Ok(this) };
        if piped.iter().flatten().any(|other| *other != target) {
            return Err("both outputs of a task have to be streamed into the same directory".to_owned().into());
        }
        let feed = join(target.map(|dir| placeholder::stream_dir(dir, known)).as_deref().map(to_path))?;
        let mut pipes = [None, None];
        for (channel, output) in [&mut this.stdout, &mut this.stderr].into_iter().enumerate() {
            if piped[channel].is_some() {
                let why =
                    |error| Why::of_io(format!("cannot create a pipe for the output of the task: {error}"), &error);
                let made = pipe().map_err(why)?;
                (pipes[channel], *output) = (Some(made.0), Output::Pipe(made.1));
            }
        }
        this.stream = Some(Stream { feed, pipes });
        Ok(this)
    }

    fn files(spec: &ProgramSpec, cwd: &[u8], known: &Placeholders<'_>) -> Result<Self, Why> {
        let path = |stdio: &Stdio| match stdio {
            Stdio::Null | Stdio::Stream { .. } | Stdio::Live => None,
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
            stream: None,
        })
    }

    /// Standard output and standard error; `null` for what goes nowhere.
    pub(super) fn descriptors<'a>(&'a self, null: BorrowedFd<'a>) -> [BorrowedFd<'a>; 2] {
        let stdout = match &self.stdout {
            Output::File { file, .. } => file.as_fd(),
            Output::Pipe(pipe) => pipe.as_fd(),
            Output::Same | Output::Null => null,
        };
        let stderr = match &self.stderr {
            Output::File { file, .. } => file.as_fd(),
            Output::Pipe(pipe) => pipe.as_fd(),
            Output::Same => stdout,
            Output::Null => null,
        };
        [stdout, stderr]
    }

    /// Takes the feed, if the run has one: for a run whose program was not started.
    pub(super) fn into_feed(self) -> Option<Feed> {
        self.stream.map(|stream| stream.feed)
    }

    /// Closes our ends of what the program has for itself now, and begins to read its pipes.
    pub(super) fn begin(self) -> (Removals, Option<Feed>) {
        let removal = |output| match output {
            Output::File { path, on_close: OnClose::RemoveIfFinished, .. } => Some(path),
            Output::File { .. } | Output::Pipe(_) | Output::Same | Output::Null => None,
        };
        let removals = [self.stdout, self.stderr].into_iter().filter_map(removal).collect();
        let feed = self.stream.map(|Stream { feed, pipes }| {
            feed.begin(pipes);
            feed
        });
        (removals, feed)
    }
}

fn create(path: &[u8], cwd: &[u8], on_close: OnClose) -> Result<Output, Why> {
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
        match bad_cwd {
            Some(error) => Why::of_io(failure::of_cwd(&error, cwd), &error),
            None => Why::of_io(format!("cannot create the output file `{}`: {error}", path.display()), &error),
        }
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
