//! Vectors as rows of text tables in `testdata/`: a kind, the text in backticks, `=>`, and what comes of it. `UPDATE=1`
//! rewrites what is behind `=>`.

use std::{fmt::Write as _, fs, path::Path};

/// Holds the rows of a table against `read(kind, text)`.
#[track_caller]
pub(crate) fn check(file: &str, read: impl Fn(&str, &str) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(file);
    let text = fs::read_to_string(&path).expect("the table can be read");
    let (mut rewritten, mut wrong) = (String::new(), vec![]);
    for (n, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            writeln!(rewritten, "{line}").expect("memory");
            continue;
        }
        let (input, expected) = line.rsplit_once("` =>").expect("a row has `=>` behind the text");
        let (kind, input) = input.split_once(" `").expect("a row has a kind and a text");
        let found = read(kind, input);
        if found != expected.strip_prefix(' ').unwrap_or(expected) {
            wrong.push(format!("line {}: {line}\n    found: {found}", n + 1));
        }
        writeln!(rewritten, "{kind} `{input}` => {found}").expect("memory");
    }
    if std::env::var_os("UPDATE").is_some() {
        return fs::write(path, rewritten).expect("the table can be written");
    }
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}
