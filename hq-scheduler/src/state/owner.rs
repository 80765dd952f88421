use std::collections::BTreeMap;

use hq_core::{Owner, SnapshotNames};

/// A user or a project, as a number. 0 is nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PartyId(u32);

impl PartyId {
    pub(crate) const NOBODY: Self = Self(0);
}

/// An owner, as numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OwnerId {
    pub(crate) user: PartyId,
    pub(crate) project: PartyId,
}

/// Names of users and projects that submits have, numbered in order of first use. A name that no submit has any more is
/// forgotten, and gets another number when it comes again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owners {
    users: Names,
    projects: Names,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Names {
    /// With how many submits have it.
    known: BTreeMap<String, (PartyId, u64)>,
    last: PartyId,
}

impl Owners {
    /// Whether nobody but nobody is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.users.known.is_empty() && self.projects.known.is_empty()
    }

    /// The owner of one more submit.
    pub(crate) fn intern(&mut self, owner: &Owner) -> OwnerId {
        OwnerId { user: self.users.intern(&owner.user), project: self.projects.intern(&owner.project) }
    }

    /// One submit less has this owner.
    pub(super) fn release(&mut self, owner: &Owner) {
        self.users.release(&owner.user);
        self.projects.release(&owner.project);
    }

    /// Names and numbers: of users, and of projects.
    pub(super) fn snapshot(&self) -> (SnapshotNames, SnapshotNames) {
        (self.users.snapshot(), self.projects.snapshot())
    }

    /// Takes names and numbers; the submits that have them are still to come.
    pub(super) fn restore(&mut self, users: &SnapshotNames, projects: &SnapshotNames) {
        (self.users, self.projects) = (Names::restored(users), Names::restored(projects));
    }

    /// Numbers of the names that some submit has.
    pub(crate) fn find(&self, owner: &Owner) -> (Option<PartyId>, Option<PartyId>) {
        (self.users.find(&owner.user), self.projects.find(&owner.project))
    }
}

impl Names {
    fn snapshot(&self) -> SnapshotNames {
        let known = self.known.iter().map(|(name, (id, _))| (name.clone(), id.0)).collect();
        SnapshotNames { known, last: self.last.0 }
    }

    fn restored(names: &SnapshotNames) -> Self {
        let known = names.known.iter().map(|(name, id)| (name.clone(), (PartyId(*id), 0)));
        Self { known: known.collect(), last: PartyId(names.last) }
    }

    fn intern(&mut self, name: &str) -> PartyId {
        if name.is_empty() {
            return PartyId::NOBODY;
        }
        if let Some((id, submits)) = self.known.get_mut(name) {
            *submits += 1;
            return *id;
        }
        let id = next(self.last);
        if id != PartyId::NOBODY {
            self.last = id;
            self.known.insert(name.to_owned(), (id, 1));
        }
        id
    }

    fn release(&mut self, name: &str) {
        if let Some((_, submits)) = self.known.get_mut(name) {
            *submits -= 1;
            if *submits == 0 {
                self.known.remove(name);
            }
        }
    }

    fn find(&self, name: &str) -> Option<PartyId> {
        self.known.get(name).map(|(id, _)| *id)
    }
}

/// Past four billion names, a new one is nobody's: no number comes twice.
fn next(last: PartyId) -> PartyId {
    last.0.checked_add(1).map_or(PartyId::NOBODY, PartyId)
}

#[cfg(test)]
impl OwnerId {
    pub(crate) const fn of(n: u32) -> Self {
        Self { user: PartyId(n), project: PartyId(n) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_comes_twice() {
        assert_eq!([0, u32::MAX - 1, u32::MAX].map(|last| next(PartyId(last)).0), [1, u32::MAX, 0]);
        let mut owners = Owners { users: Names { last: PartyId(u32::MAX), ..Names::default() }, ..Owners::default() };
        assert_eq!(owners.intern(&Owner::user("ann")), OwnerId::default());
        owners.release(&Owner::user("ann"));
        assert!(owners.is_empty());
    }

    #[test]
    fn names_that_nobody_has_are_forgotten() {
        let mut owners = Owners::default();
        let (ann, bob) = (Owner::user("ann").in_project("p"), Owner::user("bob").in_project("p"));
        let first = owners.intern(&ann);
        assert_eq!(owners.intern(&ann), first);
        let other = owners.intern(&bob);
        owners.release(&ann);
        assert_eq!(owners.find(&ann), (Some(first.user), Some(first.project)), "another submit has it");
        owners.release(&ann);
        assert_eq!(owners.find(&ann), (None, Some(first.project)), "the project is bob's as well");
        let again = owners.intern(&ann);
        assert!(again.user != first.user && again.user != other.user && again.project == first.project);
        for owner in [&ann, &bob] {
            owners.release(owner);
        }
        assert!(owners.is_empty());
    }

    #[test]
    fn users_and_projects_are_told_apart() {
        let mut owners = Owners::default();
        assert_eq!(owners.intern(&Owner::default()), OwnerId::default());
        assert!(owners.is_empty());
        let ann = owners.intern(&Owner::user("ann"));
        let both = owners.intern(&Owner::user("ann").in_project("ann"));
        assert_eq!((both.user, owners.intern(&Owner::user("ann"))), (ann.user, ann));
        assert!(ann.project == PartyId::NOBODY && both.project != PartyId::NOBODY);
        assert_ne!(owners.intern(&Owner::user("bob")).user, ann.user);
    }
}
