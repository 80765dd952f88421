use super::{Order, PassRule, QueueView, Rank, order::part};

/// EASY backfilling (Mu'alem and Feitelson, 2001): what is first and has no room gets a reservation, and what does not delay
/// it may start before it. The order in which the others are tried, and in which they become first, is to be chosen.
///
/// What has no estimate comes last, unless the order is that of arrival. Ranks do not depend on the present; where there
/// are no estimates, measured means change them as tasks end.
#[derive(Clone, Copy, Debug)]
pub struct EasyBackfill {
    name: &'static str,
    key: fn(&QueueView) -> i64,
}

impl EasyBackfill {
    /// In order of arrival.
    pub const ARRIVAL: Self = Self { name: "easy-backfill", key: |_| 0 };
    /// The shortest first. Long ones may starve.
    pub const SHORTEST: Self =
        Self { name: "easy-shortest", key: |queue| queue.expected_run().map_or(i64::MAX, |run| part(run.0)) };
    /// The smallest area (share of the cluster × time) first. Large ones may starve.
    pub const SMALLEST: Self = Self {
        name: "easy-smallest",
        key: |queue| queue.expected_run().map_or(i64::MAX, |run| part(queue.area_of(run).0)),
    };
}

impl Order for EasyBackfill {
    fn name(&self) -> &str {
        self.name
    }

    fn rank(&self, queue: &QueueView) -> Rank {
        ((self.key)(queue), part(queue.head.0))
    }

    fn stride(&self, queue: &QueueView) -> u64 {
        queue.head_run
    }

    fn pass_rule(&self) -> PassRule {
        PassRule::Shadow
    }
}
