/// Form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Tables and sentences.
    Cli,
    /// One JSON document.
    Json,
    /// Only what scripts need.
    Quiet,
}
