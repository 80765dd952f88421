use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{CouplingError, CouplingItem, ResourceName, ResourceParseError, coupling};
use crate::Amount;

/// What a worker has of one resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResourceKind {
    /// Indices with labels, all alike.
    List(Vec<String>),
    /// Indices labelled by consecutive numbers, `start..=end`.
    Range {
        /// The first label.
        start: u32,
        /// The last label.
        end: u32,
    },
    /// Groups of labels, e.g. the cores of each NUMA node.
    Groups(Vec<Vec<String>>),
    /// An amount without identity.
    Sum(Amount),
}

impl ResourceKind {
    /// Sizes of the groups; a list or range is one group; none for a sum.
    pub fn group_sizes(&self) -> Vec<u32> {
        match self {
            Self::List(labels) => vec![labels.len() as u32],
            Self::Range { start, end } => vec![end.saturating_sub(*start).saturating_add(1)],
            Self::Groups(groups) => groups.iter().map(|group| group.len() as u32).collect(),
            Self::Sum(_) => vec![],
        }
    }

    /// How many groups; a list or range is one group; none for a sum.
    pub const fn group_count(&self) -> usize {
        match self {
            Self::List(_) | Self::Range { .. } => 1,
            Self::Groups(groups) => groups.len(),
            Self::Sum(_) => 0,
        }
    }

    /// The whole amount.
    pub fn total(&self) -> Amount {
        match self {
            Self::Sum(amount) => *amount,
            _ => Amount::from_parts(self.group_sizes().iter().map(|n| u64::from(*n)).sum::<u64>() * Amount::PARTS),
        }
    }

    /// The label of the index that is `index`-th in order of definition, through all groups.
    pub fn label(&self, index: u32) -> Option<String> {
        match self {
            Self::List(labels) => labels.get(index as usize).cloned(),
            Self::Range { start, end } => {
                let label = start.checked_add(index)?;
                (label <= *end).then(|| label.to_string())
            }
            Self::Groups(groups) => groups.iter().flatten().nth(index as usize).cloned(),
            Self::Sum(_) => None,
        }
    }
}

/// One named resource of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceDef {
    /// Its name.
    pub name: ResourceName,
    /// How much there is.
    pub kind: ResourceKind,
}

/// All that a worker offers, sorted by name, checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawResources")]
pub struct WorkerResources {
    resources: Vec<ResourceDef>,
    coupling: Vec<CouplingItem>,
}

#[derive(Deserialize)]
struct RawResources {
    resources: Vec<ResourceDef>,
    coupling: Vec<CouplingItem>,
}

impl TryFrom<RawResources> for WorkerResources {
    type Error = DefinitionError;

    fn try_from(raw: RawResources) -> Result<Self, DefinitionError> {
        Self::new(raw.resources, raw.coupling)
    }
}

/// Why a worker's resources are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// The same name twice.
    #[error("Resource {0} defined twice")]
    Twice(ResourceName),
    /// Nothing in it.
    #[error("Resource {0} is empty")]
    Empty(ResourceName),
    /// An index that occurs twice.
    #[error("Non unique indices in resource {0}: {1}")]
    NotUnique(ResourceName, String),
    /// No `cpus`.
    #[error("a worker needs the resource cpus")]
    NoCpus,
    /// `cpus` as a sum.
    #[error("Resource kind `sum` cannot be used with CPUs. CPUs must have identity")]
    SumOfCpus,
    /// More indices than the engine counts.
    #[error("Resource {0} is too large: at most 1048576 indices in at most 4096 groups are possible")]
    TooLarge(ResourceName),
    /// A sum larger than an amount can be written.
    #[error("Resource {0} is too large: a sum can be up to {max}", max = Amount::MAX)]
    SumTooLarge(ResourceName),
    /// More resources than the engine counts.
    #[error("a worker can have at most 256 resources")]
    TooMany,
    /// A coupling that makes no sense on this worker.
    #[error(transparent)]
    Coupling(#[from] CouplingError),
}

/// The most indices of one resource.
pub(super) const MAX_INDICES: u64 = 1 << 20;
/// The most groups of one resource.
pub(super) const MAX_GROUPS: usize = 4096;
const MAX_RESOURCES: usize = 256;

impl WorkerResources {
    /// Sorts the resources by name and checks them. Couplings refer to the sorted list and come in any order.
    ///
    /// # Errors
    /// For double or empty resources, double indices, missing or countable `cpus`, absurd sizes, and couplings
    /// of what does not exist, of a single group, of a resource with itself, or given twice.
    pub fn new(mut resources: Vec<ResourceDef>, coupling: Vec<CouplingItem>) -> Result<Self, DefinitionError> {
        if resources.len() > MAX_RESOURCES {
            return Err(DefinitionError::TooMany);
        }
        resources.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(pair) = resources.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(DefinitionError::Twice(pair[0].name.clone()));
        }
        for def in &resources {
            check(def)?;
        }
        match resources.iter().find(|def| def.name.as_str() == ResourceName::CPUS) {
            None => return Err(DefinitionError::NoCpus),
            Some(def) if matches!(def.kind, ResourceKind::Sum(_)) => return Err(DefinitionError::SumOfCpus),
            Some(_) => {}
        }
        let coupling = coupling::checked(coupling, &resources)?;
        Ok(Self { resources, coupling })
    }

    /// `n` cpus and nothing else.
    ///
    /// # Errors
    /// For 0 and for absurd numbers.
    pub fn cpus(n: u32) -> Result<Self, DefinitionError> {
        let Some(end) = n.checked_sub(1) else { return Err(DefinitionError::Empty(ResourceName::cpus())) };
        Self::new(vec![ResourceDef { name: ResourceName::cpus(), kind: ResourceKind::Range { start: 0, end } }], vec![])
    }

    /// The same resources coupled as the text says, in place of a coupling before; see [`CouplingItem::parse_list`].
    ///
    /// # Errors
    /// Says what is wrong with the text and where.
    pub fn with_coupling(mut self, text: &str) -> Result<Self, ResourceParseError> {
        self.coupling = CouplingItem::parse_list(text, &self.resources)?;
        Ok(self)
    }

    /// At most as many bytes are in their encoding.
    pub(crate) fn weight(&self) -> usize {
        let labels = |labels: &[String]| labels.iter().map(|label| label.len() + 2).sum::<usize>() + 4;
        let kind = |kind: &ResourceKind| match kind {
            ResourceKind::List(list) => labels(list),
            ResourceKind::Groups(groups) => groups.iter().map(|group| labels(group)).sum(),
            ResourceKind::Range { .. } | ResourceKind::Sum(_) => 16,
        };
        let defs = self.resources.iter().map(|def| 8 + def.name.as_str().len() + kind(&def.kind));
        defs.sum::<usize>() + 32 * self.coupling.len()
    }

    /// The resources, sorted by name.
    pub fn resources(&self) -> &[ResourceDef] {
        &self.resources
    }

    /// The couplings, sorted, each with the lower resource first.
    pub fn coupling(&self) -> &[CouplingItem] {
        &self.coupling
    }

    /// The resource of that name.
    pub fn get(&self, name: &str) -> Option<&ResourceDef> {
        let at = self.resources.binary_search_by(|def| def.name.as_str().cmp(name)).ok()?;
        self.resources.get(at)
    }
}

fn check(def: &ResourceDef) -> Result<(), DefinitionError> {
    let name = || def.name.clone();
    let sizes = def.kind.group_sizes();
    let count: u64 = sizes.iter().map(|n| u64::from(*n)).sum();
    let backwards = matches!(def.kind, ResourceKind::Range { start, end } if end < start);
    if def.kind.total().is_zero() || sizes.contains(&0) || backwards {
        return Err(DefinitionError::Empty(name()));
    }
    if matches!(def.kind, ResourceKind::Sum(amount) if amount > Amount::MAX) {
        return Err(DefinitionError::SumTooLarge(name()));
    }
    if count > MAX_INDICES || sizes.len() > MAX_GROUPS {
        return Err(DefinitionError::TooLarge(name()));
    }
    let mut seen = BTreeSet::new();
    let labels: Vec<&String> = match &def.kind {
        ResourceKind::List(labels) => labels.iter().collect(),
        ResourceKind::Groups(groups) => groups.iter().flatten().collect(),
        ResourceKind::Range { .. } | ResourceKind::Sum(_) => vec![],
    };
    match labels.into_iter().find(|label| !seen.insert(label.as_str())) {
        Some(label) => Err(DefinitionError::NotUnique(name(), label.clone())),
        None => Ok(()),
    }
}
