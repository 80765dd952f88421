use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

/// The name of a resource: an ASCII letter, then letters, digits and `/`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ResourceName(Arc<str>);

/// A text that cannot name a resource.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid resource name `{0}`: it has to begin with a letter and may hold letters, digits and `/` only")]
pub struct NameError(pub String);

impl ResourceName {
    /// The name of the resource that each worker has.
    pub const CPUS: &str = "cpus";
    /// The name of memory, which is counted in MiB.
    pub const MEM: &str = "mem";

    /// A checked name.
    ///
    /// # Errors
    /// For anything but a letter followed by letters, digits and `/`.
    pub fn new(name: &str) -> Result<Self, NameError> {
        let valid = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'/');
        if valid { Ok(Self(name.into())) } else { Err(NameError(name.to_owned())) }
    }

    /// `cpus`.
    pub fn cpus() -> Self {
        Self(Self::CPUS.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ResourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ResourceName {
    type Error = NameError;

    fn try_from(name: String) -> Result<Self, NameError> {
        Self::new(&name)
    }
}

impl From<ResourceName> for String {
    fn from(name: ResourceName) -> Self {
        name.as_str().to_owned()
    }
}
