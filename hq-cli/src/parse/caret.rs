use hq_core::{IdList, IdListError, ResourceParseError};
use hq_sim::machines::TextError;

use crate::output::inert;

/// What is wrong, the text, and below it a caret at the byte where it goes wrong.
pub(super) fn with_caret(text: &str, at: usize, reason: &str) -> String {
    let at = text.floor_char_boundary(at);
    let blanks = inert(&text[..at]).chars().count();
    format!("{}\n  {}\n  {}^", inert(reason), inert(text), " ".repeat(blanks))
}

/// Shows an error in a resource.
pub(crate) fn resource_error(error: &ResourceParseError) -> String {
    with_caret(&error.text, error.at, &error.reason)
}

/// Shows an error in a description.
pub(crate) fn text_error(text: &str, error: &TextError) -> String {
    let line = text.split('\n').take(error.line.saturating_sub(1)).map(|line| line.len() + 1).sum::<usize>();
    let chars = text.get(line..).unwrap_or_default().char_indices();
    let at = chars.map(|(at, _)| line + at).nth(error.column.saturating_sub(1)).unwrap_or(text.len());
    with_caret(text, at, &error.reason)
}

/// Shows an error in a list of ids.
pub(crate) fn ids_error(text: &str, error: &IdListError) -> String {
    with_caret(text, ids_place(text, error), &error.to_string())
}

/// The byte of an error in a list of ids.
pub(crate) fn ids_place(text: &str, error: &IdListError) -> usize {
    match error {
        IdListError::Syntax { at }
        | IdListError::TooLarge { at }
        | IdListError::Invalid { at, .. }
        | IdListError::Step { at, .. } => *at,
        IdListError::Overlap => first_overlap(text),
    }
}

/// Where the first item begins that has a number of those before it.
fn first_overlap(text: &str) -> usize {
    let begins: Vec<usize> = std::iter::once(0).chain(text.match_indices(',').map(|(at, _)| at + 1)).collect();
    let ends = begins.iter().skip(1).map(|next| next - 1).chain([text.len()]);
    let items: Vec<(usize, usize)> = begins.iter().copied().zip(ends).collect();
    // What overlaps does so with more items too.
    let after = items.partition_point(|(_, end)| IdList::parse(&text[..*end]) != Err(IdListError::Overlap));
    let (begin, end) = items.get(after).copied().unwrap_or_default();
    let item = &text[begin..end];
    begin + (item.len() - item.trim_start().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_is_below_the_character() {
        assert_eq!(with_caret("2 foo", 2, "expected x"), "expected x\n  2 foo\n    ^");
        assert_eq!(with_caret("é\tx", 3, "r"), "r\n  é\\tx\n     ^");
        assert_eq!(with_caret("", 7, "r"), "r\n  \n  ^");
    }

    #[test]
    fn descriptions_of_several_lines() {
        let error = hq_sim::machines::parse("cpus=1\né=1").expect_err("refused");
        assert!(text_error("cpus=1\né=1", &error).ends_with("\n  cpus=1\\né=1\n          ^"));
    }

    #[test]
    fn an_overlap_is_shown_where_it_begins() {
        for (text, at) in [("1-5,3", 4), ("1,2, 2,3,3", 5), ("7,7", 2), ("1-3,5-9,2-4", 8)] {
            assert_eq!(IdList::parse(text), Err(IdListError::Overlap), "{text}");
            assert_eq!(first_overlap(text), at, "{text}");
        }
    }
}
