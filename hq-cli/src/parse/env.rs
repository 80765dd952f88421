use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use clap::{Arg, Command, builder::TypedValueParser};

use super::reader::refused;

/// A variable of a task's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EnvVar {
    /// Its name; not empty, without `=`.
    pub(crate) name: Vec<u8>,
    /// Its value.
    pub(crate) value: Vec<u8>,
}

impl EnvVar {
    /// Reads `NAME=VALUE` or `NAME`, which has an empty value. Any bytes are taken as they are.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, &'static str> {
        let end = text.iter().position(|byte| *byte == b'=').unwrap_or(text.len());
        if end == 0 {
            return Err("a variable needs a name; use NAME=VALUE");
        }
        Ok(Self { name: text[..end].to_vec(), value: text.get(end + 1..).unwrap_or_default().to_vec() })
    }
}

/// Reads [`EnvVar`] from an option.
#[derive(Clone, Debug)]
pub(crate) struct EnvVarParser;

impl TypedValueParser for EnvVarParser {
    type Value = EnvVar;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<EnvVar, clap::Error> {
        self.parse(command, arg, value.to_owned())
    }

    fn parse(&self, command: &Command, arg: Option<&Arg>, value: OsString) -> Result<EnvVar, clap::Error> {
        EnvVar::parse(value.as_bytes()).map_err(|reason| refused(command, arg, &value, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors() {
        for (text, expected) in [
            ("", None),
            ("=value", None),
            ("key", Some(("key", ""))),
            ("key=", Some(("key", ""))),
            ("key=value", Some(("key", "value"))),
            ("key=value=value2", Some(("key", "value=value2"))),
        ] {
            let expected =
                expected.map(|(name, value): (&str, &str)| EnvVar { name: name.into(), value: value.into() });
            assert_eq!(EnvVar::parse(text.as_bytes()).ok(), expected, "{text}");
        }
    }
}
