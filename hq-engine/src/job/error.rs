use hq_core::TaskNumber;

/// A job cannot be handed over as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// No task in it.
    #[error("a job needs at least one task")]
    Empty,
    /// A task waits for one that does not come before it.
    #[error("task {task} cannot wait for task {on}: it has to be added to the job before")]
    Dependency {
        /// The task that waits.
        task: TaskNumber,
        /// What it waits for.
        on: TaskNumber,
    },
    /// The tasks of an array cannot wait for each other.
    #[error("the tasks of an array cannot have dependencies")]
    ArrayDependency,
    /// Arguments that have no form in JSON.
    #[error("the arguments for `{kind}` cannot be serialised: {reason}")]
    Arguments {
        /// Name of the function.
        kind: String,
        /// Why.
        reason: String,
    },
    /// More than the engine counts.
    #[error("the job is too large: {0}")]
    TooLarge(&'static str),
    /// The directory that programs start in is not known.
    #[error("cannot find out the current directory: {0}")]
    Directory(String),
}
