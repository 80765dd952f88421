/// An error with lines below it, such as a piece of a file and a caret.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct WithLines {
    /// What is wrong, in one line.
    pub(crate) text: String,
    /// What is shown below it. Each is made inert by itself.
    pub(crate) lines: Vec<String>,
}
