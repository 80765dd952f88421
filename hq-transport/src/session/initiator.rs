use std::fmt;

use snow::HandshakeState;

use super::error::HandshakeError;
use super::established::{Established, Step};
use super::hello::{Cipher, Hello};
use super::noise;
use super::open::Opener;
use super::refusal::Refusal;
use super::responder::{ANSWER_CLEAR, ANSWER_SEALED};
use super::seal::Sealer;
use super::verdict::Verdict;
use crate::frame;
use crate::keys::PeerKey;
use crate::peer::{Role, Versions};

/// The side that opens a link: a worker or a client.
pub struct Initiator {
    versions: Versions,
    role: Role,
    noise: Option<HandshakeState>,
}

impl Initiator {
    /// Starts a handshake and gives the bytes to send first. Without a key the link will be plain.
    ///
    /// # Errors
    /// [`HandshakeError::ProgramVersion`] and [`HandshakeError::Setup`].
    pub fn new(versions: Versions, role: Role, key: Option<&PeerKey>) -> Result<(Self, Vec<u8>), HandshakeError> {
        Self::with_cipher(versions, role, key, Cipher::preferred())
    }

    /// As [`Initiator::new`], with a given cipher where there is a key.
    ///
    /// # Errors
    /// As [`Initiator::new`].
    pub fn with_cipher(
        versions: Versions,
        role: Role,
        key: Option<&PeerKey>,
        cipher: Cipher,
    ) -> Result<(Self, Vec<u8>), HandshakeError> {
        if !Versions::is_valid_program(&versions.program) {
            return Err(HandshakeError::ProgramVersion);
        }
        let hello = Hello { versions: versions.clone(), role, cipher: key.map(|_| cipher) };
        let hello = hello.to_bytes();
        let mut first = Vec::with_capacity(256);
        frame::put(&hello, &mut first);
        let mut noise = None;
        if let Some(key) = key {
            let mut state = noise::initiator(cipher, &hello, key)?;
            frame::put(&noise::write(&mut state, &[])?, &mut first);
            noise = Some(state);
        }
        Ok((Self { versions, role, noise }, first))
    }

    /// Takes the body of the responder's only frame. The outcome is never
    /// [`Outcome::More`](super::Outcome::More) nor
    /// [`Outcome::Refused`](super::Outcome::Refused).
    ///
    /// # Errors
    /// [`HandshakeError::Refused`] with the responder's reason, which is unauthenticated when it
    /// concerns keys or the handshake's format; [`HandshakeError::Authentication`],
    /// [`HandshakeError::Downgrade`], [`HandshakeError::Malformed`].
    pub fn step(self, body: &[u8]) -> Result<Step, HandshakeError> {
        let Some((&kind, rest)) = body.split_first() else {
            return Err(HandshakeError::Malformed);
        };
        match (kind, self.noise) {
            (ANSWER_SEALED, Some(mut noise)) => {
                let verdict = noise::read(&mut noise, rest)?;
                let versions = accepted(&verdict, self.role, &self.versions)?;
                let keys = noise::finish(noise)?;
                let mut sealer = Sealer::sealed(keys.clone());
                let mut live = Vec::new();
                sealer.seal(&[], &mut live).map_err(|_| HandshakeError::Setup)?;
                let opener = Opener::sealed(keys);
                let role = self.role;
                Ok(Step::established(live, Established { role, versions, sealed: true, sealer, opener }))
            }
            (ANSWER_CLEAR, None) => {
                let versions = accepted(rest, self.role, &self.versions)?;
                let (sealer, opener) = (Sealer::plain(), Opener::plain());
                let role = self.role;
                let result = Established { role, versions, sealed: false, sealer, opener };
                Ok(Step::established(Vec::new(), result))
            }
            (ANSWER_CLEAR, Some(_)) => match Verdict::parse(rest) {
                Some(Verdict::Refuse(refusal)) => Err(HandshakeError::Refused(refusal)),
                Some(Verdict::Accept(_)) => Err(HandshakeError::Downgrade),
                None => Err(HandshakeError::Malformed),
            },
            _ => Err(HandshakeError::Malformed),
        }
    }
}

impl fmt::Debug for Initiator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Initiator").field("role", &self.role).finish_non_exhaustive()
    }
}

/// The server's versions, if it accepts us and we it.
fn accepted(verdict: &[u8], role: Role, ours: &Versions) -> Result<Versions, HandshakeError> {
    match Verdict::parse(verdict).ok_or(HandshakeError::Malformed)? {
        Verdict::Refuse(refusal) => Err(HandshakeError::Refused(refusal)),
        Verdict::Accept(server) => {
            Refusal::check(role, &server, ours).map_err(HandshakeError::Refused)?;
            Ok(server)
        }
    }
}
