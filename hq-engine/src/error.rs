use hq_core::{ClientReply, JobId, Refusal, resource::ResourceParseError};

/// An engine could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The resources of a worker cannot be read.
    #[error("a worker's resources cannot be read")]
    Resources(#[from] ResourceParseError),
    /// A worker's resources make no sense.
    #[error("a worker's resources are refused")]
    Worker(#[from] hq_core::DefinitionError),
    /// The journal cannot be opened.
    #[error(transparent)]
    Journal(#[from] hq_journal::OpenError),
    /// A record of the journal cannot be read.
    #[error("cannot go on from the journal")]
    Read(#[from] hq_journal::ReadError),
    /// The journal contradicts itself.
    #[error("cannot go on from the journal: {0}")]
    History(String),
    /// The system has no random numbers.
    #[error("cannot get random numbers from the system: {0}")]
    Random(String),
    /// A name that is taken: of a registered function twice, or of a kind of the engine's own.
    #[error("`{0}` cannot be registered: the name is taken")]
    Registered(String),
    /// What was to be done at the start was not done.
    #[error(transparent)]
    Call(#[from] EngineError),
}

/// What was asked of an engine was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Refused, and why; nothing has changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The job cannot be handed over as it is; nothing has changed.
    #[error(transparent)]
    Job(#[from] crate::JobError),
    /// The engine has ended. What was asked for may have been done before.
    #[error("the engine has ended")]
    Ended,
    /// The job was forgotten.
    #[error("job {0} was forgotten")]
    Forgotten(JobId),
    /// An answer of another kind: an error in the engine.
    #[error("the engine gave an answer that does not fit the request")]
    Unexpected(Box<ClientReply>),
}

/// An engine did not end well: what was not made safe before is lost.
#[derive(Debug, thiserror::Error)]
#[error("the engine did not end well: {0}")]
pub struct ShutdownError(pub(crate) String);
