//! What tests of this crate share.

pub(crate) mod samples;
pub(crate) mod table;

use std::{fs, path::PathBuf};

/// Compares with the file of that name in `tests/golden`, which is rewritten if `UPDATE_GOLDEN` is set.
pub(crate) fn golden(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, actual).expect("write the golden file");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "\n--- {name} is\n{actual}\n--- and should be\n{expected}");
}
