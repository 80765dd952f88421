use serde::{Deserialize, Serialize};

use super::{ResourceDef, ResourceName};

/// Two groups that lie close to each other: a request for both resources prefers both groups.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CouplingItem {
    /// Position of the first resource in the name-sorted list.
    pub resource1_idx: u16,
    /// Group of the first resource.
    pub group1_idx: u16,
    /// Position of the second resource; larger than the first.
    pub resource2_idx: u16,
    /// Group of the second resource.
    pub group2_idx: u16,
    /// How much the closeness is worth; 256 where not given.
    pub weight: u16,
}

/// A group of a resource, as a coupling names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CouplingEnd {
    pub(super) resource: u16,
    pub(super) group: u16,
}

/// Why a coupling is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CouplingError {
    /// The position of a resource beyond the last.
    #[error("the coupling names resource number {0}, and there are only {1}")]
    Unknown(u16, usize),
    /// A resource without groups to choose from.
    #[error("Resource '{0}' has only a single group, and only resources of two groups or more can be coupled")]
    SingleGroup(ResourceName),
    /// The number of a group beyond the last.
    #[error("Invalid group id {group} for resource '{resource}', which has the groups 0 to {last}")]
    Group {
        /// Of which resource.
        resource: ResourceName,
        /// The number given.
        group: u16,
        /// The number of its last group.
        last: usize,
    },
    /// Two groups of one resource.
    #[error("{0} cannot be coupled with itself")]
    Itself(ResourceName),
    /// The same pair in two items.
    #[error("the coupling {0} is given twice")]
    Twice(String),
    /// More items than the engine looks through.
    #[error("a worker can have at most {max} couplings", max = ITEMS_MAX)]
    TooMany,
}

/// The most items of a worker's coupling.
pub(super) const ITEMS_MAX: usize = 1 << 16;

impl CouplingItem {
    /// The lower resource comes first.
    pub(super) fn new(a: CouplingEnd, b: CouplingEnd, weight: u16) -> Self {
        let (first, second) = (a.min(b), a.max(b));
        Self {
            resource1_idx: first.resource,
            group1_idx: first.group,
            resource2_idx: second.resource,
            group2_idx: second.group,
            weight,
        }
    }

    pub(super) const fn ends(&self) -> [CouplingEnd; 2] {
        [
            CouplingEnd { resource: self.resource1_idx, group: self.group1_idx },
            CouplingEnd { resource: self.resource2_idx, group: self.group2_idx },
        ]
    }
}

impl CouplingEnd {
    pub(super) fn check(self, resources: &[ResourceDef]) -> Result<(), CouplingError> {
        let def = resources.get(usize::from(self.resource));
        let def = def.ok_or(CouplingError::Unknown(self.resource, resources.len()))?;
        match def.kind.group_count() {
            0 | 1 => Err(CouplingError::SingleGroup(def.name.clone())),
            groups if usize::from(self.group) < groups => Ok(()),
            groups => Err(CouplingError::Group { resource: def.name.clone(), group: self.group, last: groups - 1 }),
        }
    }

    fn show(self, resources: &[ResourceDef]) -> String {
        resources
            .get(usize::from(self.resource))
            .map_or_else(String::new, |def| format!("{}[{}]", def.name, self.group))
    }
}

impl CouplingError {
    pub(super) fn itself(resources: &[ResourceDef], end: CouplingEnd) -> Self {
        match resources.get(usize::from(end.resource)) {
            Some(def) => Self::Itself(def.name.clone()),
            None => Self::Unknown(end.resource, resources.len()),
        }
    }

    pub(super) fn twice(resources: &[ResourceDef], item: &CouplingItem) -> Self {
        Self::Twice(item.ends().map(|end| end.show(resources)).join(":"))
    }
}

/// The items in normal form: each with the lower resource first, and sorted.
pub(super) fn checked(items: Vec<CouplingItem>, resources: &[ResourceDef]) -> Result<Vec<CouplingItem>, CouplingError> {
    if items.len() > ITEMS_MAX {
        return Err(CouplingError::TooMany);
    }
    let normal = |item: CouplingItem| {
        let [a, b] = item.ends();
        CouplingItem::new(a, b, item.weight)
    };
    let mut items: Vec<CouplingItem> = items.into_iter().map(normal).collect();
    items.sort();
    for item in &items {
        let [a, b] = item.ends();
        a.check(resources)?;
        b.check(resources)?;
        if a.resource == b.resource {
            return Err(CouplingError::itself(resources, a));
        }
    }
    match items.windows(2).find(|pair| pair[0].ends() == pair[1].ends()) {
        Some(pair) => Err(CouplingError::twice(resources, &pair[0])),
        None => Ok(items),
    }
}
