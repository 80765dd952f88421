use std::fmt;
use std::sync::Arc;

use snow::HandshakeState;

use super::error::HandshakeError;
use super::established::{Established, Step};
use super::hello::{Cipher, FORMAT, Hello, HelloError};
use super::noise;
use super::open::{Incoming, Opener};
use super::refusal::Refusal;
use super::seal::Sealer;
use super::verdict::Verdict;
use crate::frame::{self, Header};
use crate::keys::ServerKeys;
use crate::peer::{Role, Versions};

/// First byte of an answer: a verdict follows in the clear.
pub(super) const ANSWER_CLEAR: u8 = 0;
/// First byte of an answer: Noise message 2 follows, with the verdict in it.
pub(super) const ANSWER_SEALED: u8 = 1;

/// The side that is connected to: the server, at the port for one role.
pub struct Responder {
    versions: Versions,
    port: Role,
    keys: Arc<ServerKeys>,
    state: State,
}

enum State {
    Hello,
    Noise { hello: Hello, cipher: Cipher, prologue: Vec<u8> },
    Live { peer: Versions, keys: noise::Keys },
    Over,
}

impl Responder {
    /// Waits for a hello at the port for `port`. The port is plain if `keys` has none for it.
    ///
    /// # Errors
    /// [`HandshakeError::ProgramVersion`].
    pub fn new(versions: Versions, port: Role, keys: Arc<ServerKeys>) -> Result<Self, HandshakeError> {
        if !Versions::is_valid_program(&versions.program) {
            return Err(HandshakeError::ProgramVersion);
        }
        Ok(Self { versions, port, keys, state: State::Hello })
    }

    /// Takes the body of the initiator's next frame.
    ///
    /// # Errors
    /// After an error, and after a [`Refused`](super::Outcome::Refused) outcome, the connection is
    /// to be closed; an error is not answered.
    pub fn step(&mut self, body: &[u8]) -> Result<Step, HandshakeError> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Hello => self.on_hello(body),
            State::Noise { hello, cipher, prologue } => self.on_noise(hello, cipher, &prologue, body),
            State::Live { peer, keys } => self.on_live(peer, keys, body),
            State::Over => Err(HandshakeError::Malformed),
        }
    }

    /// Whether the peer has shown a key, so that it may be told, and logged, more than others.
    #[must_use]
    pub fn has_seen_key(&self) -> bool {
        matches!(self.state, State::Live { .. })
    }

    fn on_hello(&mut self, body: &[u8]) -> Result<Step, HandshakeError> {
        let hello = match Hello::parse(body) {
            Ok(hello) => hello,
            Err(HelloError::Format(_)) => {
                let program = self.versions.program.clone();
                return Ok(refuse_in_clear(Refusal::Format { server: FORMAT, program }));
            }
            Err(e) => return Err(e.into()),
        };
        match (hello.cipher, self.keys.secret(self.port)) {
            (Some(cipher), Some(_)) => {
                self.state = State::Noise { hello, cipher, prologue: body.to_vec() };
                Ok(Step::more(Vec::new()))
            }
            (None, Some(_)) => Ok(refuse_in_clear(Refusal::KeyRequired)),
            (Some(_), None) => Ok(refuse_in_clear(Refusal::KeyUnexpected)),
            (None, None) => Ok(match self.judge(&hello, hello.role) {
                Err(refusal) => refuse_in_clear(refusal),
                Ok(()) => {
                    let (sealer, opener) = (Sealer::plain(), Opener::plain());
                    let (role, versions) = (self.port, hello.versions);
                    let reply = clear(&Verdict::Accept(self.versions.clone()));
                    Step::established(reply, Established { role, versions, sealed: false, sealer, opener })
                }
            }),
        }
    }

    fn on_noise(&mut self, hello: Hello, cipher: Cipher, prologue: &[u8], body: &[u8]) -> Result<Step, HandshakeError> {
        let (key_role, mut state) = self.find_key(hello.role, cipher, prologue, body)?;
        let judgement = self.judge(&hello, key_role);
        let verdict = match &judgement {
            Ok(()) => Verdict::Accept(self.versions.clone()),
            Err(refusal) => Verdict::Refuse(refusal.clone()),
        };
        let mut payload = Vec::new();
        verdict.put(&mut payload);
        let mut answer = vec![ANSWER_SEALED];
        answer.extend(noise::write(&mut state, &payload)?);
        let mut reply = Vec::new();
        frame::put(&answer, &mut reply);
        if let Err(refusal) = judgement {
            return Ok(Step::refused(reply, refusal));
        }
        self.state = State::Live { peer: hello.versions, keys: noise::finish(state)? };
        Ok(Step::more(reply))
    }

    /// Which role's key the peer holds. The keys of both roles are tried, so that the holder of
    /// the wrong one can be told so.
    fn find_key(
        &self,
        claimed: Role,
        cipher: Cipher,
        prologue: &[u8],
        message: &[u8],
    ) -> Result<(Role, HandshakeState), HandshakeError> {
        let other = match claimed {
            Role::Worker => Role::Client,
            Role::Client => Role::Worker,
        };
        for role in [claimed, other] {
            let Some(secret) = self.keys.secret(role) else { continue };
            let mut state = noise::responder(cipher, prologue, &self.keys, secret)?;
            if noise::read(&mut state, message).is_ok() {
                return Ok((role, state));
            }
        }
        Err(HandshakeError::Authentication)
    }

    fn judge(&self, hello: &Hello, key_role: Role) -> Result<(), Refusal> {
        for role in [key_role, hello.role] {
            if role != self.port {
                return Err(Refusal::Role { port: self.port, peer: role });
            }
        }
        Refusal::check(self.port, &self.versions, &hello.versions)
    }

    /// The peer's first sealed batch, empty: only a live peer of this handshake can make it.
    fn on_live(&mut self, versions: Versions, keys: noise::Keys, body: &[u8]) -> Result<Step, HandshakeError> {
        let mut opener = Opener::sealed(keys.clone());
        let mut bytes = Header { len: body.len() as u32, goodbye: false }.to_bytes().to_vec();
        bytes.extend(body);
        match opener.push(&bytes).map(|progress| progress.item) {
            Ok(Some(Incoming::Batch(batch))) if batch.is_empty() => {}
            _ => return Err(HandshakeError::Authentication),
        }
        let sealer = Sealer::sealed(keys);
        let role = self.port;
        let result = Established { role, versions, sealed: true, sealer, opener };
        Ok(Step::established(Vec::new(), result))
    }
}

impl fmt::Debug for Responder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder").field("port", &self.port).finish_non_exhaustive()
    }
}

fn refuse_in_clear(refusal: Refusal) -> Step {
    Step::refused(clear(&Verdict::Refuse(refusal.clone())), refusal)
}

fn clear(verdict: &Verdict) -> Vec<u8> {
    let mut answer = vec![ANSWER_CLEAR];
    verdict.put(&mut answer);
    let mut reply = Vec::new();
    frame::put(&answer, &mut reply);
    reply
}
