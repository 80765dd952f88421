//! Commands about the program itself.

pub(crate) mod completion;
pub(crate) mod doc;
pub(crate) mod man;
