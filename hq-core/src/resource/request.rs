use std::fmt;

use serde::{Deserialize, Serialize};

use super::ResourceName;
use crate::{Amount, Span};

/// From which groups the indices come, and how many from each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Policy {
    /// The fewest groups that have enough now, evenly from each.
    #[default]
    Compact,
    /// As compact, and only if the choice is as good as on an idle worker.
    ForceCompact,
    /// The fewest groups, one filled after the other.
    Tight,
    /// As tight, and only if the choice is as good as on an idle worker.
    ForceTight,
    /// Round robin over all groups.
    Scatter,
}

/// How much of one resource is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Quantity {
    /// That much, chosen by that policy.
    Amount(Amount, Policy),
    /// All that the worker has, when it is entirely free.
    All,
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Amount(amount, policy) => {
                let policy = match policy {
                    Policy::Compact => "compact",
                    Policy::ForceCompact => "compact!",
                    Policy::Tight => "tight",
                    Policy::ForceTight => "tight!",
                    Policy::Scatter => "scatter",
                };
                write!(f, "{amount} {policy}")
            }
        }
    }
}

/// One line of a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceEntry {
    /// Of what.
    pub resource: ResourceName,
    /// How much.
    pub quantity: Quantity,
}

/// What one run of a task needs: one of the task's variants.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "RawRequest")]
pub struct Request {
    nodes: u32,
    entries: Vec<ResourceEntry>,
    min_time: Span,
    /// In 1/10,000.
    weight: u32,
}

#[derive(Deserialize)]
struct RawRequest {
    nodes: u32,
    entries: Vec<ResourceEntry>,
    min_time: Span,
    weight: u32,
}

impl TryFrom<RawRequest> for Request {
    type Error = RequestError;

    fn try_from(raw: RawRequest) -> Result<Self, RequestError> {
        let mut request = if raw.nodes == 0 { Self::new(raw.entries)? } else { Self::gang(raw.nodes) };
        request.min_time = raw.min_time;
        request.with_weight(raw.weight)
    }
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// An amount of nothing.
    #[error("Zero resources cannot be requested")]
    Zero,
    /// More than an amount can be written.
    #[error("the amount of {0} is too large: at most {max} can be requested", max = Amount::MAX)]
    TooLarge(ResourceName),
    /// One resource in two lines.
    #[error("Resource '{0}' defined more than once")]
    Twice(ResourceName),
    /// A weight that is not a positive number of reasonable size.
    #[error("a weight has to be a number above 0 and at most 400000")]
    Weight,
    /// No variants, or more than 32.
    #[error("a task has to have 1 to 32 variants of its request, not {0}")]
    Count(usize),
    /// Single-node and multi-node variants of one task.
    #[error("the variants of a request have to be all single-node or all multi-node")]
    Mixed,
}

/// In 1/10,000.
const WEIGHT_MAX: u32 = 400_000 * Amount::PARTS as u32;

impl Request {
    /// A request on one worker, entries sorted by name.
    ///
    /// # Errors
    /// For amounts of zero or past [`Amount::MAX`], and for a resource that occurs twice.
    pub fn new(mut entries: Vec<ResourceEntry>) -> Result<Self, RequestError> {
        entries.sort();
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].resource == pair[1].resource) {
            return Err(RequestError::Twice(pair[0].resource.clone()));
        }
        for entry in &entries {
            match entry.quantity {
                Quantity::Amount(Amount::ZERO, _) => return Err(RequestError::Zero),
                Quantity::Amount(amount, _) if amount > Amount::MAX => {
                    return Err(RequestError::TooLarge(entry.resource.clone()));
                }
                Quantity::Amount(..) | Quantity::All => {}
            }
        }
        Ok(Self { nodes: 0, entries, min_time: Span::ZERO, weight: Amount::PARTS as u32 })
    }

    /// `n` cpus, compact.
    ///
    /// # Errors
    /// For 0.
    pub fn cpus(n: u32) -> Result<Self, RequestError> {
        let quantity = Quantity::Amount(Amount::units(n), Policy::Compact);
        Self::new(vec![ResourceEntry { resource: ResourceName::cpus(), quantity }])
    }

    /// `nodes` whole workers of one group, at least 1.
    pub fn gang(nodes: u32) -> Self {
        Self { nodes: nodes.max(1), entries: vec![], min_time: Span::ZERO, weight: Amount::PARTS as u32 }
    }

    /// The same with a least remaining life of the worker at the start.
    #[must_use]
    pub fn with_min_time(mut self, min_time: Span) -> Self {
        self.min_time = min_time;
        self
    }

    /// The weight, in 1/10,000, nearest to a number of a command line, job file or program.
    ///
    /// # Errors
    /// For what would be 0, is more than 400,000, or is no number.
    pub fn weight_of(number: f64) -> Result<u32, RequestError> {
        let parts = Amount::from_f64(number).ok().and_then(|amount| u32::try_from(amount.parts()).ok());
        parts.filter(|parts| (1..=WEIGHT_MAX).contains(parts)).ok_or(RequestError::Weight)
    }

    /// The same with a weight in 1/10,000; see [`Request::weight_of`].
    ///
    /// # Errors
    /// For 0 and for more than 400,000 units.
    pub fn with_weight(mut self, parts: u32) -> Result<Self, RequestError> {
        if parts == 0 || parts > WEIGHT_MAX {
            return Err(RequestError::Weight);
        }
        self.weight = parts;
        Ok(self)
    }

    /// How many whole workers; 0 for a request on one worker.
    pub const fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Sorted by name; empty for gangs.
    pub fn entries(&self) -> &[ResourceEntry] {
        &self.entries
    }

    /// The worker must have at least that long to live when the task starts.
    pub const fn min_time(&self) -> Span {
        self.min_time
    }

    /// Multiplies the value of placing the task; in 1/10,000.
    pub const fn weight(&self) -> u32 {
        self.weight
    }
}

/// Alternative requests of a task, the preferred one first; 1 to 32, all single-node or all multi-node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<Request>", into = "Vec<Request>")]
pub struct Variants(Vec<Request>);

impl Variants {
    /// The most alternatives a task can have.
    pub const MAX: usize = 32;

    /// Checked alternatives.
    ///
    /// # Errors
    /// For none, for too many, and for a mix of single-node and multi-node.
    pub fn new(requests: Vec<Request>) -> Result<Self, RequestError> {
        if requests.is_empty() || requests.len() > Self::MAX {
            return Err(RequestError::Count(requests.len()));
        }
        if requests.iter().any(|r| r.nodes > 0) && requests.iter().any(|r| r.nodes == 0) {
            return Err(RequestError::Mixed);
        }
        Ok(Self(requests))
    }

    /// The alternatives, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Request> {
        self.0.iter()
    }

    /// The alternative at `variant`.
    pub fn get(&self, variant: u8) -> Option<&Request> {
        self.0.get(usize::from(variant))
    }

    /// The number of alternatives, at least 1.
    pub fn count(&self) -> u8 {
        self.0.len() as u8
    }

    /// Whether whole workers are wanted.
    pub fn is_gang(&self) -> bool {
        self.0.iter().any(|r| r.nodes > 0)
    }
}

impl From<Request> for Variants {
    fn from(request: Request) -> Self {
        Self(vec![request])
    }
}

impl TryFrom<Vec<Request>> for Variants {
    type Error = RequestError;

    fn try_from(requests: Vec<Request>) -> Result<Self, RequestError> {
        Self::new(requests)
    }
}

impl From<Variants> for Vec<Request> {
    fn from(variants: Variants) -> Self {
        variants.0
    }
}
