//! Readers of the texts of the resource model; their syntax is in the documentation of [`resource`](super).

mod coupling;
mod definition;
mod reader;
mod request;

pub use reader::ResourceParseError;
