//! The resource model: what a worker offers, what a task asks for, what it gets.

mod coupling;
mod definition;
mod grant;
mod name;
mod parse;
mod request;

pub use coupling::{CouplingError, CouplingItem};
pub use definition::{DefinitionError, ResourceDef, ResourceKind, WorkerResources};
pub use grant::{Allocation, GrantedResource, Piece};
pub use name::{NameError, ResourceName};
pub use parse::ResourceParseError;
pub use request::{Policy, Quantity, Request, RequestError, ResourceEntry, Variants};
