//! What a worker has free, down to the single index, and the one function that fits and allocates.
//!
//! [`Pools`] is a value: it is cloned, compared and ordered freely, and nothing in it depends on time or chance.
//! [`Pools::allocate`] only looks, [`Pools::take`] and [`Pools::release`] change; so "does it fit" and "what would it
//! get" can never differ.
//!
//! | file | concern |
//! |---|---|
//! | `pools` | the type and its questions |
//! | `room` | amounts alone, to count with |
//! | `shape` | what never changes of a worker: names, sizes, couplings |
//! | `free` | the free state of one resource |
//! | `allocate` | from a request to exact indices |
//! | `spread` | how many indices of each chosen group, by policy |
//! | `choice` | which groups, and whether a strict policy accepts them |
//! | `need` | what a line of a request needs of which groups, and how bad a choice is |
//! | `links` | couplings as the search sees them |
//! | `search` | the exact bounded search behind `choice` |
//! | `count` | how often a request fits |
//! | `glance` | a resource in a few figures, to look at many requests at once |
//! | `obstacle` | why it does not |
//! | `signature` | what two workers must have in common to be interchangeable |

mod allocate;
mod choice;
mod count;
mod free;
mod glance;
mod links;
mod need;
mod obstacle;
mod pools;
mod room;
mod search;
mod shape;
mod signature;
mod spread;

pub(crate) use glance::{Glance, is_strict};
pub use pools::Pools;
pub(crate) use room::{Need, Room};
pub use signature::Signature;
