use hq_core::Tick;

/// Where an allocation is in its life, as far as its queue knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllocationState {
    /// It was decided to ask for it; whether the backend has it is not known.
    Intended,
    /// The backend has it, under this id; it has not begun.
    Queued {
        /// The backend's name for it.
        id: String,
    },
    /// It has begun.
    Running {
        /// The backend's name for it.
        id: String,
        /// Since when, as far as this life of the server knows.
        since: Tick,
    },
}

/// An allocation that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocationView<'a> {
    /// The engine's name for it.
    pub key: &'a str,
    /// Workers asked for.
    pub workers: u32,
    /// Where it is in its life.
    pub state: &'a AllocationState,
}

/// What is known of an allocation that has not ended.
#[derive(Debug)]
pub(super) struct Allocation {
    pub(super) workers: u32,
    pub(super) state: AllocationState,
    /// Workers of it that have come.
    pub(super) arrived: u32,
    /// The backend was told to end it.
    pub(super) is_canceled: bool,
}

impl Allocation {
    pub(super) const fn intended(workers: u32) -> Self {
        Self { workers, state: AllocationState::Intended, arrived: 0, is_canceled: false }
    }

    /// The backend's name for it, once it has one.
    pub(super) fn id(&self) -> Option<&str> {
        match &self.state {
            AllocationState::Intended => None,
            AllocationState::Queued { id } | AllocationState::Running { id, .. } => Some(id),
        }
    }

    pub(super) const fn is_running(&self) -> bool {
        matches!(self.state, AllocationState::Running { .. })
    }
}
