//! The body of a task that is a program.

use serde::{Deserialize, Serialize};

use crate::{Blob, ProgramTemplate};

/// Shared bytes of a submit of kind `program`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProgramBody {
    /// All tasks run this; a task's own part, if the submit has parts, is its `HQ_ENTRY`.
    Same(ProgramSpec),
    /// Each task's own part is a [`ProgramSpec`] in the encoding of this body.
    PerTask,
    /// All tasks run this; a task's own part is the list of values (`Vec<Blob>`) for its gaps, in the encoding of this body.
    Template(Box<ProgramTemplate>),
}

/// A program to run. Texts are bytes: whatever the system allows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramSpec {
    /// The program and its arguments; at least one.
    pub args: Vec<Blob>,
    /// Added to the worker's environment, in order; a later one of the same name wins.
    pub env: Vec<(Blob, Blob)>,
    /// Working directory; may hold placeholders, may be relative to `submit_dir`.
    pub cwd: Blob,
    /// Where standard output goes.
    pub stdout: Stdio,
    /// Where standard error goes.
    pub stderr: Stdio,
    /// What the program reads; none: nothing.
    pub stdin: Option<Blob>,
    /// Where the submit came from.
    pub submit_dir: Blob,
    /// Pinning to the granted cpus.
    pub pin: Pin,
    /// A temporary directory for each run.
    pub task_dir: bool,
}

/// Where an output goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stdio {
    /// Nowhere.
    #[default]
    Null,
    /// To a file; the path may hold placeholders and may be relative to the working directory.
    File {
        /// The path.
        path: Blob,
        /// What happens to it at the end.
        on_close: OnClose,
    },
    /// Into a file that the worker has for all outputs of this directory.
    Stream {
        /// The directory; may hold placeholders of the job (see [`stream_dir`](crate::placeholder::stream_dir)), may be
        /// relative to `submit_dir`.
        dir: Blob,
    },
    /// To the clients that listen to the job (see [`ClientRequest::Listen`](crate::ClientRequest::Listen)); while none does,
    /// nowhere.
    Live,
}

/// What happens to an output file at the end of its task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnClose {
    /// It stays.
    #[default]
    Keep,
    /// It is removed if the task finished.
    RemoveIfFinished,
}

/// How a program is kept on its cpus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pin {
    /// Not at all.
    #[default]
    None,
    /// By `taskset`.
    Taskset,
    /// By the variables of OpenMP.
    OpenMp,
}
