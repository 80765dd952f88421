//! Workers that are alike, so that what holds for one of them is found out once for all.
//!
//! Workers of one *make* could run the same when they are idle; workers in one *room* have, beside their make, as much free
//! of everything, so that the same fits. Both are kept while workers come, go and fill up.

mod index;
mod makes;

pub(crate) use self::{
    index::{RoomId, Rooms},
    makes::{MakeId, Makes},
};
