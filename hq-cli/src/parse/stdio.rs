use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use clap::{Arg, Command, builder::TypedValueParser};
use hq_core::OnClose;

use super::reader::refused;

/// Where the user wants an output to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StdioArg {
    /// Nowhere.
    None,
    /// To a file.
    File {
        /// Its path; none: the usual one.
        path: Option<Vec<u8>>,
        /// What happens to it at the end.
        on_close: OnClose,
    },
}

impl StdioArg {
    /// Reads `none`, `PATH`, `PATH:rm-if-finished` or `:rm-if-finished`.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, &'static str> {
        if text == b"none" {
            return Ok(Self::None);
        }
        let (path, on_close) = match text.iter().rposition(|byte| *byte == b':') {
            None => (text, OnClose::Keep),
            Some(at) if &text[at + 1..] == b"rm-if-finished" => (&text[..at], OnClose::RemoveIfFinished),
            Some(_) => return Err("after `:` only `rm-if-finished` is known"),
        };
        if path.is_empty() && on_close == OnClose::Keep {
            return Err("expected `none`, a path, or a path and `:rm-if-finished`");
        }
        Ok(Self::File { path: (!path.is_empty()).then(|| path.to_vec()), on_close })
    }
}

/// Reads [`StdioArg`] from an option.
#[derive(Clone, Debug)]
pub(crate) struct StdioParser;

impl TypedValueParser for StdioParser {
    type Value = StdioArg;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<StdioArg, clap::Error> {
        self.parse(command, arg, value.to_owned())
    }

    fn parse(&self, command: &Command, arg: Option<&Arg>, value: OsString) -> Result<StdioArg, clap::Error> {
        StdioArg::parse(value.as_bytes()).map_err(|reason| refused(command, arg, &value, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors() {
        let file = |path: Option<&str>, on_close| Some(StdioArg::File { path: path.map(Into::into), on_close });
        for (text, expected) in [
            ("none", Some(StdioArg::None)),
            ("foo/bar/baz.txt", file(Some("foo/bar/baz.txt"), OnClose::Keep)),
            ("foo/bar/baz.txt:rm-if-finished", file(Some("foo/bar/baz.txt"), OnClose::RemoveIfFinished)),
            (":rm-if-finished", file(None, OnClose::RemoveIfFinished)),
            ("", None),
            ("foo:", None),
            ("foo:bar", None),
            (":", None),
        ] {
            assert_eq!(StdioArg::parse(text.as_bytes()).ok(), expected, "{text}");
        }
    }
}
