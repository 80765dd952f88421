//! Keys: one secret per role, and the server's key pair derived from both.
//!
//! * A *role secret* is 32 random bytes. Who holds a role's secret can connect under that role.
//! * The server's X25519 private key is derived from the role secrets with HKDF-SHA256, so that
//!   only who holds the full access record can be the server, and the record needs no further
//!   entry. The input is, for client and then worker, a byte 1 and the secret, or a byte 0 where
//!   that role's links are plain.
//! * A *peer key* is what one role needs: its secret and the server's public key.
//!
//! With one role plain, the private key follows from the other role's secret alone, so that a
//! holder of that secret could also pose as the server. That is accepted: where clients are plain,
//! anyone may submit anyhow; where workers are plain, anyone may pose as the server to them.

use std::fmt;
use std::io;

use hkdf::Hkdf;
use sha2::Sha256;
use snow::params::DHChoice;
use snow::resolvers::{CryptoResolver, DefaultResolver};

use crate::access::{AccessRecord, Endpoint};
use crate::peer::Role;

const KEY_LEN: usize = 32;

/// The secret of a role. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct RoleSecret([u8; KEY_LEN]);

impl RoleSecret {
    /// A new random secret.
    ///
    /// # Errors
    /// The operating system has no random bytes.
    pub fn generate() -> io::Result<Self> {
        let mut bytes = [0; KEY_LEN];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(bytes))
    }

    /// A secret with given bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; KEY_LEN]) -> Self {
        Self(bytes)
    }

    pub(crate) fn as_bytes(&self) -> &[u8; KEY_LEN] {
        &self.0
    }
}

impl fmt::Debug for RoleSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RoleSecret(…)")
    }
}

/// What a worker or client needs to connect: its role's secret and the server's public key.
///
/// `secret_key` of an access record holds both, as 128 hex digits in this order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerKey {
    secret: RoleSecret,
    server_public: [u8; KEY_LEN],
}

impl PeerKey {
    /// Reads a `secret_key`.
    ///
    /// # Errors
    /// [`KeyError::NotHex`].
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let text = text.as_bytes();
        if text.len() != 4 * KEY_LEN {
            return Err(KeyError::NotHex);
        }
        let secret = from_hex(&text[..2 * KEY_LEN]).ok_or(KeyError::NotHex)?;
        let server_public = from_hex(&text[2 * KEY_LEN..]).ok_or(KeyError::NotHex)?;
        Ok(Self { secret: RoleSecret(secret), server_public })
    }

    /// The key of an endpoint of an access record; `None` where its links are plain.
    ///
    /// # Errors
    /// [`KeyError::NotHex`].
    pub fn of(endpoint: &Endpoint) -> Result<Option<Self>, KeyError> {
        endpoint.secret_key.as_deref().map(Self::parse).transpose()
    }

    /// The `secret_key` text.
    #[must_use]
    pub fn to_text(&self) -> String {
        to_hex(&self.secret.0) + &to_hex(&self.server_public)
    }

    pub(crate) fn secret(&self) -> &[u8; KEY_LEN] {
        &self.secret.0
    }

    pub(crate) fn server_public(&self) -> &[u8; KEY_LEN] {
        &self.server_public
    }
}

/// All keys of a server. `Debug` does not show them.
#[derive(Clone)]
pub struct ServerKeys {
    client: Option<RoleSecret>,
    worker: Option<RoleSecret>,
    private: [u8; KEY_LEN],
    public: [u8; KEY_LEN],
}

impl ServerKeys {
    /// New random keys; a role that is not `sealed` gets none and its links are plain.
    ///
    /// # Errors
    /// The operating system has no random bytes.
    pub fn generate(client_sealed: bool, worker_sealed: bool) -> io::Result<Self> {
        let client = client_sealed.then(RoleSecret::generate).transpose()?;
        let worker = worker_sealed.then(RoleSecret::generate).transpose()?;
        Ok(Self::from_secrets(client, worker))
    }

    /// The keys that follow from the role secrets.
    #[must_use]
    pub fn from_secrets(client: Option<RoleSecret>, worker: Option<RoleSecret>) -> Self {
        let private = derive_private(client.as_ref(), worker.as_ref());
        let public = public_of(&private);
        Self { client, worker, private, public }
    }

    /// No keys: all links are plain. For sockets that check their peer in another way.
    #[must_use]
    pub fn none() -> Self {
        Self::from_secrets(None, None)
    }

    /// The keys of a full access record.
    ///
    /// # Errors
    /// [`KeyError::Incomplete`] without both parts, [`KeyError::NotHex`], and
    /// [`KeyError::Mismatch`] when the public key in the record is not the one that follows from
    /// its secrets (parts of two records were mixed).
    pub fn from_record(record: &AccessRecord) -> Result<Self, KeyError> {
        let (Some(client), Some(worker)) = (&record.client, &record.worker) else {
            return Err(KeyError::Incomplete);
        };
        let (client, worker) = (PeerKey::of(client)?, PeerKey::of(worker)?);
        let keys =
            Self::from_secrets(client.as_ref().map(|k| k.secret.clone()), worker.as_ref().map(|k| k.secret.clone()));
        if client.iter().chain(&worker).any(|k| k.server_public != keys.public) {
            return Err(KeyError::Mismatch);
        }
        Ok(keys)
    }

    /// What peers of this role need; `None` where their links are plain.
    #[must_use]
    pub fn peer_key(&self, role: Role) -> Option<PeerKey> {
        let secret = self.secret(role)?.clone();
        Some(PeerKey { secret, server_public: self.public })
    }

    pub(crate) fn secret(&self, role: Role) -> Option<&RoleSecret> {
        match role {
            Role::Client => self.client.as_ref(),
            Role::Worker => self.worker.as_ref(),
        }
    }

    pub(crate) fn private(&self) -> &[u8; KEY_LEN] {
        &self.private
    }
}

impl fmt::Debug for ServerKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerKeys").field("client", &self.client).field("worker", &self.worker).finish_non_exhaustive()
    }
}

/// The keys of an access record cannot be used. Says nothing of their content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Not 128 hex digits.
    #[error("secret_key is not 128 hexadecimal digits")]
    NotHex,
    /// A full record is needed and one of its parts is missing.
    #[error("the access record lacks its client or worker part")]
    Incomplete,
    /// The parts of the record come from different servers.
    #[error("the keys of the access record do not belong together")]
    Mismatch,
}

fn derive_private(client: Option<&RoleSecret>, worker: Option<&RoleSecret>) -> [u8; KEY_LEN] {
    let mut input = [0; 2 * (1 + KEY_LEN)];
    let (first, second) = input.split_at_mut(1 + KEY_LEN);
    for (slot, secret) in [(first, client), (second, worker)] {
        if let Some(secret) = secret {
            slot[0] = 1;
            slot[1..].copy_from_slice(&secret.0);
        }
    }
    let mut private = [0; KEY_LEN];
    Hkdf::<Sha256>::new(Some(b"hq-transport v1"), &input)
        .expand(b"server x25519 private key", &mut private)
        .expect("32 bytes are a legal length of HKDF-SHA256");
    private
}

fn public_of(private: &[u8; KEY_LEN]) -> [u8; KEY_LEN] {
    let mut dh = DefaultResolver
        .resolve_dh(&DHChoice::Curve25519)
        .expect("the build has curve25519: feature of snow in the manifest");
    dh.set(private);
    let mut public = [0; KEY_LEN];
    public.copy_from_slice(dh.pubkey());
    public
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|b| [b >> 4, b & 15]).map(|d| DIGITS[usize::from(d)] as char).collect()
}

fn from_hex(text: &[u8]) -> Option<[u8; KEY_LEN]> {
    let mut out = [0; KEY_LEN];
    for (byte, pair) in out.iter_mut().zip(text.chunks_exact(2)) {
        let digit = |c: u8| char::from(c).to_digit(16).map(|d| d as u8);
        *byte = (digit(pair[0])? << 4) | digit(pair[1])?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(keys: &ServerKeys) -> AccessRecord {
        AccessRecord::full("1", "AbC123", ("h", 1), ("h", 2), keys)
    }

    #[test]
    fn text_round_trip_is_128_digits() {
        let keys = ServerKeys::generate(true, true).unwrap();
        for role in [Role::Client, Role::Worker] {
            let key = keys.peer_key(role).unwrap();
            let text = key.to_text();
            assert_eq!(text.len(), 128);
            assert_eq!(PeerKey::parse(&text).unwrap(), key);
            assert_eq!(PeerKey::parse(&text.to_uppercase()).unwrap(), key);
        }
        assert_ne!(keys.peer_key(Role::Client), keys.peer_key(Role::Worker));
    }

    #[test]
    fn bad_texts_are_refused() {
        let long = "a".repeat(129);
        let sharp = "g".repeat(128);
        let wide = "ä".repeat(64);
        for text in ["", "00", &"0".repeat(64), &long, &sharp, &wide] {
            assert_eq!(PeerKey::parse(text), Err(KeyError::NotHex), "{text}");
        }
    }

    #[test]
    fn keys_follow_from_the_record() {
        for (client, worker) in [(true, true), (true, false), (false, true), (false, false)] {
            let keys = ServerKeys::generate(client, worker).unwrap();
            let again = ServerKeys::from_record(&record(&keys)).unwrap();
            assert_eq!(again.private, keys.private);
            assert_eq!(again.public, keys.public);
        }
    }

    #[test]
    fn mixed_records_are_refused() {
        let mut mixed = record(&ServerKeys::generate(true, true).unwrap());
        mixed.worker = record(&ServerKeys::generate(true, true).unwrap()).worker;
        assert_eq!(ServerKeys::from_record(&mixed).unwrap_err(), KeyError::Mismatch);
        mixed.worker = None;
        assert_eq!(ServerKeys::from_record(&mixed).unwrap_err(), KeyError::Incomplete);
    }

    #[test]
    fn derivation_is_fixed() {
        let secret = |b| RoleSecret::from_bytes([b; 32]);
        let keys = ServerKeys::from_secrets(Some(secret(1)), Some(secret(2)));
        let swapped = ServerKeys::from_secrets(Some(secret(2)), Some(secret(1)));
        assert_ne!(keys.public, swapped.public);
        assert_ne!(
            ServerKeys::from_secrets(Some(secret(1)), None).public,
            ServerKeys::from_secrets(None, Some(secret(1))).public
        );
        // Golden: access files outlive an upgrade.
        assert_eq!(to_hex(&keys.public), GOLDEN_PUBLIC);
    }

    const GOLDEN_PUBLIC: &str = "f56ab755376522f68c96555c58a66009917f40812d905d52a01d9eb0a997d65d";

    #[test]
    fn debug_shows_no_secret() {
        let keys = ServerKeys::generate(true, true).unwrap();
        let text = format!("{keys:?} {:?}", keys.peer_key(Role::Client).unwrap());
        let secret = to_hex(keys.secret(Role::Client).unwrap().as_bytes());
        assert!(!text.contains(&secret[..8]));
        let bytes = format!("{:?}", keys.secret(Role::Client).unwrap().as_bytes());
        assert!(!text.contains(&bytes[1..20]));
    }
}
