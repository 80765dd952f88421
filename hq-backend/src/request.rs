use std::{fmt, path::PathBuf, sync::Arc};

use hq_core::{Span, WorkerConfig};

use crate::script;

/// Bytes of a name at most.
const NAME_MAX: usize = 64;

/// What is wanted of a backend: one allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocationRequest {
    /// The engine's name for it, never used twice; letters, digits, `-` and `_`. The backend keeps it with the
    /// allocation where it can, so that [`find`](crate::AllocatorBackend::find) works.
    pub key: String,
    /// Workers wanted; at least 1.
    pub workers: u32,
    /// The allocation's life at most.
    pub time_limit: Option<Span>,
    /// The program and arguments that start one worker of it; empty where the engine listens to nobody.
    pub command: Vec<Word>,
    /// What one of its workers shall be, where the queue says so.
    pub worker: Option<Arc<WorkerConfig>>,
    /// What managers of batch jobs need besides.
    pub batch: Option<BatchRequest>,
}

/// A batch job: its files, its name, and what the user adds to its script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchRequest {
    /// Where script, id and outputs of this allocation lie, and of no other; absolute. The backend creates it.
    /// It tells allocations apart where a manager gives an id twice.
    pub directory: PathBuf,
    /// How the job is called.
    pub name: JobName,
    /// More arguments of the submission.
    pub args: Vec<ExtraArg>,
    /// A command before the worker's; the worker is not started if it fails.
    pub start_command: Option<ShellLine>,
    /// Words before the worker's command.
    pub wrap_command: Option<ShellLine>,
    /// A command after the worker's, however it ended.
    pub stop_command: Option<ShellLine>,
    /// `RUST_LOG` of the worker.
    pub rust_log: Option<String>,
    /// Whether it is cancelled at once: a manager that can holds it in its queue.
    pub is_trial: bool,
}

impl BatchRequest {
    /// A job without anything that a user adds.
    pub const fn new(directory: PathBuf, name: JobName) -> Self {
        Self {
            directory,
            name,
            args: vec![],
            start_command: None,
            wrap_command: None,
            stop_command: None,
            rust_log: None,
            is_trial: false,
        }
    }
}

/// A word of a command, and how a script shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word itself.
    pub text: String,
    /// Whether scripts have it in quotes, needed or not.
    pub is_quoted: bool,
}

impl Word {
    /// Shown in quotes.
    pub fn quoted(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_quoted: true }
    }
}

/// Shown in quotes where a shell needs them.
impl<T: Into<String>> From<T> for Word {
    fn from(text: T) -> Self {
        Self { text: text.into(), is_quoted: false }
    }
}

/// As a shell reads it.
impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_quoted {
            f.write_str(&script::double_quote(&self.text))
        } else {
            f.write_str(&script::quote(&self.text))
        }
    }
}

/// Why a text cannot be part of a batch script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptTextError {
    /// A name with other characters, or too long.
    #[error(
        "`{0}` is no name of an allocation: it needs 1 to 64 of the characters A-Z a-z 0-9 . _ -, the first no `-`"
    )]
    Name(String),
    /// A control character, which could begin a line of its own.
    #[error("`{0}` has a control character, which a line of a script cannot hold")]
    Control(String),
    /// Nothing at all.
    #[error("an empty text cannot be part of a script")]
    Empty,
}

macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $check:path) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct $name(String);

        impl $name {
            /// Checks a text.
            ///
            /// # Errors
            /// What is wrong with it.
            pub fn new(text: impl Into<String>) -> Result<Self, ScriptTextError> {
                let text = text.into();
                $check(&text)?;
                Ok(Self(text))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text!(
    /// Name of a batch job: 1 to 64 of `A-Z a-z 0-9 . _ -`, the first no `-`.
    JobName,
    check_name
);
text!(
    /// An argument that a user adds to the submission: one line without control characters.
    ExtraArg,
    check_line
);
text!(
    /// A command in the words of a shell, on one line.
    ShellLine,
    check_line
);

fn check_name(text: &str) -> Result<(), ScriptTextError> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if text.is_empty() || text.len() > NAME_MAX || text.starts_with('-') || !text.chars().all(is_good) {
        return Err(ScriptTextError::Name(script::shorten(text)));
    }
    Ok(())
}

fn check_line(text: &str) -> Result<(), ScriptTextError> {
    if text.is_empty() {
        return Err(ScriptTextError::Empty);
    }
    if text.chars().any(char::is_control) {
        return Err(ScriptTextError::Control(script::shorten(text)));
    }
    Ok(())
}
