//! What to do about an error that ends the program: a line of its own below it.

use std::{io, path::Path};

use hq_client::ConnectError;
use hq_engine::serve::ServeError;
use hq_transport::{access::AccessError, server_dir::ServerDirError};

use crate::worker::Unreachable;

const OWN_DIR: &str = "name a directory of your own, one that you may write to, with --server-dir or HQ_SERVER_DIR";

/// What helps, where that is known and the error does not say it itself. `server_dir` is the directory in use.
pub(crate) fn advice(error: &anyhow::Error, server_dir: &Path) -> Option<String> {
    if let Some(error) = error.downcast_ref() {
        return of_serving(error);
    }
    if let Some(error) = error.downcast_ref() {
        return of_connecting(error, server_dir);
    }
    if let Some(Unreachable { host, .. }) = error.downcast_ref() {
        return Some(unreachable(host, server_dir));
    }
    if let Some(error) = error.downcast_ref() {
        return of_dir(error, server_dir);
    }
    // Of a file that was named, such as with --access-file.
    error.downcast_ref::<AccessError>().and_then(|error| of_record(error, "make it with `hq server generate-access`"))
}

/// For who starts a server.
fn of_serving(error: &ServeError) -> Option<String> {
    let text = match error {
        ServeError::Listen { role, source, .. } => {
            let why = match source.kind() {
                io::ErrorKind::AddrInUse => "another program has that port: ",
                io::ErrorKind::PermissionDenied => "ports below 1024 belong to the system: ",
                _ => "",
            };
            return Some(format!("{why}take another one with --{role}-port, or leave that out for any free one"));
        }
        ServeError::ServerDir(ServerDirError::TooOpen { .. }) => return Some(format!("or {OWN_DIR}")),
        ServeError::ServerDir(
            ServerDirError::Create { .. } | ServerDirError::Invalid { .. } | ServerDirError::ForeignOwner { .. },
        ) => OWN_DIR,
        ServeError::Access(error) => return of_record(error, OWN_DIR),
        ServeError::Keys(_) => "make the access record anew with `hq server generate-access`",
        _ => return None,
    };
    Some(text.to_owned())
}

/// For who looks for a server.
fn of_connecting(error: &ConnectError, server_dir: &Path) -> Option<String> {
    match error {
        ConnectError::ServerDir(error) => of_dir(error, server_dir),
        ConnectError::NotForClients(_) => {
            Some("clients need the whole record, or the file of `hq server generate-access --client-file`".to_owned())
        }
        ConnectError::Key { .. } => Some(anew(server_dir)),
        ConnectError::Unreachable { host, .. } => Some(unreachable(host, server_dir)),
        _ => None,
    }
}

fn of_dir(error: &ServerDirError, server_dir: &Path) -> Option<String> {
    match error {
        ServerDirError::Invalid { .. } | ServerDirError::NoInstance { .. } => Some(format!(
            "start a server with `hq server start --server-dir {}`, or name the directory of one that runs with \
             --server-dir or HQ_SERVER_DIR",
            server_dir.display()
        )),
        ServerDirError::TooOpen { .. } => Some(format!("or {OWN_DIR}")),
        ServerDirError::ForeignOwner { .. } => Some(OWN_DIR.to_owned()),
        ServerDirError::Access(error) => of_record(error, &anew(server_dir)),
        _ => None,
    }
}

/// What else may help where a record cannot be used: `anew` makes another one.
fn of_record(error: &AccessError, anew: &str) -> Option<String> {
    Some(match error {
        AccessError::Exists { .. } => "remove it, or name another file".to_owned(),
        AccessError::Io { .. } => "see whose file it is with `ls -l`".to_owned(),
        AccessError::TooOpen { path, .. } => format!("close it with `chmod 600 {}`", path.display()),
        AccessError::Version { found, .. } => format!("use the `hq` of version {found}, or {anew}"),
        _ => anew.to_owned(),
    })
}

fn anew(server_dir: &Path) -> String {
    format!(
        "end that server and start it again, which writes a new record: `hq server start --server-dir {}`",
        server_dir.display()
    )
}

fn unreachable(host: &str, server_dir: &Path) -> String {
    format!(
        "see whether the server still runs on {host} and can be reached from here; if it is gone, start it again with \
         `hq server start --server-dir {}`",
        server_dir.display()
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use anyhow::Context as _;
    use hq_transport::{
        Role,
        server_dir::{NotADirectory, Seeker},
    };

    use super::*;

    fn invalid() -> ServerDirError {
        let source = NotADirectory { path: "/d".into() };
        ServerDirError::Invalid { seeker: Seeker::Client, source }
    }

    fn listen(kind: io::ErrorKind) -> ServeError {
        ServeError::Listen { role: Role::Worker, address: "a".into(), source: kind.into() }
    }

    #[test]
    fn errors_of_first_contact_say_what_helps() {
        let path = || PathBuf::from("/d/access.json");
        let version = AccessError::Version { found: "9".into(), current: "8".into() };
        let source = || Box::<dyn std::error::Error + Send + Sync>::from("x");
        for (error, expected) in [
            (ConnectError::from(invalid()).into(), Some("start a server with `hq server start --server-dir /d`")),
            (invalid().into(), Some("--server-dir or HQ_SERVER_DIR")),
            (ServerDirError::NoInstance { dir: "/d".into() }.into(), Some("start a server")),
            (ConnectError::from(ServerDirError::from(version)).into(), Some("use the `hq` of version 9, or end that")),
            (ConnectError::NotForClients(path()).into(), Some("--client-file")),
            (ConnectError::Unreachable { host: "h".into(), port: 1, source: source() }.into(), Some("still runs on h")),
            (
                Err::<(), _>(anyhow::anyhow!("x"))
                    .context(Unreachable { host: "h".into(), port: 1 })
                    .expect_err("an error"),
                Some("on h"),
            ),
            (ServeError::from(invalid()).into(), Some("name a directory of your own")),
            (ServeError::from(ServerDirError::TooOpen { path: "/tmp".into(), mode: 0o1777 }).into(), Some("or name a")),
            (
                listen(io::ErrorKind::AddrInUse).into(),
                Some("another program has that port: take another one with --worker-port"),
            ),
            (listen(io::ErrorKind::PermissionDenied).into(), Some("below 1024")),
            (AccessError::NotFound { path: path() }.into(), Some("generate-access")),
            (AccessError::Exists { path: path() }.into(), Some("remove it")),
            (
                AccessError::TooOpen { path: path(), mode: 0o666, what: "write" }.into(),
                Some("chmod 600 /d/access.json"),
            ),
            (ServeError::AlreadyOnline("/d".into()).into(), None),
            (anyhow::anyhow!("anything else"), None),
        ] {
            let said = advice(&error, "/d".as_ref());
            match expected {
                Some(part) => assert!(said.as_ref().is_some_and(|said| said.contains(part)), "{error:#}: {said:?}"),
                None => assert_eq!(said, None, "{error:#}"),
            }
        }
    }
}
