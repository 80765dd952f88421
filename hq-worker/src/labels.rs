//! Names of granted indices.

use hq_core::{GrantedResource, WorkerResources};

/// The labels of what was granted, in its order. An index that the worker does not have is left out.
pub(crate) fn of(granted: &GrantedResource, resources: &WorkerResources) -> Vec<String> {
    let Some(def) = resources.get(granted.resource.as_str()) else { return vec![] };
    granted.pieces.iter().filter_map(|piece| def.kind.label(piece.index)).collect()
}
