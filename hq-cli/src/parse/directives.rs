//! Options in comments of scripts: lines `#HQ OPTIONS`, and the line that names an interpreter.

/// Scripts are read that far.
pub(crate) const HEAD_MAX: usize = 32 << 10;

/// What the head of a script says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Directives {
    /// The interpreter and its arguments.
    pub(crate) shebang: Vec<Vec<u8>>,
    /// The words of all its `#HQ` lines, in order.
    pub(crate) words: Vec<Vec<u8>>,
}

impl Directives {
    /// Reads the head of a script: `#HQ` lines among comments and blank lines, up to the first other line.
    ///
    /// # Errors
    /// Names the line in which a quote does not end.
    pub(crate) fn parse(script: &[u8]) -> Result<Self, String> {
        let mut found = Self::default();
        for (n, line) in script[..head_len(script)].split(|byte| *byte == b'\n').enumerate() {
            let unquoted = |()| format!("a quote does not end in line {}", n + 1);
            let line = line.trim_ascii();
            if let (0, Some(interpreter)) = (n, line.strip_prefix(b"#!")) {
                found.shebang = words(interpreter).map_err(unquoted)?;
            } else if let Some(rest) = line.strip_prefix(b"#HQ").filter(|rest| rest.first().is_some_and(is_blank)) {
                found.words.extend(words(rest).map_err(unquoted)?);
            } else if !line.is_empty() && !line.starts_with(b"#") {
                break;
            }
        }
        Ok(found)
    }
}

/// Whole lines only: what is cut off would be read as something else.
fn head_len(script: &[u8]) -> usize {
    if script.len() <= HEAD_MAX {
        return script.len();
    }
    script[..HEAD_MAX].iter().rposition(|byte| *byte == b'\n').unwrap_or(HEAD_MAX)
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// The words of a line. Blanks separate them, but not in double quotes, which may begin inside a word; `\"` is a quote,
/// and `\ ` outside quotes a blank.
fn words(line: &[u8]) -> Result<Vec<Vec<u8>>, ()> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quoted = false;
    let mut bytes = line.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let escapes = |next: &u8| *next == b'"' || (*next == b' ' && !quoted);
        match byte {
            b'\\' => {
                let byte = bytes.next_if(escapes).unwrap_or(b'\\');
                word.get_or_insert_default().push(byte);
            }
            b'"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            byte if is_blank(&byte) && !quoted => words.extend(word.take()),
            byte => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    if quoted { Err(()) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::table;

    fn shown(words: &[Vec<u8>]) -> String {
        words.iter().map(|word| format!("[{}]", String::from_utf8_lossy(word))).collect()
    }

    /// Rows `words` and `script`: of a line, and of a text with `\n` and `\r` for its line ends.
    #[test]
    fn vectors() {
        table::check("directives.txt", |kind, text| match kind {
            "words" => words(text.as_bytes()).map_or_else(|()| "error".to_owned(), |words| shown(&words)),
            "script" => match Directives::parse(text.replace("\\n", "\n").replace("\\r", "\r").as_bytes()) {
                Ok(found) => format!("{} #HQ {}", shown(&found.shebang), shown(&found.words)),
                Err(error) => format!("error {error}"),
            },
            _ => panic!("unknown kind {kind}"),
        });
    }

    #[test]
    fn only_the_head_is_read() {
        let mut script = b"#HQ --array 1-10\n".to_vec();
        script.resize(HEAD_MAX - 15, b'#');
        script.extend(b"\n#HQ --array 1-1000\n#HQ --cpus 2\n");
        let found = Directives::parse(&script).expect("reads");
        assert_eq!(shown(&found.words), "[--array][1-10]", "a line that is cut off is not half read");
    }
}
