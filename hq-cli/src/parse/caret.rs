use hq_core::{IdListError, ResourceParseError};

use crate::output::inert;

/// What is wrong, the text, and below it a caret at the byte where it goes wrong.
fn with_caret(text: &str, at: usize, reason: &str) -> String {
    let at = text.floor_char_boundary(at);
    let blanks = inert(&text[..at]).chars().count();
    format!("{}\n  {}\n  {}^", inert(reason), inert(text), " ".repeat(blanks))
}

/// Shows an error in a resource.
pub(crate) fn resource_error(error: &ResourceParseError) -> String {
    with_caret(&error.text, error.at, &error.reason)
}

/// Shows an error in a list of ids.
pub(crate) fn ids_error(text: &str, error: &IdListError) -> String {
    match error {
        IdListError::Syntax { at } => with_caret(text, *at, &error.to_string()),
        IdListError::Invalid { .. } | IdListError::Step { .. } | IdListError::Overlap => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::with_caret;

    #[test]
    fn the_caret_is_below_the_character() {
        assert_eq!(with_caret("2 foo", 2, "expected x"), "expected x\n  2 foo\n    ^");
        assert_eq!(with_caret("é\tx", 3, "r"), "r\n  é\\tx\n     ^");
        assert_eq!(with_caret("", 7, "r"), "r\n  \n  ^");
    }
}
