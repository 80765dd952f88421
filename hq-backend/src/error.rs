use std::{fmt, sync::Arc};

use crate::CommandFailure;

/// A backend could not do what it was asked for.
#[derive(Clone, Debug, thiserror::Error)]
#[error("allocator `{backend}` could not {operation}: {message}")]
pub struct BackendError {
    /// To branch on.
    pub kind: BackendErrorKind,
    /// Name of the backend.
    pub backend: String,
    /// What was asked, e.g. `submit`.
    pub operation: &'static str,
    /// What went wrong, in one line.
    pub message: String,
    /// Whether it may have been done all the same: a submit without an answer, say.
    pub is_in_doubt: bool,
    /// Where it came from.
    #[source]
    pub source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackendErrorKind {
    /// The manager does not answer, or is too busy. The same request may succeed later.
    Unavailable,
    /// A limit of how much the user may have is reached. The same request may succeed later.
    Limited,
    /// The manager does not want this request, now or later.
    Rejected,
    /// The request is beyond the backend's [`Capability`](crate::Capability).
    Unsupported,
    /// The answer of the manager makes no sense.
    Unexpected,
    /// The manager's program cannot be started on this machine.
    Missing,
    /// A file of the allocation cannot be written.
    Files,
}

impl BackendErrorKind {
    /// Whether the same request may succeed later.
    pub const fn is_temporary(self) -> bool {
        matches!(self, Self::Unavailable | Self::Limited)
    }
}

impl fmt::Display for BackendErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unavailable => "unavailable",
            Self::Limited => "limited",
            Self::Rejected => "rejected",
            Self::Unsupported => "unsupported",
            Self::Unexpected => "unexpected",
            Self::Missing => "missing",
            Self::Files => "files",
        })
    }
}

impl BackendError {
    /// An error without a source, and without a doubt.
    pub fn new(
        kind: BackendErrorKind,
        backend: impl Into<String>,
        operation: &'static str,
        message: impl Into<String>,
    ) -> Self {
        let (backend, message) = (backend.into(), message.into());
        Self { kind, backend, operation, message, is_in_doubt: false, source: None }
    }

    /// The same with what caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// The same, and it may have been done all the same.
    #[must_use]
    pub const fn in_doubt(mut self) -> Self {
        self.is_in_doubt = true;
        self
    }

    /// Whether the same request may succeed later.
    pub const fn is_temporary(&self) -> bool {
        self.kind.is_temporary()
    }

    /// The command that failed, if it was one.
    pub fn command(&self) -> Option<&CommandFailure> {
        self.source.as_ref()?.downcast_ref()
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn what_may_succeed_later() {
        for (kind, temporary) in [
            (BackendErrorKind::Unavailable, true),
            (BackendErrorKind::Limited, true),
            (BackendErrorKind::Rejected, false),
            (BackendErrorKind::Unsupported, false),
            (BackendErrorKind::Unexpected, false),
            (BackendErrorKind::Missing, false),
            (BackendErrorKind::Files, false),
        ] {
            assert_eq!(BackendError::new(kind, "local", "submit", "no").is_temporary(), temporary, "{kind:?}");
        }
    }

    #[test]
    fn one_line_and_a_source() {
        let error = BackendError::new(BackendErrorKind::Rejected, "local", "submit", "it is full")
            .with_source(std::io::Error::other("disk"));
        assert_eq!(error.to_string(), "allocator `local` could not submit: it is full");
        assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("disk"));
        assert!(error.command().is_none());
    }
}
