//! The resource model: what a worker offers, what a task asks for, what it gets.
//!
//! A worker [has](WorkerResources) named resources, `cpus` always among them. A resource is a set of indices, perhaps in groups
//! (sockets, NUMA nodes), or a sum without identity. A task has one to 32 [`Variants`] of a [`Request`]; what it gets on its
//! worker is an [`Allocation`] of exact indices. [`Amount`](crate::Amount)s have four decimals; a fraction is a part of one
//! index, which others may share.
//!
//! # Syntax
//!
//! ```text
//! DEFINITION = NAME "=" DEF                        what a worker has
//! DEF        = GROUPS "x" SIZE                     2x8: two groups of eight, labelled 0 to 15; 1x8 is one list
//!            | "[" LABEL "," … "]"                 [a,b,"c d"]
//!            | "[[" LABEL "," … "],[" … "]]"       [[0,1],[2,3]]: groups of labels; a single one is a list
//!            | "range(" FIRST "-" LAST ")"         range(30-35): inclusive
//!            | "sum(" AMOUNT ")"                   sum(100.5): an amount without identity, never for cpus
//!            | NUMBER                              cpus only: labelled from 0
//! ENTRY      = NAME "=" QUANTITY                   what a task asks for
//! QUANTITY   = "all" | AMOUNT [POLICY]
//! POLICY     = "compact" | "compact!" | "tight" | "tight!" | "scatter"
//! COUPLING   = ITEM "," …                          which groups lie close to each other
//! ITEM       = NAME "[" GROUP "]:" NAME "[" GROUP "]" ["=" WEIGHT]
//! NAME       = a letter, then letters, digits and "/"
//! AMOUNT     = digits, "_" between them, perhaps "." and one to four digits
//! LABEL      = anything but `"` in quotes, or text without blanks, commas, brackets and quotes
//! ```
//!
//! Blanks are allowed around each token.
//!
//! | read | with | what else is checked, and where |
//! |---|---|---|
//! | definition | [`ResourceDef::parse`], [`ResourceDef::parse_cpus`] | [`WorkerResources::new`]: emptiness, labels in two groups, names twice, sizes ([`DefinitionError`]) |
//! | coupling | [`CouplingItem::parse_list`], [`WorkerResources::with_coupling`] | there: known resources of two groups or more, known groups, no item twice ([`CouplingError`]) |
//! | entry, quantity | [`ResourceEntry::parse`], [`Quantity::parse`] | there: no amount of zero |
//! | request | [`Request::parse`] | there and in [`Request::new`]: no resource twice ([`RequestError`]) |
//! | variants | [`Variants::new`] | 1 to 32, all on one worker or all on several ([`RequestError`]) |
//! | amount | [`Amount`](crate::Amount) as a `FromStr`, [`Amount::from_f64`](crate::Amount::from_f64) | the range ([`ParseAmountError`](crate::ParseAmountError)) |
//!
//! Every error of a text is one line, and a [`ResourceParseError`] has the byte where it goes wrong, which always lies within
//! the text or at its end.
//!
//! # What a policy means
//!
//! Where a resource has groups, the policy says from which ones the indices come, and how many from each.
//!
//! | policy | groups | from each |
//! |---|---|---|
//! | `compact` | the fewest that have enough now | one in turn |
//! | `tight` | the same | all, the next one only then |
//! | `scatter` | all | one in turn |
//! | `compact!`, `tight!` | the same, and only if an idle worker would need as many and could couple them no better | as without `!` |
//!
//! Among choices of as few groups, the one with the most weight of couplings is taken: coupled groups never cost a group more.

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
