use std::ffi::OsStr;

use clap::{Arg, Command, builder::TypedValueParser, error::ErrorKind};

use super::caret::with_caret;
use crate::output::inert;

/// Reads an option's value with a function whose error says what is wrong with it.
pub(crate) fn reader<T>(read: fn(&str) -> Result<T, String>) -> Reader<T> {
    Reader(read)
}

/// See [`reader`].
#[derive(Clone, Debug)]
pub(crate) struct Reader<T>(fn(&str) -> Result<T, String>);

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Reader<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        let read = value.to_str().ok_or_else(|| "it is not UTF-8".to_owned()).and_then(self.0);
        read.map_err(|reason| refused(command, arg, value, &reason))
    }
}

/// The error for a value that cannot be read: it always shows the value with a caret below, and nothing in it acts on
/// the terminal.
pub(super) fn refused(command: &Command, arg: Option<&Arg>, value: &OsStr, reason: &str) -> clap::Error {
    let text = value.to_string_lossy();
    let option = arg.map_or_else(String::new, |arg| format!(" for '{arg}'"));
    let reason = if reason.contains('\n') { reason.to_owned() } else { with_caret(&text, 0, reason) };
    let text = format!("invalid value '{}'{option}: {reason}", inert(&text));
    command.clone().error(ErrorKind::ValueValidation, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_show_the_value_and_where() {
        let read = reader(|text: &str| if text == "1" { Ok(1) } else { Err("expected 1".to_owned()) });
        let arg = Arg::new("n").long("n").value_name("N").value_parser(read);
        let command = Command::new("hq").arg(arg);
        let parse = |value: &str| command.clone().try_get_matches_from(["hq", "--n", value]);
        assert_eq!(parse("1").expect("read").get_one("n"), Some(&1));
        let text = parse("2\n\x1b[31m").expect_err("refused").to_string();
        let expected = "invalid value '2\\n\\u{1b}[31m' for '--n <N>': expected 1\n  2\\n\\u{1b}[31m\n  ^\n";
        assert!(text.contains(expected), "{text}");
    }
}
