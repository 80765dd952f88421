/// Characters that are shown of a text that is wrong.
const SHOWN_MAX: usize = 64;

/// Whether a shell, and the readers of `#SBATCH` and `#PBS` lines, take the text as one word that means itself.
pub fn is_plain(text: &str) -> bool {
    let is_good = |c: char| c.is_ascii_alphanumeric() || "-_./:=+,@".contains(c);
    !text.is_empty() && text.chars().all(is_good)
}

/// The text as one word of a POSIX shell: as it is where that is the same, else in double quotes.
///
/// A NUL, which no word can hold, is left out. `!` is no matter for shells that run scripts.
pub fn quote(text: &str) -> String {
    // A first word with `=` would be an assignment.
    if is_plain(text) && !text.contains('=') { text.to_owned() } else { double_quote(text) }
}

/// The text as one word in double quotes.
pub fn double_quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars().filter(|c| *c != '\0') {
        if matches!(c, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}

/// The text as one word in single quotes.
pub fn single_quote(text: &str) -> String {
    let text: String = text.chars().filter(|c| *c != '\0').collect();
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The beginning of a text, made harmless, for a message about it.
pub fn shorten(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_MAX).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN_MAX).is_some() {
        shown.push('…');
    }
    shown
}
