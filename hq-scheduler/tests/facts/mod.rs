//! Facts about allocations, as the tables of pools and of whole systems state them.

use std::collections::BTreeSet;

use hq_core::{Allocation, GrantedResource, ResourceKind, WorkerResources};

/// An allocation on a worker of these resources.
#[derive(Clone, Copy)]
pub(crate) struct Granted<'a> {
    pub(crate) worker: &'a WorkerResources,
    pub(crate) allocation: &'a Allocation,
}

impl<'a> Granted<'a> {
    pub(crate) fn of(self, resource: &str) -> &'a GrantedResource {
        let found = self.allocation.0.iter().find(|granted| granted.resource.as_str() == resource);
        found.unwrap_or_else(|| panic!("nothing of {resource}"))
    }

    /// The group of each piece.
    pub(crate) fn groups(self, resource: &str) -> Vec<usize> {
        let mut ends = vec![];
        for size in self.worker.get(resource).unwrap().kind.group_sizes() {
            ends.push(ends.last().copied().unwrap_or(0) + size);
        }
        let group = |index: u32| ends.iter().position(|end| index < *end).unwrap();
        self.of(resource).pieces.iter().map(|piece| group(piece.index)).collect()
    }

    pub(crate) fn indices(self, resource: &str) -> Vec<u32> {
        self.of(resource).pieces.iter().map(|piece| piece.index).collect()
    }

    fn labels(self, resource: &str) -> Vec<String> {
        let kind: &ResourceKind = &self.worker.get(resource).unwrap().kind;
        self.indices(resource).into_iter().map(|index| kind.label(index).unwrap()).collect()
    }

    fn set(self, resource: &str) -> BTreeSet<usize> {
        self.groups(resource).into_iter().collect()
    }

    /// Whether a fact holds: its name, the resource, and what else it says; `other` finds what it compares with.
    pub(crate) fn holds(self, fact: &[&str], other: impl Fn(&str) -> Self) -> bool {
        let (name, resource, rest) = (fact[0], fact[1], &fact[2..]);
        let granted = self.of(resource);
        let others = || rest.iter().map(|name| other(name));
        let list = |items: Vec<String>| items.join(",") == rest[0];
        let last = granted.pieces.len().wrapping_sub(1);
        match name {
            "amount" => granted.amount.to_string() == rest[0],
            "count" => granted.pieces.len().to_string() == rest[0],
            "groups" => self.set(resource).len().to_string() == rest[0],
            "sizes" => {
                let groups = self.groups(resource);
                let count = |at: &usize| groups.iter().filter(|group| *group == at).count();
                let mut sizes: Vec<usize> = self.set(resource).iter().map(count).collect();
                sizes.sort_unstable();
                list(sizes.iter().map(ToString::to_string).collect())
            }
            "in" => list(self.set(resource).iter().map(ToString::to_string).collect()),
            "indices" => list(self.indices(resource).iter().map(ToString::to_string).collect()),
            "labels" => list(self.labels(resource)),
            "parts" => list(granted.pieces.iter().map(|piece| piece.amount.fraction().to_string()).collect()),
            "first" => {
                let n: usize = rest[0].parse().unwrap();
                self.groups(resource)[..n].windows(2).all(|pair| pair[0] == pair[1])
            }
            "new" => others().all(|other| other.set(resource).is_disjoint(&self.set(resource))),
            "same" => others().all(|other| other.set(resource) == self.set(resource)),
            "apart" => others().all(|other| {
                let indices = self.indices(resource);
                other.indices(resource).iter().all(|index| !indices.contains(index))
            }),
            "last-index" => others().all(|other| other.indices(resource).last() == self.indices(resource).last()),
            "last-group" => others().all(|other| other.groups(resource).last() == self.groups(resource).last()),
            "last-shared" => self.groups(resource)[..last].contains(&self.groups(resource)[last]),
            "beside" => {
                let (a, b) = (self.set(resource), self.set(rest[0]));
                a.is_subset(&b) || a.is_superset(&b)
            }
            _ => panic!("unknown fact {fact:?}"),
        }
    }

    /// `cpus 0,1,2*0.5; mem 3`
    pub(crate) fn show(self) -> String {
        let resource = |granted: &GrantedResource| {
            let pieces = granted.pieces.iter().map(|piece| match piece.amount.fraction() {
                0 => piece.index.to_string(),
                _ => format!("{}*{}", piece.index, piece.amount),
            });
            let pieces: Vec<String> = pieces.collect();
            let what = if pieces.is_empty() { granted.amount.to_string() } else { pieces.join(",") };
            format!("{} {what}", granted.resource)
        };
        self.allocation.0.iter().map(resource).collect::<Vec<_>>().join("; ")
    }
}
