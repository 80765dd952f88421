//! Values to bytes and back.
//!
//! The encoding is `postcard`: compact, not self-describing. Both sides must agree on the types,
//! which the handshake sees to ([`PROTOCOL_VERSION`]). Message enums grow by appended variants
//! only; a changed struct is a new variant.

use postcard::ser_flavors::Flavor;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Version of the messages that this build speaks. Grows by one with each release that appends to
/// them; a server also serves workers of the version before.
pub const PROTOCOL_VERSION: u16 = 2;

/// A value could not be encoded or decoded.
///
/// Carries no bytes of the input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The value's `Serialize` failed, or needs what the encoding has not (sequences of unknown
    /// length).
    #[error("cannot encode message: {0}")]
    Encode(postcard::Error),
    /// The bytes are no such value.
    #[error("cannot decode message: {0}")]
    Decode(postcard::Error),
    /// The bytes are such a value and something more.
    #[error("cannot decode message: {0} bytes too many")]
    Trailing(u64),
}

/// Appends the encoding of `value` to `out`.
///
/// # Errors
/// [`WireError::Encode`]; `out` is as before.
pub fn encode<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), WireError> {
    let start = out.len();
    postcard::serialize_with_flavor(value, Append(out)).map_err(|e| {
        out.truncate(start);
        WireError::Encode(e)
    })
}

/// The value that all of `bytes` encode.
///
/// Memory is taken as elements are read, never for a count that the bytes only claim (`serde`'s
/// own collections keep to that). A collection of elements that encode to no bytes at all, such
/// as `Vec<()>`, must not be part of `T`: its count would be believed.
///
/// # Errors
/// [`WireError::Decode`] or [`WireError::Trailing`].
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, WireError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(WireError::Trailing(rest.len() as u64)),
        Err(e) => Err(WireError::Decode(e)),
    }
}

struct Append<'a>(&'a mut Vec<u8>);

impl Flavor for Append<'_> {
    type Output = ();

    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(data);
        Ok(())
    }

    fn try_push(&mut self, data: u8) -> postcard::Result<()> {
        self.0.push(data);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    enum Message {
        Nothing,
        Numbers(Vec<u64>),
        Text { name: String, raw: Vec<u8>, maybe: Option<i32> },
    }

    #[test]
    fn round_trip_appends() {
        let message = Message::Text { name: "ä".into(), raw: vec![0, 255], maybe: Some(-1) };
        let mut out = b"kept".to_vec();
        encode(&message, &mut out).unwrap();
        assert_eq!(&out[..4], b"kept");
        assert_eq!(decode::<Message>(&out[4..]).unwrap(), message);
    }

    #[test]
    fn trailing_bytes_are_refused() {
        let mut out = Vec::new();
        encode(&Message::Nothing, &mut out).unwrap();
        out.extend([1, 2]);
        assert_eq!(decode::<Message>(&out), Err(WireError::Trailing(2)));
    }

    #[test]
    fn lying_counts_are_refused() {
        // Variant 1 with a count of 2^32 - 1, and of 2^64 - 1, and nothing behind it.
        for count in [&[0xff, 0xff, 0xff, 0xff, 0x0f][..], &[0xff; 9][..]] {
            let mut bytes = vec![1];
            bytes.extend(count);
            bytes.push(1);
            assert!(matches!(decode::<Message>(&bytes), Err(WireError::Decode(_))));
        }
    }

    #[test]
    fn failed_encode_leaves_no_bytes() {
        struct Bad;
        impl Serialize for Bad {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeTuple;
                let mut tuple = s.serialize_tuple(2)?;
                tuple.serialize_element(&7u8)?;
                Err(serde::ser::Error::custom("no"))
            }
        }
        let mut out = vec![9];
        assert!(matches!(encode(&Bad, &mut out), Err(WireError::Encode(_))));
        assert_eq!(out, [9]);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode::<Vec<Message>>(&bytes);
        }
    }
}
