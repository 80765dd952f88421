use std::env;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::access::Endpoint;
use crate::keys::to_hex;

/// Longest socket path that is used: the kernel takes 107 bytes.
pub const SOCKET_PATH_MAX: usize = 100;

/// Where the client socket of a server is: in its run directory if the path has at most
/// [`SOCKET_PATH_MAX`] bytes, else in a directory of this user under the temporary one.
///
/// The name follows from the run directory (links followed), the user and the client part of the
/// access record. Server and client find the same path without telling each other; and a client
/// whose record names another host, port or key finds no socket, as the record demands.
#[must_use]
pub fn client_socket_path(run_dir: &Path, client: &Endpoint) -> PathBuf {
    let run_dir = run_dir.canonicalize().unwrap_or_else(|_| run_dir.into());
    let Endpoint { host, port, secret_key } = client;
    let key = secret_key.as_deref().unwrap_or_default();
    let record = fingerprint(&[host.as_bytes(), &port.to_le_bytes(), key.as_bytes()]);
    let near = run_dir.join(format!("client-{record}.sock"));
    if near.as_os_str().len() <= SOCKET_PATH_MAX {
        return near;
    }
    let uid = rustix::process::geteuid().as_raw();
    let run = fingerprint(&[&uid.to_le_bytes(), run_dir.as_os_str().as_bytes()]);
    let name = format!("{run}-{record}.sock");
    let far = env::temp_dir().join(format!("hq-{uid}")).join(&name);
    if far.as_os_str().len() <= SOCKET_PATH_MAX {
        return far;
    }
    PathBuf::from(format!("/tmp/hq-{uid}")).join(name)
}

/// Makes the directory of a socket with mode 0700 if it is missing, and sees to it that it is a
/// real directory of this user and closed to all others.
///
/// # Errors
/// `PermissionDenied` when it is not so; otherwise the operating system's.
pub fn prepare_socket_dir(socket: &Path) -> io::Result<()> {
    let dir = socket.parent().ok_or(ErrorKind::InvalidInput)?;
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(e),
        _ => {}
    }
    let meta = fs::symlink_metadata(dir)?;
    let is_ours = meta.uid() == rustix::process::geteuid().as_raw();
    if meta.is_dir() && is_ours && meta.mode() & 0o077 == 0 {
        return Ok(());
    }
    let text = format!("{dir:?} is not a directory that is open to this user only");
    Err(io::Error::new(ErrorKind::PermissionDenied, text))
}

/// Eight bytes of a hash over parts, each with its length, in hex.
fn fingerprint(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    to_hex(&hash.finalize()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(port: u16) -> Endpoint {
        Endpoint { host: "h".into(), port, secret_key: None }
    }

    #[test]
    fn near_when_short_far_when_long() {
        let near = client_socket_path(Path::new("/short/001"), &endpoint(1));
        assert!(near.starts_with("/short/001"), "{near:?}");
        let long = PathBuf::from(format!("/{}", "x".repeat(90)));
        let far = client_socket_path(&long, &endpoint(1));
        assert!(!far.starts_with(&long), "{far:?}");
        assert!(far.as_os_str().len() <= SOCKET_PATH_MAX);
        assert_eq!(far, client_socket_path(&long, &endpoint(1)));
        assert_ne!(far, client_socket_path(&long.join("y"), &endpoint(1)));
    }

    #[test]
    fn another_record_is_another_socket() {
        let run = Path::new("/short/001");
        let mut keyed = endpoint(1);
        keyed.secret_key = Some("00".into());
        assert_ne!(client_socket_path(run, &endpoint(1)), client_socket_path(run, &endpoint(2)));
        assert_ne!(client_socket_path(run, &endpoint(1)), client_socket_path(run, &keyed));
    }
}
