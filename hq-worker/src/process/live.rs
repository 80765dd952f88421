use hq_core::RunId;
use hq_node::StopHow;

use super::{Child, Task};

/// A run that has a process.
pub(super) struct Live<T: Task> {
    pub(super) run: RunId,
    pub(super) child: Child,
    pub(super) kept: T::Live,
    /// It was told to end.
    pub(super) stopped: Option<StopHow>,
}
