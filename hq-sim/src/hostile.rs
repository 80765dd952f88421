//! Policies that propose anything: the core has to refuse what does not fit, whatever they say.

use std::cell::Cell;

use hq_core::{Fact, Rng};
use hq_scheduler::policy::{Order, PassRule, Placement, PlacementKey, QueueView, Rank, SlotView};

use crate::model::Model;

/// Names of the orders.
pub(crate) const ORDERS: [&str; 5] =
    ["hostile-constant", "hostile-extreme", "hostile-random", "hostile-backwards", FICKLE];
/// Names of the placements.
pub(crate) const PLACEMENTS: [&str; 4] = ["hostile-constant", "hostile-extreme", "hostile-random", FICKLE];

/// Says something else each time it is asked.
const FICKLE: &str = "hostile-fickle";

/// Whether a fact may be the whim of a policy that decides anew whenever it is asked.
pub(crate) fn is_whim(model: &Model, fact: &Fact) -> bool {
    let decides = matches!(fact, Fact::GrantOpened { .. } | Fact::GrantExtended { .. } | Fact::GrantClosed { .. });
    decides && (model.order() == FICKLE || model.placement() == FICKLE)
}

pub(crate) fn orders(seed: u64) -> Vec<Box<dyn Order>> {
    ORDERS.into_iter().map(|name| Box::new(Hostile::new(name, seed)) as Box<dyn Order>).collect()
}

pub(crate) fn placements(seed: u64) -> Vec<Box<dyn Placement>> {
    PLACEMENTS.into_iter().map(|name| Box::new(Hostile::new(name, seed)) as Box<dyn Placement>).collect()
}

/// Says what its name means; depends on the seed and the calls alone.
#[derive(Debug)]
struct Hostile {
    name: &'static str,
    seed: u64,
    calls: Cell<u64>,
}

impl Hostile {
    const fn new(name: &'static str, seed: u64) -> Self {
        Self { name, seed, calls: Cell::new(0) }
    }

    /// A number that depends on what is asked about; of the fickle one also on how often it was asked.
    fn number(&self, about: u64) -> u64 {
        let calls = if self.name == FICKLE { self.calls.replace(self.calls.get() + 1) } else { 0 };
        Rng::new(self.seed ^ about.wrapping_mul(0x9e37_79b9) ^ (calls << 32)).next_u64()
    }

    fn pair(&self, about: u64) -> (i64, i64) {
        let number = self.number(about);
        match self.name {
            "hostile-constant" => (0, 0),
            "hostile-extreme" if number.is_multiple_of(2) => (i64::MIN, i64::MIN),
            "hostile-extreme" => (i64::MAX, i64::MAX),
            "hostile-backwards" => (-about.cast_signed(), 0),
            _ => ((number % 5).cast_signed() - 2, (number >> 32).cast_signed() % 3),
        }
    }
}

impl Order for Hostile {
    fn name(&self) -> &str {
        self.name
    }

    fn rank(&self, queue: &QueueView) -> Rank {
        self.pair(queue.head.0)
    }

    /// The fickle one lies.
    fn keeps_ranks(&self) -> bool {
        self.seed.is_multiple_of(2)
    }

    fn ages(&self) -> bool {
        self.seed.is_multiple_of(3)
    }

    fn reservations(&self) -> usize {
        [0, 1, 7, usize::MAX][(self.seed % 4) as usize]
    }

    fn stride(&self, queue: &QueueView) -> u64 {
        match self.name {
            "hostile-constant" => 1,
            "hostile-extreme" => u64::MAX,
            _ => *[0, 1, 2, queue.waiting, queue.waiting.wrapping_mul(2), u64::MAX]
                .get((self.number(queue.head.0) % 6) as usize)
                .unwrap_or(&0),
        }
    }

    fn pass_rule(&self) -> PassRule {
        let rules = [PassRule::Strict, PassRule::Gap, PassRule::Shadow, PassRule::Free];
        match self.name {
            "hostile-constant" => PassRule::Strict,
            "hostile-extreme" => PassRule::Gap,
            "hostile-backwards" => PassRule::Free,
            // The same for all of a run, but for the fickle one.
            _ => rules[(self.number(0) % 4) as usize],
        }
    }
}

impl Placement for Hostile {
    fn name(&self) -> &str {
        self.name
    }

    fn key(&self, slot: &SlotView<'_>) -> PlacementKey {
        self.pair(u64::from(slot.worker.0) << 8 | u64::from(slot.variant))
    }

    fn fills_workers(&self) -> bool {
        self.name == FICKLE && self.number(1).is_multiple_of(2)
    }
}
