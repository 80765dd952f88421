use super::reader::{Reader, put_program, put_role};
use crate::peer::{Role, Versions};

const MAGIC: &[u8; 7] = b"hq-link";

/// Version of the handshake itself, of hello and verdict. Only a change of these changes it.
pub const FORMAT: u8 = 1;

/// A cipher of sealed links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cipher {
    /// AES-256-GCM: the fastest where the CPU has instructions for it.
    AesGcm,
    /// ChaCha20-Poly1305: the fastest elsewhere.
    ChaChaPoly,
}

impl Cipher {
    /// The faster one on this CPU.
    #[must_use]
    pub fn preferred() -> Self {
        #[cfg(target_arch = "x86_64")]
        let has_aes = std::arch::is_x86_feature_detected!("aes") && std::arch::is_x86_feature_detected!("pclmulqdq");
        #[cfg(target_arch = "aarch64")]
        let has_aes =
            std::arch::is_aarch64_feature_detected!("aes") && std::arch::is_aarch64_feature_detected!("pmull");
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let has_aes = false;
        if has_aes { Self::AesGcm } else { Self::ChaChaPoly }
    }
}

/// The first message of a link, in the clear; also the prologue of the Noise handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The initiator's versions.
    pub versions: Versions,
    /// What the initiator says it is. Believed only as far as its key goes.
    pub role: Role,
    /// The cipher it will use, or `None` for a plain link.
    pub cipher: Option<Cipher>,
}

impl Hello {
    /// The bytes of the hello, at most 77.
    ///
    /// The program version must be valid ([`Versions::is_valid_program`]).
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.push(FORMAT);
        out.extend(self.versions.protocol.to_le_bytes());
        put_role(self.role, &mut out);
        out.push(match self.cipher {
            None => 0,
            Some(Cipher::AesGcm) => 1,
            Some(Cipher::ChaChaPoly) => 2,
        });
        put_program(&self.versions.program, &mut out);
        out
    }

    /// Reads a hello.
    ///
    /// # Errors
    /// See [`HelloError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, HelloError> {
        let mut reader = Reader(bytes);
        if reader.bytes(MAGIC.len()) != Some(MAGIC) {
            return Err(HelloError::NotOurs);
        }
        match reader.u8() {
            Some(FORMAT) => {}
            Some(other) => return Err(HelloError::Format(other)),
            None => return Err(HelloError::Malformed),
        }
        Self::parse_rest(&mut reader).ok_or(HelloError::Malformed)
    }

    fn parse_rest(reader: &mut Reader<'_>) -> Option<Self> {
        let protocol = reader.u16()?;
        let role = reader.role()?;
        let cipher = match reader.u8()? {
            0 => None,
            1 => Some(Cipher::AesGcm),
            2 => Some(Cipher::ChaChaPoly),
            _ => return None,
        };
        let program = reader.program()?;
        reader.end()?;
        Some(Self { versions: Versions { protocol, program }, role, cipher })
    }
}

/// Bytes that are no hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HelloError {
    /// Some other protocol.
    #[error("not an hq peer")]
    NotOurs,
    /// A hello of another version of the handshake.
    #[error("handshake format {0} is unknown")]
    Format(u8),
    /// Begins like a hello.
    #[error("malformed hello")]
    Malformed,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hello(cipher: Option<Cipher>) -> Hello {
        let versions = Versions { protocol: 0x0102, program: "0.1.0".into() };
        Hello { versions, role: Role::Client, cipher }
    }

    #[test]
    fn golden_bytes() {
        // Fixed for good: peers of all versions must be able to read each other's hello.
        assert_eq!(hello(Some(Cipher::ChaChaPoly)).to_bytes(), b"hq-link\x01\x02\x01\x02\x02\x050.1.0");
    }

    #[test]
    fn round_trip() {
        for cipher in [None, Some(Cipher::AesGcm), Some(Cipher::ChaChaPoly)] {
            let hello = hello(cipher);
            assert_eq!(Hello::parse(&hello.to_bytes()), Ok(hello));
        }
    }

    #[test]
    fn errors() {
        let good = hello(None).to_bytes();
        assert_eq!(Hello::parse(b"GET / HTTP/1.1\r\n"), Err(HelloError::NotOurs));
        assert_eq!(Hello::parse(b""), Err(HelloError::NotOurs));
        let mut other = good.clone();
        other[7] = 9;
        assert_eq!(Hello::parse(&other), Err(HelloError::Format(9)));
        for cut in 7..good.len() {
            assert_eq!(Hello::parse(&good[..cut]), Err(HelloError::Malformed), "{cut}");
        }
        for (at, value) in [(10, 0), (10, 3), (11, 3), (12, 0), (13, b' '), (13, 0x1b), (13, 0xff)] {
            let mut bad = good.clone();
            bad[at] = value;
            assert_eq!(Hello::parse(&bad), Err(HelloError::Malformed), "{at} {value}");
        }
        let mut long = good;
        long.push(0);
        assert_eq!(Hello::parse(&long), Err(HelloError::Malformed));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = Hello::parse(&bytes);
            let mut ours = b"hq-link\x01".to_vec();
            ours.extend(&bytes);
            if let Ok(hello) = Hello::parse(&ours) {
                prop_assert_eq!(hello.to_bytes(), ours);
            }
        }
    }
}
