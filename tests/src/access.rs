use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::Value;

use crate::Cluster;

impl Cluster {
    /// The access record of the server that runs.
    ///
    /// # Panics
    /// If there is none.
    pub fn record(&self) -> Value {
        let text = fs::read_to_string(self.server_dir().join("hq-current/access.json")).expect("a record");
        serde_json::from_str(&text).expect("JSON")
    }

    /// Writes an access record, as private as they have to be, to a file below [`Cluster::dir`].
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn put_record(&self, name: &str, record: &Value) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a file")).expect("a directory");
        rewrite_private(&path, &record.to_string());
    }
}

/// Puts a file that only its owner can read, and nobody change, in the place of another one.
///
/// # Panics
/// If it cannot be written.
pub fn rewrite_private(path: &Path, text: &str) {
    let _ = fs::remove_file(path);
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o400)).expect("closed");
}
