//! Where sights come from.

mod ledger;
mod live;
mod marks;
mod past;
mod roll;

pub(super) use live::live;
pub(super) use past::Past;
