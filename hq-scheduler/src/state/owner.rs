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
    let id = PartyId(names.len() as u32 + 1);
    names.insert(name.to_owned(), id);
    id
}

#[cfg(test)]
mod tests {
    use super::*;

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
