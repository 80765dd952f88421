use std::{ffi::OsStr, fs::File, io::Read, os::unix::ffi::OsStrExt, path::Path};

use rustix::{
    fs::{Access, access},
    io::Errno,
};

/// What a shell uses where `PATH` is not set.
const DEFAULT_PATH: &[u8] = b"/bin:/usr/bin";

/// The file that `name` means to `execve` in directory `cwd`.
///
/// # Errors
/// `ENOENT` where nothing is found, `EACCES` where all that is found cannot be executed. A name with a slash is not
/// looked for.
pub(super) fn find(name: &[u8], path: Option<&[u8]>, cwd: &[u8]) -> Result<Vec<u8>, i32> {
    if name.contains(&b'/') {
        return Ok(name.to_vec());
    }
    if name.is_empty() {
        return Err(libc::ENOENT);
    }
    let mut errno = libc::ENOENT;
    for directory in path.unwrap_or(DEFAULT_PATH).split(|byte| *byte == b':') {
        let mut candidate = if directory.is_empty() { b".".to_vec() } else { directory.to_vec() };
        candidate.push(b'/');
        candidate.extend_from_slice(name);
        // A relative entry is relative to the task's directory.
        let file = to_path(cwd).join(to_path(&candidate));
        match access(&file, Access::EXEC_OK) {
            Ok(()) if file.is_file() => return Ok(candidate),
            Err(Errno::ACCESS) if file.is_file() => errno = libc::EACCES,
            _ => {}
        }
    }
    Err(errno)
}

/// Whether a file that the system does not know how to execute looks like a script without a first line that names its
/// interpreter. Shells run such files, and so do we.
pub(super) fn is_plain_script(file: &Path) -> bool {
    let mut head = [0; 128];
    match File::open(file).and_then(|mut file| file.read(&mut head)) {
        Ok(length) => !head[..length].starts_with(b"\x7fELF") && !head[..length].contains(&0),
        Err(_) => false,
    }
}

/// The interpreter that the first line of a script names.
pub(super) fn interpreter(file: &Path) -> Option<String> {
    let mut head = [0; 256];
    let length = File::open(file).and_then(|mut file| file.read(&mut head)).ok()?;
    let line = head[..length].strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    String::from_utf8_lossy(line).split_whitespace().next().map(str::to_owned)
}

pub(super) fn to_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn found_as_a_shell_finds_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for (name, mode) in [("a/tool", 0o755), ("b/tool", 0o755), ("a/plain", 0o644), ("b/late", 0o755)] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "").unwrap();
            fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::create_dir(root.join("a/late")).unwrap();
        let cwd = root.as_os_str().as_bytes();
        let find = |name: &str, path: Option<&str>| {
            find(name.as_bytes(), path.map(str::as_bytes), cwd).map(|found| String::from_utf8(found).unwrap())
        };
        for (name, path, found) in [
            ("tool", Some("a:b"), Ok("a/tool")),
            ("tool", Some("b:a"), Ok("b/tool")),
            ("late", Some("a:b"), Ok("b/late")),
            ("plain", Some("a:b"), Err(libc::EACCES)),
            ("none", Some("a:b"), Err(libc::ENOENT)),
            ("", Some("a:b"), Err(libc::ENOENT)),
            ("./x/y", Some("a:b"), Ok("./x/y")),
            ("sh", None, Ok("/bin/sh")),
        ] {
            assert_eq!(find(name, path).as_deref(), found.as_ref().map(|f| *f), "{name} in {path:?}");
        }
    }
}
