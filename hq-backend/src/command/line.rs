use std::{borrow::Cow, path::PathBuf, time::Duration};

/// Time for a command to answer.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// Bytes that are kept of each of its outputs.
const OUTPUT_BYTES_MAX: usize = 10 << 20;

/// A command to be run: a program and its arguments, never a line of a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The program, looked for in `PATH`.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Where it runs; where this process does if none is given or that one is gone.
    pub dir: Option<PathBuf>,
    /// What it reads.
    pub stdin: Vec<u8>,
    /// Changes of the environment; without a value the variable is taken out.
    pub env: Vec<(&'static str, Option<String>)>,
    /// It is killed after that.
    pub time_limit: Duration,
    /// Bytes kept of each output; what comes after is read and dropped.
    pub output_bytes_max: usize,
}

impl CommandLine {
    /// A command with a minute to answer, which reads nothing.
    pub fn new<T: Into<String>>(program: &str, args: impl IntoIterator<Item = T>) -> Self {
        Self {
            program: program.to_owned(),
            args: args.into_iter().map(Into::into).collect(),
            dir: None,
            stdin: vec![],
            env: vec![],
            time_limit: TIME_LIMIT,
            output_bytes_max: OUTPUT_BYTES_MAX,
        }
    }

    /// The same in this directory.
    #[must_use]
    pub fn in_dir(mut self, dir: Option<PathBuf>) -> Self {
        self.dir = dir;
        self
    }

    /// The same with another time to answer.
    #[must_use]
    pub const fn within(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// The same as a question: answers are not in a local language, and times are of UTC. What is submitted must not
    /// run like this, since jobs inherit the environment.
    #[must_use]
    pub fn in_plain_words(mut self) -> Self {
        let plain = [("LC_ALL", Some("C")), ("TZ", Some("UTC0")), ("SLURM_TIME_FORMAT", None)];
        self.env.extend(plain.map(|(name, value)| (name, value.map(str::to_owned))));
        self
    }
}

/// How a command ended, and what it said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandOutput {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// The first bytes of its output.
    pub stdout: Vec<u8>,
    /// The first bytes of its errors.
    pub stderr: Vec<u8>,
    /// Whether it said more than was kept.
    pub is_cut: bool,
}

impl CommandOutput {
    /// Whether its exit code is 0.
    pub const fn is_success(&self) -> bool {
        matches!(self.code, Some(0))
    }

    /// What it said, any bytes that are no text replaced.
    pub fn out(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stdout)
    }

    /// Its errors, any bytes that are no text replaced.
    pub fn err(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stderr)
    }
}
