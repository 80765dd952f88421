//! Tables of cells with `;` between them whose last cell is what is found.

use std::fmt::Write as _;

/// Finds the last cell of each row from the others; with `UPDATE=1` it is rewritten.
pub(crate) fn check_table(name: &str, run: impl Fn(&[&str]) -> String) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut rewritten = String::new();
    let mut wrong = Vec::new();
    for (n, line) in text.lines().enumerate() {
        if line.starts_with('#') || line.trim().is_empty() {
            writeln!(rewritten, "{line}").unwrap();
            continue;
        }
        let cells: Vec<&str> = line.split(';').map(str::trim).collect();
        let (expected, given) = cells.split_last().unwrap();
        let found = run(given);
        if found != *expected {
            wrong.push(format!("line {}: {line}\n    found: {found}", n + 1));
        }
        writeln!(rewritten, "{} ; {found}", given.join(" ; ")).unwrap();
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, rewritten).unwrap();
        return;
    }
    assert!(wrong.is_empty(), "{} of the vectors differ:\n{}", wrong.len(), wrong.join("\n"));
}
