use std::{
    ffi::OsStr,
    io::{self, Read, Write},
    os::unix::{ffi::OsStrExt, net::UnixStream},
    path::{Path, PathBuf},
    time::Duration,
};

use hq_core::NOTIFY_MAX;

use super::{
    listener::{TAKEN, TOO_LONG, UNKNOWN},
    tickets::{TOKEN_LEN, Token},
};

/// A worker that is that busy is as good as gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why nobody was told.
#[derive(Debug, thiserror::Error)]
pub enum NotifyError {
    /// The key is not one.
    #[error("HQ_ACCESS_KEY is not the key of a task: expected SOCKET:TOKEN")]
    Key,
    /// Too long.
    #[error("a message can have at most {NOTIFY_MAX} bytes, this one has {0}")]
    TooLong(usize),
    /// The worker cannot be reached.
    #[error("cannot reach the worker of this task at {socket:?}")]
    Unreachable {
        /// Its socket.
        socket: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The run has ended.
    #[error("the worker does not know this task any more: it has ended")]
    Unknown,
    /// No sound worker answers that.
    #[error("the worker gave an answer that is none")]
    Answer,
}

/// Says `message` to those who watch the job of the task whose key this is (`HQ_ACCESS_KEY`); returns when its worker
/// has taken it. Blocks.
///
/// # Errors
/// Nobody is told then; see [`NotifyError`].
pub fn notify(key: &OsStr, message: &[u8]) -> Result<(), NotifyError> {
    let len = u16::try_from(message.len()).ok().filter(|len| usize::from(*len) <= NOTIFY_MAX);
    let len = len.ok_or(NotifyError::TooLong(message.len()))?;
    let (socket, token) = parse(key.as_bytes()).ok_or(NotifyError::Key)?;
    let answer = say(socket, token, len, message);
    match answer.map_err(|source| NotifyError::Unreachable { socket: socket.to_owned(), source })? {
        TAKEN => Ok(()),
        UNKNOWN => Err(NotifyError::Unknown),
        TOO_LONG => Err(NotifyError::TooLong(message.len())),
        _ => Err(NotifyError::Answer),
    }
}

fn say(socket: &Path, token: Token, len: u16, message: &[u8]) -> io::Result<u8> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(&[&token[..], &len.to_be_bytes(), message].concat())?;
    let mut answer = [0];
    stream.read_exact(&mut answer)?;
    Ok(answer[0])
}

fn parse(key: &[u8]) -> Option<(&Path, Token)> {
    let colon = key.iter().rposition(|byte| *byte == b':')?;
    let (socket, digits) = (key.get(..colon)?, key.get(colon + 1..)?);
    if digits.len() != 2 * TOKEN_LEN || socket.is_empty() {
        return None;
    }
    let mut token = Token::default();
    for (byte, pair) in token.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some((Path::new(OsStr::from_bytes(socket)), token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let digits = "00ff".repeat(8);
        let expected: Token = [0, 255].repeat(8).try_into().unwrap();
        for (key, socket) in [
            (format!("/s/notify:{digits}"), Some("/s/notify")),
            (format!("/s:x/notify:{digits}"), Some("/s:x/notify")),
            (format!(":{digits}"), None),
            (format!("/s/notify:{}", &digits[1..]), None),
            (format!("/s/notify:{}", digits.replace('f', "x")), None),
            (format!("/s/notify{digits}"), None),
            (String::new(), None),
        ] {
            let parsed = parse(key.as_bytes());
            assert_eq!(parsed, socket.map(|socket| (Path::new(socket), expected)), "{key}");
        }
    }

    #[test]
    fn what_is_too_long_is_not_sent() {
        let error = notify(OsStr::new("/none"), &[b'x'; NOTIFY_MAX + 1]).unwrap_err();
        assert_eq!(error.to_string(), "a message can have at most 1024 bytes, this one has 1025");
    }
}
