use std::collections::BTreeMap;

use hq_core::Owner;

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

/// Names of users and projects, numbered in order of first use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owners {
    users: BTreeMap<String, PartyId>,
    projects: BTreeMap<String, PartyId>,
}

impl Owners {
    /// Whether nobody but nobody is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.users.is_empty() && self.projects.is_empty()
    }

    pub(crate) fn intern(&mut self, owner: &Owner) -> OwnerId {
        OwnerId { user: number(&mut self.users, &owner.user), project: number(&mut self.projects, &owner.project) }
    }
}

fn number(names: &mut BTreeMap<String, PartyId>, name: &str) -> PartyId {
    if name.is_empty() {
        return PartyId::NOBODY;
    }
    if let Some(known) = names.get(name) {
        return *known;
    }
    let id = next(names.len());
    if id != PartyId::NOBODY {
        names.insert(name.to_owned(), id);
    }
    id
}

/// Past four billion names, a new one is nobody's: no number comes twice.
fn next(known: usize) -> PartyId {
    u32::try_from(known).ok().and_then(|known| known.checked_add(1)).map_or(PartyId::NOBODY, PartyId)
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
        let last = u32::MAX as usize;
        assert_eq!([0, last - 1, last, last + 1].map(|known| next(known).0), [1, u32::MAX, 0, 0]);
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
