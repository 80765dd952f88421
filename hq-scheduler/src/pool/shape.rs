use hq_core::{Amount, CouplingItem, ResourceName, WorkerResources};

/// What of a worker's resources never changes. Sorted by name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape {
    pub(super) resources: Vec<ResourceShape>,
    pub(super) coupling: Vec<CouplingItem>,
}

/// One resource of a worker.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ResourceShape {
    pub(super) name: ResourceName,
    pub(super) total: Amount,
    /// Consecutive blocks of indices; none for a sum.
    pub(super) groups: Vec<GroupShape>,
    /// Whether it makes a difference which groups a request gets.
    pub(super) choosable: bool,
}

/// Indices `start..start + size`, and where their bits lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupShape {
    pub(super) start: u32,
    pub(super) size: u32,
    pub(super) words_at: usize,
}

impl Shape {
    pub(super) fn new(worker: &WorkerResources) -> Self {
        let resource = |def: &hq_core::ResourceDef| {
            let groups = layout(&def.kind.group_sizes());
            let choosable = groups.len() > 1;
            ResourceShape { name: def.name.clone(), total: def.kind.total(), groups, choosable }
        };
        let resources = worker.resources().iter().map(resource).collect();
        Self { resources, coupling: worker.coupling().to_vec() }
    }

    /// Where the resource of that name is.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.resources.binary_search_by(|resource| resource.name.as_str().cmp(name)).ok()
    }
}

impl ResourceShape {
    /// How many indices it has.
    pub(super) fn count(&self) -> u32 {
        self.groups.last().map_or(0, |group| group.start + group.size)
    }

    /// The group of an index, or `None` beyond the last.
    pub(super) fn group_of(&self, index: u32) -> Option<usize> {
        let at = self.groups.partition_point(|group| group.start <= index).checked_sub(1)?;
        (index - self.groups[at].start < self.groups[at].size).then_some(at)
    }
}

impl GroupShape {
    /// How many words of 64 bits the group has.
    pub(super) const fn words(self) -> usize {
        (self.size as usize).div_ceil(64)
    }
}

fn layout(sizes: &[u32]) -> Vec<GroupShape> {
    let (mut start, mut words_at) = (0, 0);
    let place = |size: &u32| {
        let group = GroupShape { start, size: *size, words_at };
        start += group.size;
        words_at += group.words();
        group
    };
    sizes.iter().map(place).collect()
}
