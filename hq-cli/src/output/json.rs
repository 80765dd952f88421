use std::io::{self, Write};

use serde::Serialize;
use serde_json::{
    Serializer,
    ser::{Formatter, PrettyFormatter},
};

use super::inert::acts;

/// Writes `value` as JSON over several lines. What could act on a terminal is escaped: JSON itself asks for that only of
/// some of it.
pub(super) fn write_pretty(writer: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut serializer = Serializer::with_formatter(writer, Inert(PrettyFormatter::new()));
    value.serialize(&mut serializer).map_err(io::Error::from)
}

/// The same as text.
pub(super) fn pretty_json(value: &impl Serialize) -> io::Result<String> {
    let mut text = Vec::new();
    write_pretty(&mut text, value)?;
    String::from_utf8(text).map_err(io::Error::other)
}

/// The same in one line, as text.
pub(crate) fn compact_json(value: &serde_json::Value) -> String {
    let text = value.to_string();
    if !text.chars().any(acts) {
        return text;
    }
    text.chars().fold(String::with_capacity(text.len() + 8), |mut safe, c| {
        if acts(c) {
            safe.push_str(&escape(c));
        } else {
            safe.push(c);
        }
        safe
    })
}

/// All characters that act are in the basic plane.
fn escape(c: char) -> String {
    format!("\\u{:04x}", u32::from(c))
}

/// Escapes what could act on a terminal, and leaves the rest to another formatter.
struct Inert<F>(F);

impl<F: Formatter> Formatter for Inert<F> {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| acts(*c)) {
            let (before, after) = rest.split_at(at);
            self.0.write_string_fragment(writer, before)?;
            writer.write_all(escape(c).as_bytes())?;
            rest = after.get(c.len_utf8()..).unwrap_or_default();
        }
        self.0.write_string_fragment(writer, rest)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_acts_is_escaped_and_means_the_same() {
        let value = json!({ "n\u{9b}": ["\x1b[31m", "a\u{202e}b", "plain ünïcode \" \n", 1.0, null, {}], "e": [] });
        let mut pretty = Vec::new();
        write_pretty(&mut pretty, &value).expect("written");
        for text in [String::from_utf8(pretty).expect("UTF-8"), compact_json(&value)] {
            assert!(!text.chars().any(|c| acts(c) && c != '\n'), "{text:?}");
            assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value);
            assert!(text.contains("\\u202e") && text.contains("ünïcode"), "{text}");
        }
        let plain = json!({ "a": [1, { "b": "c" }] });
        let mut pretty = Vec::new();
        write_pretty(&mut pretty, &plain).expect("written");
        assert_eq!(String::from_utf8(pretty).expect("UTF-8"), format!("{plain:#}"));
    }
}
