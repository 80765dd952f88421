use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Where the workspace is.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace").into()
}

/// What cargo, run in the workspace, prints.
///
/// # Panics
/// If it fails.
pub fn cargo(args: &[&str]) -> String {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(program).args(args).current_dir(root()).output();
    let output = output.expect("cargo can be run");
    assert!(output.status.success(), "cargo {args:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo prints text")
}

/// All files below a directory of the workspace, but what was built; sorted.
pub fn sources(below: &Path) -> Vec<PathBuf> {
    let (mut files, mut dirs) = (Vec::new(), vec![below.to_path_buf()]);
    while let Some(dir) = dirs.pop() {
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        for entry in entries.filter_map(Result::ok) {
            let (name, kind) = (entry.file_name(), entry.file_type().expect("entries have a type"));
            // In a worktree, `.git` is a file.
            if ["target", ".git", "tmp"].iter().any(|skipped| name == *skipped) {
                continue;
            }
            if kind.is_dir() {
                dirs.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    files
}
