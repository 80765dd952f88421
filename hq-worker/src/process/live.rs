use hq_core::RunId;

use super::{Child, Task};

/// A run that has a process.
pub(super) struct Live<T: Task> {
    pub(super) run: RunId,
    pub(super) child: Child,
    pub(super) kept: T::Live,
}
