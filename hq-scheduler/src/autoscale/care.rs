use std::collections::{BTreeMap, VecDeque};

use hq_core::Tick;

use super::health::Health;

/// What is known of a queue beside the book. It begins anew after a restart.
#[derive(Clone, Debug, Default)]
pub(super) struct Mind {
    pub(super) health: Health,
    /// Sizes of the allocations to ask for next.
    pub(super) plan: VecDeque<u32>,
    /// The allocation that is being asked for; one after the other, so that none is asked for after a failure.
    pub(super) submitting: Option<String>,
    /// By the allocation's number.
    pub(super) cares: BTreeMap<u64, Care>,
    /// Submissions that failed and whose directories are still there.
    pub(super) failed: VecDeque<u64>,
    /// A question about allocations is under way.
    pub(super) is_asking: bool,
    /// A dry run is under way.
    pub(super) is_probing: bool,
    /// Since when nobody waits for a machine.
    pub(super) idle_since: Option<Tick>,
    /// When a queue whose allocations failed tries again.
    pub(super) retry_at: Option<Tick>,
}

/// What is known of an allocation beside the book.
#[derive(Clone, Debug, Default)]
pub(super) struct Care {
    /// Answers without a state, in a row.
    pub(super) errors: u32,
    /// A look for it that is due or under way.
    pub(super) find: Option<Find>,
    /// It is to be ended.
    pub(super) cancel: Option<Cancel>,
    /// Its workers did not come in time.
    pub(super) is_late: bool,
    /// It did well for long enough.
    pub(super) has_proved: bool,
}

/// A look for an allocation whose fate is not known.
#[derive(Clone, Debug, Default)]
pub(super) struct Find {
    /// When; none: it is under way.
    pub(super) at: Option<Tick>,
    /// How often it was not there.
    pub(super) misses: u32,
    /// Until then it may still be asked for, by a command that an earlier server began: that it is missing proves nothing.
    pub(super) until: Tick,
    /// Why its fate is not known.
    pub(super) why: String,
}

/// The end of an allocation that was decided on.
#[derive(Clone, Debug, Default)]
pub(super) struct Cancel {
    /// When to say so; none: it is under way, or done.
    pub(super) at: Option<Tick>,
    /// Whether the backend was told and has not answered.
    pub(super) is_out: bool,
    /// How often that failed.
    pub(super) tries: u32,
}
