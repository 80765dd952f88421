use std::ops::Range;

use crate::output::inert;

/// What is wrong with a job file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
pub(crate) struct FileError {
    line: usize,
    column: usize,
    reason: String,
    /// The text of the line.
    excerpt: String,
}

/// Characters of a line that are shown.
const SHOWN: usize = 100;

impl FileError {
    /// The line, and below it a caret at the place; of a long line the part around the place.
    pub(crate) fn excerpt(&self) -> [String; 2] {
        let skipped = self.column.saturating_sub(SHOWN * 3 / 4);
        let shown: String = self.excerpt.chars().skip(skipped).take(SHOWN).collect();
        let before: String = shown.chars().take(self.column - 1 - skipped).collect();
        [format!("  {}", inert(&shown)), format!("  {}^", " ".repeat(inert(&before).chars().count()))]
    }
}

/// What is wrong with the bytes of a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bad {
    pub(super) span: Range<usize>,
    /// Where in the text that the span is the literal of.
    inside: usize,
    pub(super) reason: String,
}

impl Bad {
    pub(super) fn new(span: Range<usize>, reason: impl Into<String>) -> Self {
        Self { span, inside: 0, reason: reason.into() }
    }

    /// What is wrong at byte `at` of the text that the span is the literal of.
    pub(super) fn inside(span: Range<usize>, at: usize, reason: impl Into<String>) -> Self {
        Self { inside: at, ..Self::new(span, reason) }
    }

    /// The same in a text of which this one is the part from byte `start` on.
    pub(super) fn behind(self, start: usize) -> Self {
        Self { span: start + self.span.start..start + self.span.end, ..self }
    }

    /// With the place in the text: lines and columns from 1, columns in characters.
    pub(super) fn locate(self, text: &str) -> FileError {
        let at = text.floor_char_boundary(self.start(text).min(text.len()));
        let line = text[..at].matches('\n').count() + 1;
        let begin = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let excerpt = text[begin..].lines().next().unwrap_or_default().to_owned();
        FileError { line, column: text[begin..at].chars().count() + 1, reason: self.reason, excerpt }
    }

    /// Its byte in the file. In a literal with escapes, or of several lines, that is the beginning of the literal.
    fn start(&self, text: &str) -> usize {
        let start = self.span.start;
        let literal = text.get(self.span.clone()).unwrap_or_default();
        let quote = literal.chars().next().filter(|quote| matches!(quote, '"' | '\''));
        match (quote, literal.get(1..=self.inside)) {
            (Some(quote), Some(before)) if self.inside > 0 && !before.contains(['\\', '\n', quote]) => {
                start + 1 + self.inside
            }
            _ => start,
        }
    }
}

impl Bad {
    /// What the reader of TOML says of this text.
    pub(super) fn of_toml(error: &toml::de::Error, text: &str) -> Self {
        // It has several lines where a list of what is expected follows.
        let reason = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
        let span = error.span().unwrap_or_default();
        let before = text.get(..span.start).unwrap_or_default();
        Self::new(span, own_fields(reason, before))
    }
}

/// Tasks and arrays are read as the same table: names only those of its fields that can be where `before` ends.
fn own_fields(reason: String, before: &str) -> String {
    const OF_TASKS: &str = "`id`, `deps`, `deps_any`, `deps_failed`, ";
    const OF_ARRAYS: &str = "`ids`, `entries`, ";
    let both = [OF_TASKS, OF_ARRAYS].concat();
    let array = before.rfind("[array").max(before.rfind("array ="));
    let task = before.rfind("[[task").max(before.rfind("task ="));
    reason.replace(&both, if array > task { OF_ARRAYS } else { OF_TASKS })
}
