use std::{
    collections::HashMap,
    fmt::Write as _,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use hq_core::RunId;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::EndSink;

/// Bytes of a token.
pub(super) const TOKEN_LEN: usize = 16;

/// A secret that stands for one run.
pub(super) type Token = [u8; TOKEN_LEN];

type Holders = HashMap<Token, (RunId, Arc<dyn EndSink>)>;

/// Which token belongs to which run, as long as it runs.
#[derive(Default)]
pub(crate) struct Tickets {
    socket: PathBuf,
    by_token: Mutex<Holders>,
}

/// The right of one run to say something. Dropped, its token is worth nothing any more.
pub(crate) struct Ticket {
    token: Token,
    tickets: Arc<Tickets>,
}

impl Tickets {
    /// For the socket at that path.
    pub(super) fn new(socket: PathBuf) -> Self {
        Self { socket, by_token: Mutex::default() }
    }

    /// A ticket for `run`, whose words go to `sink`.
    ///
    /// # Errors
    /// Where the system has no random bytes.
    pub(crate) fn issue(self: &Arc<Self>, run: RunId, sink: Arc<dyn EndSink>) -> io::Result<Ticket> {
        let mut token = Token::default();
        // As few as these come at once or not at all.
        if getrandom(&mut token, GetRandomFlags::empty())? != TOKEN_LEN {
            return Err(io::Error::other("too few random bytes"));
        }
        self.lock().insert(token, (run, sink));
        Ok(Ticket { token, tickets: Arc::clone(self) })
    }

    /// The run that a token stands for, and who hears of it.
    pub(super) fn find(&self, token: &Token) -> Option<(RunId, Arc<dyn EndSink>)> {
        self.lock().get(token).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Holders> {
        // No step under the lock can leave it half changed.
        self.by_token.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    /// What its program is given: the path of the socket, a colon, the token in hexadecimal digits.
    pub(crate) fn access_key(&self) -> Vec<u8> {
        use std::os::unix::ffi::OsStrExt;
        let mut token = String::with_capacity(2 * TOKEN_LEN + 1);
        token.push(':');
        for byte in self.token {
            let _ = write!(token, "{byte:02x}");
        }
        [self.tickets.socket.as_os_str().as_bytes(), token.as_bytes()].concat()
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.tickets.lock().remove(&self.token);
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{Epoch, GrantId, Ordinal, Outcome};

    use super::*;

    #[test]
    fn a_token_is_worth_something_while_its_run_lives() {
        let tickets = Arc::new(Tickets::new("/s/notify".into()));
        let run = |task| RunId { task: Ordinal(task), grant: GrantId { epoch: Epoch(1), n: 1 } };
        let sink: Arc<dyn EndSink> = Arc::new(|_: RunId, _: Outcome| {});
        let (a, b) = (tickets.issue(run(1), sink.clone()).unwrap(), tickets.issue(run(2), sink).unwrap());
        assert_ne!(a.token, b.token);
        let key = String::from_utf8(a.access_key()).unwrap();
        assert!(key.starts_with("/s/notify:") && key.len() == 10 + 32, "{key}");
        let token = a.token;
        assert_eq!(tickets.find(&token).map(|(run, _)| run), Some(run(1)));
        drop(a);
        assert!(tickets.find(&token).is_none() && tickets.find(&b.token).is_some());
    }
}
