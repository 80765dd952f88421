//! Vectors as rows of a text file.

use std::{fmt::Write as _, path::Path};

/// Compares each row of a file with what `read` makes of it. A row is a kind, the text in backticks, `=>` and what comes
/// of it; `\n`, `\t`, `\u{…}` and the like stand for what they are in Rust. `UPDATE=1` rewrites what is behind `=>`.
///
/// # Panics
/// Where rows differ, or there are fewer than `rows_min`.
pub fn check_table(path: &Path, rows_min: usize, read: impl Fn(&str, &str) -> String) {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (mut rewritten, mut wrong, mut rows) = (String::new(), vec![], 0);
    for (n, line) in text.lines().enumerate() {
        let row = line.rsplit_once("` =>").and_then(|(row, expected)| Some((row.split_once(" `")?, expected.trim())));
        let Some(((kind, input), expected)) = row.filter(|_| !line.starts_with('#')) else {
            assert!(line.is_empty() || line.starts_with('#'), "line {}: no row: {line}", n + 1);
            rewritten.push_str(line);
            rewritten.push('\n');
            continue;
        };
        rows += 1;
        let found = read(kind, &unescape(input)).replace('\n', "\\n");
        if found != expected {
            wrong.push(format!("line {}: {line}\n    found: {found}", n + 1));
        }
        let _ = writeln!(rewritten, "{kind} `{input}` => {found}");
    }
    assert!(rows >= rows_min, "only {rows} rows in {}", path.display());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, rewritten).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        return;
    }
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn unescape(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once('\\') {
        plain.push_str(before);
        let (c, behind) = match behind.chars().next() {
            Some('n') => ('\n', &behind[1..]),
            Some('t') => ('\t', &behind[1..]),
            Some('r') => ('\r', &behind[1..]),
            Some('0') => ('\0', &behind[1..]),
            Some('\\') => ('\\', &behind[1..]),
            Some('u') => {
                let (code, behind) = behind[1..].trim_start_matches('{').split_once('}').expect("an end of \\u{…}");
                (u32::from_str_radix(code, 16).ok().and_then(char::from_u32).expect("a character"), behind)
            }
            _ => ('\\', behind),
        };
        plain.push(c);
        rest = behind;
    }
    plain + rest
}
