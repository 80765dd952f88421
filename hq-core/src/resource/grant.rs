use serde::{Deserialize, Serialize};

use crate::{Amount, ResourceName};

/// A part of one index, or all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Piece {
    /// The index in order of definition, through all groups.
    pub index: u32,
    /// Up to one unit.
    pub amount: Amount,
}

/// What a run got of one resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GrantedResource {
    /// Of what.
    pub resource: ResourceName,
    /// How much in all.
    pub amount: Amount,
    /// The indices, whole ones in order, a partial one last. Empty for a sum.
    pub pieces: Vec<Piece>,
}

/// Exactly which indices a run got on its worker, in order of resource names. Empty for gangs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Allocation(pub Vec<GrantedResource>);
