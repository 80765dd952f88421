//! Comma-separated values as spreadsheets write them (RFC 4180), each with its place.

use crate::text::TextError;

/// A field and where it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field<'a> {
    /// Its text as it stands in the line, quotes included.
    raw: &'a str,
    /// Byte of the line at which that begins.
    at: usize,
}

impl Field<'_> {
    /// The text, without quotes and without blanks around it.
    pub(super) fn text(&self) -> String {
        match self.raw.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            Some(quoted) => quoted.replace("\"\"", "\"").trim().to_owned(),
            None => self.raw.to_owned(),
        }
    }

    /// The byte of the line at which byte `at` of the text stands; within quotes as near as may be.
    pub(super) fn place(&self, at: usize) -> usize {
        let inside = self.raw.strip_prefix('"').map_or(0, |rest| 1 + rest.len() - rest.trim_start().len());
        self.at + (inside + at).min(self.raw.len())
    }
}

/// A row: its line, from 1, that line's text, and its fields.
pub(super) struct Row<'a> {
    pub(super) line: usize,
    pub(super) text: &'a str,
    pub(super) fields: Vec<Field<'a>>,
}

/// The rows of a text; empty lines and those that begin with `#` are none. Quoted fields end in their line.
pub(super) fn rows(text: &str) -> impl Iterator<Item = Result<Row<'_>, TextError>> {
    let lines = text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate();
    let lines = lines.filter(|(_, text)| !text.trim().is_empty() && !text.starts_with('#'));
    lines.map(|(i, text)| Ok(Row { line: i + 1, text, fields: fields(i + 1, text)? }))
}

fn fields(line: usize, text: &str) -> Result<Vec<Field<'_>>, TextError> {
    let mut fields = Vec::new();
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let begin = at + rest.len() - rest.trim_start().len();
        let rest = &text[begin..];
        let len = if rest.starts_with('"') {
            quoted_len(rest).ok_or_else(|| TextError::new(line, text, begin, "expected a closing `\"`"))?
        } else {
            rest.find(',').unwrap_or(rest.len())
        };
        fields.push(Field { raw: rest[..len].trim_end(), at: begin });
        let after = begin + len;
        match text[after..].trim_start().chars().next() {
            None => return Ok(fields),
            Some(',') => at = after + text[after..].find(',').unwrap_or(0) + 1,
            Some(_) => return Err(TextError::new(line, text, after, "expected `,` or the end of the line")),
        }
    }
}

/// Length of a quoted field with both quotes.
fn quoted_len(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '"' && chars.next_if(|(_, next)| *next == '"').is_none() {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<Vec<(String, usize)>> {
        let row = |row: Result<Row<'_>, TextError>| {
            row.unwrap().fields.iter().map(|field| (field.text(), field.place(0))).collect()
        };
        rows(text).map(row).collect()
    }

    #[test]
    fn fields_and_where_they_begin() {
        let owned = |fields: &[(&str, usize)]| fields.iter().map(|(text, at)| ((*text).to_owned(), *at)).collect();
        for (text, expected) in [
            ("a, b ,\"c, d\"", &[("a", 0), ("b", 3), ("c, d", 7)][..]),
            ("a,,", &[("a", 0), ("", 2), ("", 3)]),
            ("\"say \"\"no\"\"\" ,é", &[("say \"no\"", 1), ("é", 14)]),
            ("\u{feff}a\r", &[("a", 0)]),
            ("\" x\"", &[("x", 2)]),
        ] {
            assert_eq!(texts(text), [Vec::<(String, usize)>::from_iter::<Vec<_>>(owned(expected))], "{text:?}");
        }
        assert_eq!(texts("# no\n\n  \na\n").len(), 1);
    }

    #[test]
    fn what_is_wrong_is_shown_where_it_is() {
        for (text, column) in [("a,\"b", 3), ("é,\"b\"c", 6), ("\"\"\"", 1)] {
            let error = rows(text).find_map(Result::err).unwrap();
            assert_eq!((error.line, error.column), (1, column), "{text:?}: {error}");
        }
    }
}
