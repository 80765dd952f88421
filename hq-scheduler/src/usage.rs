//! What users and projects have had of the cluster.

use std::collections::BTreeMap;

use hq_core::{ClassId, GrantId, Quantity, Span, Tick};

use crate::{
    Scheduler,
    policy::QueueView,
    state::{OwnerId, PartyId},
};

/// Everybody forgets at the same moments: what was used is worth that much less after each hour, so that half of it is
/// left after a week.
const HOUR: u64 = 3_600_000_000;
/// 2^(-1/168), in parts of 2^32.
const KEPT: u128 = 4_277_283_299;
/// More hours than that make no difference any more, were the whole cluster in use all the time.
const HOURS_MAX: u64 = 64 * 168;
/// What is held counts as if it were kept for so long.
const AHEAD: u128 = 60_000_000;

/// By user and by project. Kept beside the lasting state: it begins anew with each life of the server.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    users: BTreeMap<PartyId, Account>,
    projects: BTreeMap<PartyId, Account>,
}

/// Who is charged for a lane, and for how much of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Charge {
    owner: OwnerId,
    share: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// Share × microseconds.
    used: u128,
    held: u64,
    at: Tick,
}

impl Usage {
    fn change(&mut self, now: Tick, charge: Charge, change: fn(u64, u64) -> u64) {
        for account in
            [self.users.entry(charge.owner.user).or_default(), self.projects.entry(charge.owner.project).or_default()]
        {
            account.used = account.used_at(now);
            account.at = now;
            account.held = change(account.held, charge.share);
        }
    }

    /// What a user has had, with what it holds counted ahead.
    pub(crate) fn of_user(&self, user: PartyId, now: Tick) -> Span {
        self.users.get(&user).map_or(Span::ZERO, |account| account.ahead(now))
    }

    /// The same of a project.
    pub(crate) fn of_project(&self, project: PartyId, now: Tick) -> Span {
        self.projects.get(&project).map_or(Span::ZERO, |account| account.ahead(now))
    }
}

impl Account {
    fn used_at(&self, now: Tick) -> u128 {
        let held = u128::from(self.held);
        let (from, to) = (self.at.0 / HOUR, now.0 / HOUR);
        if from >= to {
            return self.used + held * u128::from(now.since(self.at).0);
        }
        // To the end of the hour, whole hours, and what has passed of this one.
        let mut used = forget(self.used + held * u128::from(HOUR - self.at.0 % HOUR));
        for _ in 0..(to - from - 1).min(HOURS_MAX) {
            used = forget(used + held * u128::from(HOUR));
            if used == 0 {
                break;
            }
        }
        used + held * u128::from(now.0 % HOUR)
    }

    fn ahead(&self, now: Tick) -> Span {
        let used = self.used_at(now) + u128::from(self.held) * AHEAD;
        Span(u64::try_from(used / u128::from(QueueView::WHOLE)).unwrap_or(u64::MAX))
    }
}

fn forget(used: u128) -> u128 {
    const LOW: u128 = (1 << 32) - 1;
    (used >> 32) * KEPT + (((used & LOW) * KEPT) >> 32)
}

impl Scheduler {
    /// Part of the cluster that one task of a class takes, of the resource of which it takes most.
    pub(crate) fn share(&self, class: ClassId) -> u64 {
        let known = self.state.classes.get(class);
        let workers = (self.state.workers.len() as u64).max(1);
        if known.is_gang() {
            return part_of(u64::from(known.nodes()), workers);
        }
        let entries = known.requests.first().into_iter().flat_map(|request| request.entries());
        let share = entries.map(|entry| {
            let total = self.mind.totals.get(entry.resource.as_str()).copied().unwrap_or(0);
            match entry.quantity {
                Quantity::Amount(amount, _) => part_of(amount.parts(), total),
                Quantity::All => part_of(1, workers),
            }
        });
        share.max().unwrap_or(0)
    }

    /// The owner of what a lane runs, or will run next, is charged for it from now on; nobody while it has no task.
    pub(crate) fn charge(&mut self, now: Tick, grant: GrantId) {
        if self.state.owners.is_empty() {
            return;
        }
        let Some(lane) = self.state.grants.get(&grant) else { return };
        let first = lane.running.or_else(|| lane.next());
        let owner = first.and_then(|task| self.state.key_of(task)).map(|key| key.owner);
        let before = self.mind.lanes.get(&grant).and_then(|lane| lane.charge);
        if before.map(|before| before.owner) == owner {
            return;
        }
        let charge = owner.map(|owner| Charge { owner, share: self.share(lane.class) });
        let Some(mind) = self.mind.lanes.get_mut(&grant) else { return };
        mind.charge = charge;
        if let Some(charge) = charge {
            self.mind.usage.change(now, charge, u64::saturating_add);
        }
        if let Some(before) = before {
            self.discharge(now, before);
        }
    }

    /// Nobody has what a lane had any more.
    pub(crate) fn discharge(&mut self, now: Tick, charge: Charge) {
        self.mind.usage.change(now, charge, u64::saturating_sub);
    }
}

/// In parts of the whole; all of it at most.
fn part_of(n: u64, of: u64) -> u64 {
    if n >= of {
        return QueueView::WHOLE;
    }
    let (n, of, whole) = (u128::from(n), u128::from(of), u128::from(QueueView::WHOLE));
    u64::try_from((n * whole + of / 2) / of).unwrap_or(QueueView::WHOLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half() -> Account {
        Account { used: 0, held: QueueView::WHOLE / 2, at: Tick(0) }
    }

    #[test]
    fn use_grows_and_is_forgotten() {
        const WEEK: u64 = 168 * HOUR;
        let seconds = |account: &Account, at: u64| account.ahead(Tick(at)).0 / 1_000_000;
        assert_eq!(seconds(&half(), 0), 30, "a minute ahead");
        assert_eq!(seconds(&half(), HOUR / 2), 930);
        let done = Account { held: 0, used: half().used_at(Tick(HOUR / 2)), at: Tick(HOUR / 2) };
        assert_eq!([0, 1, 2].map(|weeks| seconds(&done, HOUR / 2 + weeks * WEEK)), [900, 449, 224]);
        // Half a cluster for ever: what is forgotten in an hour is what is used in it.
        let steady = seconds(&half(), u64::MAX) - 30;
        assert!((434_000..438_000).contains(&steady), "{steady}");
    }

    #[test]
    fn asking_in_between_changes_nothing() {
        let mut account = half();
        for at in [1, HOUR - 1, HOUR, HOUR + 1, 5 * HOUR + 7, 400 * HOUR] {
            account = Account { used: account.used_at(Tick(at)), at: Tick(at), ..account };
            assert_eq!(account.used, half().used_at(Tick(at)), "{at}");
        }
    }

    #[test]
    fn shares_are_parts_of_the_whole() {
        for (n, of, share) in [(0, 7, 0), (1, 2, QueueView::WHOLE / 2), (7, 7, QueueView::WHOLE), (9, 7, 1 << 40)] {
            assert_eq!(part_of(n, of), share);
        }
        assert_eq!((part_of(0, 0), part_of(u64::MAX, 0)), (QueueView::WHOLE, QueueView::WHOLE));
    }
}
