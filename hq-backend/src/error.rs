/// A backend could not do what it was asked for.
#[derive(Debug, thiserror::Error)]
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
    /// Where it came from.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackendErrorKind {
    /// The manager does not answer, or is too busy. The same request may succeed later.
    Unavailable,
    /// The manager does not want this request, now or later.
    Rejected,
    /// The request is beyond the backend's [`Capability`](crate::Capability).
    Unsupported,
    /// The answer of the manager makes no sense.
    Unexpected,
}

impl BackendError {
    /// An error without a source.
    pub fn new(
        kind: BackendErrorKind,
        backend: impl Into<String>,
        operation: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self { kind, backend: backend.into(), operation, message: message.into(), source: None }
    }

    /// The same with what caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Whether the same request may succeed later.
    pub const fn is_temporary(&self) -> bool {
        matches!(self.kind, BackendErrorKind::Unavailable)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;

    use super::*;

    #[test]
    fn only_an_absent_manager_is_temporary() {
        for (kind, temporary) in [
            (BackendErrorKind::Unavailable, true),
            (BackendErrorKind::Rejected, false),
            (BackendErrorKind::Unsupported, false),
            (BackendErrorKind::Unexpected, false),
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
    }
}
