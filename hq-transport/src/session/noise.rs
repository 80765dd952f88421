//! The one place that knows `snow`.

use std::sync::Arc;

use snow::params::NoiseParams;
use snow::resolvers::{BoxedCryptoResolver, DefaultResolver, FallbackResolver, RingResolver};
use snow::{Builder, HandshakeState, StatelessTransportState};

use super::error::HandshakeError;
use super::hello::Cipher;
use crate::keys::{PeerKey, RoleSecret, ServerKeys};

/// Longest Noise message.
pub(super) const MESSAGE_MAX: usize = 65_535;
/// Bytes that sealing adds to a message.
pub(super) const TAG_LEN: usize = 16;

/// The keys of an established link, for both directions. The halves of a link count on their own
/// and share this without a lock.
pub(super) type Keys = Arc<StatelessTransportState>;

fn builder<'a>(cipher: Cipher, prologue: &'a [u8]) -> Result<Builder<'a>, HandshakeError> {
    let name = match cipher {
        Cipher::AesGcm => "Noise_NKpsk0_25519_AESGCM_SHA256",
        Cipher::ChaChaPoly => "Noise_NKpsk0_25519_ChaChaPoly_SHA256",
    };
    let params: NoiseParams = name.parse().map_err(setup)?;
    let resolver: BoxedCryptoResolver =
        Box::new(FallbackResolver::new(Box::new(RingResolver), Box::new(DefaultResolver)));
    Builder::with_resolver(params, resolver).prologue(prologue).map_err(setup)
}

pub(super) fn initiator(cipher: Cipher, prologue: &[u8], key: &PeerKey) -> Result<HandshakeState, HandshakeError> {
    builder(cipher, prologue)?
        .psk(0, key.secret())
        .and_then(|b| b.remote_public_key(key.server_public()))
        .and_then(Builder::build_initiator)
        .map_err(setup)
}

pub(super) fn responder(
    cipher: Cipher,
    prologue: &[u8],
    keys: &ServerKeys,
    secret: &RoleSecret,
) -> Result<HandshakeState, HandshakeError> {
    builder(cipher, prologue)?
        .psk(0, secret.as_bytes())
        .and_then(|b| b.local_private_key(keys.private()))
        .and_then(Builder::build_responder)
        .map_err(setup)
}

/// The next handshake message, around `payload`.
pub(super) fn write(state: &mut HandshakeState, payload: &[u8]) -> Result<Vec<u8>, HandshakeError> {
    let mut message = vec![0; payload.len() + 128];
    let len = state.write_message(payload, &mut message).map_err(setup)?;
    message.truncate(len);
    Ok(message)
}

/// The payload of the peer's next handshake message.
pub(super) fn read(state: &mut HandshakeState, message: &[u8]) -> Result<Vec<u8>, HandshakeError> {
    let mut payload = vec![0; message.len()];
    let len = state.read_message(message, &mut payload).map_err(|_| HandshakeError::Authentication)?;
    payload.truncate(len);
    Ok(payload)
}

pub(super) fn finish(state: HandshakeState) -> Result<Keys, HandshakeError> {
    state.into_stateless_transport_mode().map(Arc::new).map_err(setup)
}

fn setup(_: snow::Error) -> HandshakeError {
    HandshakeError::Setup
}
