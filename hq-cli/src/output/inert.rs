use std::borrow::Cow;

/// `text` with everything that could act on a terminal written out: control characters (C0, C1, line ends too) and
/// the marks that turn the direction of writing.
pub(crate) fn inert(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if acts(c) { safe.extend(c.escape_default()) } else { safe.push(c) }
    }
    Cow::Owned(safe)
}

/// Whether a terminal does anything but show it.
pub(super) fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::inert;

    #[test]
    fn what_acts_on_a_terminal_is_written_out() {
        for (text, expected) in [
            ("plain, … ünïcode", "plain, … ünïcode"),
            ("\x1b[31mred", "\\u{1b}[31mred"),
            ("a\tb\nc\rd", "a\\tb\\nc\\rd"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("abc\u{202e}cba", "abc\\u{202e}cba"),
            ("\x7f\0", "\\u{7f}\\u{0}"),
        ] {
            assert_eq!(inert(text), expected, "{text:?}");
        }
    }
}
