use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use hq_core::{JobId, TaskNumber, TaskRun};

use crate::{
    StreamError,
    file::EXTENSION,
    index::{FileFacts, Index, Run, first_head},
    scan::Damage,
    source::Source,
};

/// Files that are kept open at a time, at most.
pub(crate) const OPEN_MAX: usize = 200;

/// A stream directory: all that its files hold, found again by job and task.
///
/// Memory follows the number of runs, not what they printed. Files may be written to meanwhile; what comes later is not
/// seen.
#[derive(Debug)]
pub struct StreamDir {
    path: PathBuf,
    pub(crate) files: Vec<File>,
    pub(crate) index: Index,
}

/// A stream file of the directory.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    pub(crate) state: FileState,
}

#[derive(Debug)]
pub(crate) enum FileState {
    /// Another server's: left out.
    Foreign,
    /// It cannot be read.
    Unreadable(io::Error),
    /// Read, as far as it is whole.
    Read(FileFacts),
}

/// What is known of the newest run of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamInfo {
    /// The run.
    pub run: TaskRun,
    /// Bytes that are there, by channel.
    pub sizes: [u64; 2],
    /// Whether the run has ended and said so.
    pub is_finished: bool,
    /// Whether something of what it printed is known to be lost.
    pub is_damaged: bool,
}

impl StreamDir {
    /// Reads all files of a directory, or those of one server.
    ///
    /// # Errors
    /// Where there is none, or where the files of several servers are and none is named. Damaged and unreadable files are
    /// none: see [`warnings`](Self::warnings).
    pub fn open(path: &Path, server_uid: Option<&str>) -> Result<Self, StreamError> {
        let paths = stream_files(path)?;
        let is_wanted = choose(&paths, server_uid)?;
        let keep = paths.len() <= OPEN_MAX;
        let mut index = Index::default();
        let mut files = Vec::with_capacity(paths.len());
        for (path, is_wanted) in paths.into_iter().zip(is_wanted) {
            let number = files.len() as u32;
            let state = if is_wanted {
                let read = Source::new(&path, keep).and_then(|source| index.read(number, source));
                read.map_or_else(FileState::Unreadable, FileState::Read)
            } else {
                FileState::Foreign
            };
            files.push(File { path, state });
        }
        index.sort();
        Ok(Self { path: path.to_owned(), files, index })
    }

    /// As it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Jobs with output, by id.
    pub fn jobs(&self) -> impl Iterator<Item = JobId> {
        let jobs: BTreeSet<JobId> = self.index.tasks.keys().map(|(job, _)| *job).collect();
        jobs.into_iter()
    }

    /// Tasks of a job, by number.
    pub fn tasks(&self, job: JobId) -> impl Iterator<Item = StreamInfo> {
        let all = (job, TaskNumber(0))..=(job, TaskNumber(u32::MAX));
        self.index.tasks.range(all).filter_map(|((job, task), runs)| Some(info(*job, *task, runs.first()?)))
    }

    /// One task.
    ///
    /// # Errors
    /// Where nothing of it, or of its job, is there.
    pub fn task(&self, job: JobId, task: TaskNumber) -> Result<StreamInfo, StreamError> {
        self.newest(job, task).map(|run| info(job, task, run))
    }

    pub(crate) fn newest(&self, job: JobId, task: TaskNumber) -> Result<&Run, StreamError> {
        match self.index.tasks.get(&(job, task)).and_then(|runs| runs.first()) {
            Some(run) => Ok(run),
            None if self.tasks(job).next().is_none() => Err(StreamError::NoJob(job)),
            None => Err(StreamError::NoTask(task)),
        }
    }

    /// One line per file that is not as it should be.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.files.iter().filter_map(|file| {
            let path = file.path.display();
            match &file.state {
                FileState::Unreadable(error) => Some(format!("The stream file `{path}` cannot be read: {error}")),
                // One in which nothing of ours was found is another program's.
                FileState::Read(FileFacts { damage, salt: Some(_), .. }) if !damage.is_none() => {
                    let Damage { places, bytes, .. } = damage;
                    let s = if *places == 1 { "" } else { "s" };
                    Some(format!(
                        "The stream file `{path}` is damaged: {bytes} bytes in {places} place{s} were passed over, outputs \
                         are partial"
                    ))
                }
                FileState::Read(_) | FileState::Foreign => None,
            }
        })
    }
}

fn info(job: JobId, task: TaskNumber, run: &Run) -> StreamInfo {
    StreamInfo {
        run: TaskRun { job, task, instance: run.instance },
        sizes: run.sizes,
        is_finished: run.end.is_some(),
        is_damaged: run.is_damaged(),
    }
}

/// The stream files in a directory, by name.
fn stream_files(path: &Path) -> Result<Vec<PathBuf>, StreamError> {
    let error = |source| StreamError::Directory { path: path.to_owned(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(error)? {
        let file = entry.map_err(error)?.path();
        // A directory or pipe of that name is none; a link may lead to one.
        let is_file = || fs::metadata(&file).is_ok_and(|data| data.is_file());
        if file.extension().is_some_and(|extension| extension == EXTENSION) && is_file() {
            files.push(file);
        }
    }
    if files.is_empty() {
        return Err(StreamError::NoFiles { path: path.to_owned() });
    }
    files.sort();
    Ok(files)
}

/// Which of these files belong to the server that is asked for. One that does not say whose it is belongs to anyone's.
fn choose(paths: &[PathBuf], server_uid: Option<&str>) -> Result<Vec<bool>, StreamError> {
    let uid = |path: &PathBuf| {
        let head = Source::new(path, true).and_then(first_head);
        head.ok().flatten().map(|head| head.server_uid)
    };
    let of_file: Vec<Option<String>> = paths.iter().map(uid).collect();
    let known: BTreeSet<&String> = of_file.iter().flatten().collect();
    let uids = || known.iter().map(|uid| uid.to_string()).collect();
    match server_uid {
        None if known.len() > 1 => Err(StreamError::ManyServers { uids: uids() }),
        Some(uid) if !known.is_empty() && known.iter().all(|known| *known != uid) => {
            Err(StreamError::NoServer { uid: uid.to_owned(), uids: uids() })
        }
        _ => Ok(of_file
            .iter()
            .map(|of_file| match (of_file, server_uid) {
                (Some(of_file), Some(uid)) => of_file == uid,
                _ => true,
            })
            .collect()),
    }
}
