use std::{io, path::PathBuf};

use hq_core::{JobId, TaskNumber};

/// Why streamed output cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The directory cannot be read.
    #[error("Cannot read the stream directory `{path}`", path = path.display())]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be read any more.
    #[error("Cannot read the stream file `{path}`", path = path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no stream directory, or nothing was written yet.
    #[error("No log files found in `{path}`", path = path.display())]
    NoFiles {
        /// Where.
        path: PathBuf,
    },
    /// Several servers wrote there.
    #[error("Found streams from multiple server instances: {}; choose one with --server-uid", uids.join(", "))]
    ManyServers {
        /// Their uids, sorted.
        uids: Vec<String>,
    },
    /// None of the servers that wrote there.
    #[error("No streams of server `{uid}` found; there are those of: {}", uids.join(", "))]
    NoServer {
        /// The one asked for.
        uid: String,
        /// Those there are, sorted.
        uids: Vec<String>,
    },
    /// Nothing of this job.
    #[error("Job {0} not found")]
    NoJob(JobId),
    /// Nothing of this task.
    #[error("Task {0} not found")]
    NoTask(TaskNumber),
    /// The output goes on, or its end is lost.
    #[error("Stream for task {0} is not finished; use --allow-unfinished to see what there is")]
    Unfinished(TaskNumber),
}
