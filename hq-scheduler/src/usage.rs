//! What users and projects have had of the cluster.

use std::{cell::Cell, collections::BTreeMap};

use hq_core::{ClassId, GrantId, Ordinal, Owner, Quantity, Span, Tick};

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
/// Less than a second of the whole cluster is not remembered of names that nobody has.
const WORTH: u128 = QueueView::WHOLE as u128 * 1_000_000;

/// By user and by project.
///
/// Kept beside the lasting state: it begins anew with each life of the server, so that all are equal after a restart, and whoever
/// has most running then is behind the others within minutes. What was used could be told from facts only for as long as the
/// journal has all of them: compaction leaves out what has ended, and other workers than today's made up the cluster then.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    users: Book,
    projects: Book,
}

#[derive(Debug, Default)]
struct Book {
    accounts: BTreeMap<PartyId, Account>,
    /// Of names that no submit has now: whoever has its jobs forgotten does not begin anew. Only for as long as what was used
    /// is not.
    former: BTreeMap<String, Account>,
    /// The hour in which `former` was last looked through.
    looked: u64,
}

/// Who is charged for a lane, and for how much of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Charge {
    owner: OwnerId,
    share: u64,
}

/// Brought up to date by whoever asks, so that each hour is counted once and not by each rank of each queue. What is said
/// does not depend on who asked before.
#[derive(Clone, Debug, Default)]
struct Account {
    /// Share × microseconds.
    used: Cell<u128>,
    held: u64,
    at: Cell<Tick>,
}

impl Usage {
    fn change(&mut self, now: Tick, charge: Charge, change: fn(u64, u64) -> u64) {
        let owner = charge.owner;
        for (book, party) in [(&mut self.users, owner.user), (&mut self.projects, owner.project)] {
            let account = book.accounts.entry(party).or_default();
            account.advance(now);
            account.held = change(account.held, charge.share);
            if account.held == 0 && account.used.get() == 0 {
                book.accounts.remove(&party);
            }
        }
    }

    /// What a user has had, with what it holds counted ahead.
    pub(crate) fn of_user(&self, user: PartyId, now: Tick) -> Span {
        self.users.accounts.get(&user).map_or(Span::ZERO, |account| account.ahead(now))
    }

    /// The same of a project.
    pub(crate) fn of_project(&self, project: PartyId, now: Tick) -> Span {
        self.projects.accounts.get(&project).map_or(Span::ZERO, |account| account.ahead(now))
    }
}

impl Book {
    /// The name has no number any more.
    fn keep(&mut self, now: Tick, name: &str, party: PartyId) {
        // Once an hour is enough, as that is when things are forgotten: names may come and go by the thousand.
        if self.looked < now.0 / HOUR {
            self.looked = now.0 / HOUR;
            self.former.retain(|_, account| account.is_worth_keeping(now));
        }
        if let Some(account) = self.accounts.remove(&party)
            && account.is_worth_keeping(now)
        {
            self.former.insert(name.to_owned(), Account { held: 0, ..account });
        }
    }

    /// The name has a number again.
    fn recall(&mut self, name: &str, party: PartyId) {
        if let Some(account) = self.former.remove(name) {
            self.accounts.insert(party, account);
        }
    }
}

impl Account {
    fn advance(&self, now: Tick) {
        if self.at.get() < now {
            self.used.set(self.used_at(now));
            self.at.set(now);
        }
    }

    /// Whether it makes a difference to anybody.
    fn is_worth_keeping(&self, now: Tick) -> bool {
        self.advance(now);
        self.used.get() >= WORTH
    }

    /// Steps that [`used_at`](Self::used_at) takes.
    fn hours_behind(&self, now: Tick) -> u64 {
        (now.0 / HOUR).saturating_sub(self.at.get().0 / HOUR)
    }

    fn used_at(&self, now: Tick) -> u128 {
        let (used, held, at) = (self.used.get(), u128::from(self.held), self.at.get());
        let hours = self.hours_behind(now);
        if hours == 0 {
            return used + held * u128::from(now.since(at).0);
        }
        // To the end of the hour, whole hours, and what has passed of this one.
        let mut used = forget(used + held * u128::from(HOUR - at.0 % HOUR));
        for _ in 0..(hours - 1).min(HOURS_MAX) {
            let before = used;
            used = forget(used + held * u128::from(HOUR));
            if used == before {
                break; // Nothing is left, or as much is forgotten as is used.
            }
        }
        used + held * u128::from(now.0 % HOUR)
    }

    fn ahead(&self, now: Tick) -> Span {
        self.advance(now);
        let used = self.used.get() + u128::from(self.held) * AHEAD;
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
        self.mind.lanes.entry(grant).or_default().charge = charge;
        if let Some(charge) = charge {
            self.mind.usage.change(now, charge, u64::saturating_add);
        }
        if let Some(before) = before {
            self.discharge(now, before);
        }
    }

    /// What an owner has used is kept by name where its numbers, as they were, mean nobody any more.
    pub(crate) fn keep_usage(&mut self, now: Tick, owner: &Owner, (user, project): (Option<PartyId>, Option<PartyId>)) {
        let (has_user, has_project) = self.state.owners.find(owner);
        if let (Some(user), None) = (user, has_user) {
            self.mind.usage.users.keep(now, &owner.user, user);
        }
        if let (Some(project), None) = (project, has_project) {
            self.mind.usage.projects.keep(now, &owner.project, project);
        }
    }

    /// What the owner of a submit has used before is known again.
    pub(crate) fn recall_usage(&mut self, submit: Ordinal) {
        let Some(known) = self.state.submits.get(&submit) else { return };
        let owner = &known.submit.owner;
        let (user, project) = self.state.owners.find(owner);
        if let Some(user) = user {
            self.mind.usage.users.recall(&owner.user, user);
        }
        if let Some(project) = project {
            self.mind.usage.projects.recall(&owner.project, project);
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
    // Nearly always that is enough, and a long division is not.
    if let Some(scaled) = n.checked_mul(QueueView::WHOLE).and_then(|n| n.checked_add(of / 2)) {
        return scaled / of;
    }
    let (n, of, whole) = (u128::from(n), u128::from(of), u128::from(QueueView::WHOLE));
    u64::try_from((n * whole + of / 2) / of).unwrap_or(QueueView::WHOLE)
}

#[cfg(test)]
mod tests {
    use hq_core::{
        JobId, JobSpec, JobTarget, LaneReport, Outcome, Profile, Record, Request, RunEnd, Submit, TaskIds,
        WorkerConfig, WorkerResources,
    };

    use super::*;
    use crate::{Action, News, state::Grant};

    fn half() -> Account {
        Account { held: QueueView::WHOLE / 2, ..Account::default() }
    }

    #[test]
    fn use_grows_and_is_forgotten() {
        const WEEK: u64 = 168 * HOUR;
        let seconds = |account: &Account, at: u64| account.ahead(Tick(at)).0 / 1_000_000;
        assert_eq!(seconds(&half(), 0), 30, "a minute ahead");
        assert_eq!(seconds(&half(), HOUR / 2), 930);
        let used = half().used_at(Tick(HOUR / 2));
        let done = Account { held: 0, used: Cell::new(used), at: Cell::new(Tick(HOUR / 2)) };
        assert_eq!([0, 1, 2].map(|weeks| seconds(&done, HOUR / 2 + weeks * WEEK)), [900, 449, 224]);
        // Half a cluster for ever: what is forgotten in an hour is what is used in it.
        let steady = seconds(&half(), u64::MAX) - 30;
        assert!((434_000..438_000).contains(&steady), "{steady}");
    }

    #[test]
    fn asking_in_between_changes_nothing() {
        let account = half();
        for at in [1, HOUR - 1, HOUR, HOUR + 1, 5 * HOUR + 7, 400 * HOUR] {
            account.advance(Tick(at));
            assert_eq!(account.used.get(), half().used_at(Tick(at)), "{at}");
        }
    }

    /// Each rank asks twice: after a year, a round with many queues must not count its hours for each of them.
    #[test]
    fn a_round_counts_the_hours_once() {
        let mut core = Scheduler::new();
        core.boot(Tick(0), "uid".into(), 0, "1".into());
        core.join(Tick(0), WorkerConfig::new("w", WorkerResources::cpus(1).unwrap())).unwrap();
        let mut submit = |at| {
            let profile = Profile::new(Request::cpus(1).unwrap());
            let target = JobTarget::New(JobSpec::default());
            let mut submit = Submit::array(target, TaskIds::Next(1), "program", vec![].into(), profile);
            submit.owner = Owner::user("ann").in_project("p");
            core.submit(at, submit).unwrap();
            while core.poll_action(at).is_some() {}
            let accounts = core.mind.usage.users.accounts.values().chain(core.mind.usage.projects.accounts.values());
            accounts.map(|account| (account.held, account.hours_behind(at))).collect::<Vec<_>>()
        };
        assert_eq!(submit(Tick(0)), [(QueueView::WHOLE, 0); 2]);
        assert_eq!(submit(Tick(365 * 24 * HOUR)), [(QueueView::WHOLE, 0); 2], "whoever asks next has nothing to count");
    }

    #[test]
    fn who_had_nothing_has_no_account() {
        let charge = |n| Charge { owner: OwnerId::of(n), share: 7 };
        let mut usage = Usage::default();
        usage.change(Tick(5), charge(1), u64::saturating_add);
        assert_eq!((usage.users.accounts.len(), usage.projects.accounts.len()), (1, 1));
        usage.change(Tick(5), charge(1), u64::saturating_sub);
        assert_eq!((usage.users.accounts.len(), usage.projects.accounts.len()), (0, 0));
        usage.change(Tick(5), charge(2), u64::saturating_add);
        usage.change(Tick(9), charge(2), u64::saturating_sub);
        assert_eq!((usage.users.accounts.len(), usage.projects.accounts.len()), (1, 1), "what was used is remembered");
        usage.change(Tick(HOUR * HOURS_MAX), charge(2), |_, _| 0);
        assert_eq!((usage.users.accounts.len(), usage.projects.accounts.len()), (0, 0), "and forgotten");
    }

    /// One worker that has run a task of ann's for an hour, whose job is forgotten.
    fn after_an_hour_of_ann() -> (Scheduler, Vec<Record>) {
        let mut core = Scheduler::new();
        core.boot(Tick(0), "uid".into(), 0, "1".into());
        core.set_policy(Tick(0), "fair-share", "pack").unwrap();
        let worker = core.join(Tick(0), WorkerConfig::new("w", WorkerResources::cpus(1).unwrap())).unwrap();
        let job = submit(&mut core, Tick(0), "ann");
        let mut records = drain(&mut core, Tick(0));
        let grant = core.state.grants.iter().next().unwrap().0;
        let task = core.job(job).unwrap().submits[0].0;
        let ended = vec![RunEnd { task, age: Span(0), took: Span(HOUR), outcome: Outcome::Finished }];
        core.handle_event(Tick(HOUR), News::Report { worker, lane: LaneReport { grant, ended, started: None } });
        records.extend(drain(&mut core, Tick(HOUR)));
        assert!(core.forget(Tick(HOUR), job));
        records.extend(drain(&mut core, Tick(HOUR)));
        (core, records)
    }

    fn submit(core: &mut Scheduler, at: Tick, user: &str) -> JobId {
        let profile = Profile::new(Request::cpus(1).unwrap());
        let target = JobTarget::New(JobSpec::default());
        let mut submit = Submit::array(target, TaskIds::Next(1), "program", vec![].into(), profile);
        submit.owner = Owner::user(user);
        core.submit(at, submit).unwrap()
    }

    fn drain(core: &mut Scheduler, at: Tick) -> Vec<Record> {
        let actions = std::iter::from_fn(|| core.poll_action(at));
        let record = |action| match action {
            Action::Record(fact) => Some(Record { at, fact }),
            _ => None,
        };
        actions.filter_map(record).collect()
    }

    /// Which of two users' tasks runs, where ann's came first.
    fn goes_first(core: &mut Scheduler, at: Tick) -> &'static str {
        let ann = submit(core, at, "ann");
        submit(core, at, "bob");
        drain(core, at);
        let running = core.state.grants.values().next().and_then(Grant::next);
        let job = running.and_then(|task| core.locate(task)).map(|(job, _)| job);
        if job == Some(ann) { "ann" } else { "bob" }
    }

    #[test]
    fn who_has_jobs_forgotten_has_had_no_less() {
        let (mut core, _) = after_an_hour_of_ann();
        assert!(core.state.owners.is_empty() && core.mind.usage.users.accounts.is_empty());
        assert_eq!(core.mind.usage.users.former.len(), 1);
        assert_eq!(goes_first(&mut core, Tick(2 * HOUR)), "bob");
        assert!(core.mind.usage.users.former.is_empty());
        let mut book = Book::default();
        book.former.insert("ann".into(), Account { used: Cell::new(WORTH), ..Account::default() });
        book.keep(Tick(HOUR * HOURS_MAX), "bob", PartyId::NOBODY);
        assert!(book.former.is_empty(), "it shrinks");
    }

    #[test]
    fn names_that_go_are_looked_through_once_an_hour() {
        let mut book = Book::default();
        for (n, used) in [(0, WORTH - 1), (1, WORTH), (2, WORTH * 9)] {
            let party = OwnerId::of(n).user;
            book.accounts.insert(party, Account { used: Cell::new(used), ..Account::default() });
            book.keep(Tick(5), &n.to_string(), party);
        }
        assert_eq!(book.former.keys().collect::<Vec<_>>(), ["1", "2"], "what is worth nothing is not kept");
        let behind = |book: &Book, at| book.former.values().map(|account| account.hours_behind(at)).sum::<u64>();
        let late = Tick(10 * HOUR);
        book.keep(late, "x", PartyId::NOBODY);
        assert_eq!((book.former.len(), behind(&book, late)), (1, 0), "each hour is counted once");
        book.keep(Tick(10 * HOUR + 7), "x", PartyId::NOBODY);
        book.former.insert("y".into(), Account::default());
        book.keep(Tick(11 * HOUR - 1), "x", PartyId::NOBODY);
        assert!(book.former.contains_key("y"), "it has been looked at in this hour");
        book.keep(Tick(11 * HOUR), "x", PartyId::NOBODY);
        assert!(!book.former.contains_key("y"));
    }

    #[test]
    fn after_a_restart_all_are_equal() {
        let (_, records) = after_an_hour_of_ann();
        let mut core = Scheduler::new();
        records.iter().for_each(|record| core.replay(record).unwrap());
        core.boot(Tick(HOUR), "uid".into(), 0, "1".into());
        core.set_policy(Tick(HOUR), "fair-share", "pack").unwrap();
        core.join(Tick(HOUR), WorkerConfig::new("w", WorkerResources::cpus(1).unwrap())).unwrap();
        assert_eq!(goes_first(&mut core, Tick(2 * HOUR)), "ann", "it came first");
    }

    #[test]
    fn shares_are_parts_of_the_whole() {
        for (n, of, share) in [(0, 7, 0), (1, 2, QueueView::WHOLE / 2), (7, 7, QueueView::WHOLE), (9, 7, 1 << 40)] {
            assert_eq!(part_of(n, of), share);
        }
        assert_eq!((part_of(0, 0), part_of(u64::MAX, 0)), (QueueView::WHOLE, QueueView::WHOLE));
    }
}
