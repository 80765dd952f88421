//! Length-prefixed frames: how the byte stream is cut.
//!
//! A frame is a header of four bytes, little-endian, and a body. The lower 31 bits of the header
//! are the length of the body; the highest bit marks a good-bye, which is never followed by
//! anything. There are two classes of frames with a limit each: those before the peer is known
//! ([`PRE_AUTH_MAX`]) and batches ([`BATCH_MAX`]). The length is checked before any memory is
//! taken for it, and then taken only as the bytes arrive.

/// Longest body of a frame before the peer has proved who it is.
pub const PRE_AUTH_MAX: u32 = 4096;

/// Longest batch, in bytes before sealing.
pub const BATCH_MAX: u32 = 64 << 20;

/// Bytes of a header.
pub const HEADER_LEN: usize = 4;

const GOODBYE: u32 = 1 << 31;

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Length of the body in bytes.
    pub len: u32,
    /// Whether this is the last frame of its direction.
    pub goodbye: bool,
}

impl Header {
    /// The four bytes of the header. Lengths past 2^31 − 1 cannot be expressed and are cut off;
    /// limits are far below.
    #[must_use]
    pub fn to_bytes(self) -> [u8; HEADER_LEN] {
        let flag = if self.goodbye { GOODBYE } else { 0 };
        ((self.len & !GOODBYE) | flag).to_le_bytes()
    }

    /// Reads a header whose body may have at most `max` bytes.
    ///
    /// # Errors
    /// [`FrameTooLong`].
    pub fn parse(bytes: [u8; HEADER_LEN], max: u32) -> Result<Self, FrameTooLong> {
        let word = u32::from_le_bytes(bytes);
        let len = word & !GOODBYE;
        if len > max {
            return Err(FrameTooLong { len, max });
        }
        Ok(Self { len, goodbye: word & GOODBYE != 0 })
    }
}

/// A header claims more than its class of frames may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("frame of {len} bytes is over the limit of {max}")]
pub struct FrameTooLong {
    /// The claimed length.
    pub len: u32,
    /// The limit.
    pub max: u32,
}

/// Appends a frame of the handshake to `out`.
pub(crate) fn put(body: &[u8], out: &mut Vec<u8>) {
    debug_assert!(body.len() <= PRE_AUTH_MAX as usize, "handshake messages are small");
    out.extend(Header { len: body.len() as u32, goodbye: false }.to_bytes());
    out.extend(body);
}

/// The body of the handshake frame at the start of `input`, or `None` while it is not all there.
/// It takes `HEADER_LEN + body.len()` bytes of the input.
///
/// # Errors
/// [`FrameTooLong`] for a length over [`PRE_AUTH_MAX`] or a good-bye, as soon as the header is
/// there.
pub fn take(input: &[u8]) -> Result<Option<&[u8]>, FrameTooLong> {
    let Some((header, rest)) = input.split_first_chunk::<HEADER_LEN>() else { return Ok(None) };
    let len = u32::from_le_bytes(*header);
    if len > PRE_AUTH_MAX {
        return Err(FrameTooLong { len, max: PRE_AUTH_MAX });
    }
    Ok(rest.get(..len as usize))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn take_cuts_frames() {
        let mut bytes = Vec::new();
        put(b"abc", &mut bytes);
        put(b"", &mut bytes);
        assert_eq!(take(&bytes[..3]), Ok(None));
        assert_eq!(take(&bytes[..6]), Ok(None));
        assert_eq!(take(&bytes), Ok(Some(&b"abc"[..])));
        assert_eq!(take(&bytes[7..]), Ok(Some(&b""[..])));
    }

    #[test]
    fn long_lengths_are_refused_at_the_header() {
        for len in [4097u32, 128 << 20, u32::MAX] {
            let bytes = len.to_le_bytes();
            assert_eq!(take(&bytes), Err(FrameTooLong { len, max: PRE_AUTH_MAX }));
        }
        let bytes = (BATCH_MAX + 1).to_le_bytes();
        assert!(Header::parse(bytes, BATCH_MAX).is_err());
    }

    proptest! {
        #[test]
        fn header_round_trip(len in 0..=BATCH_MAX, goodbye: bool) {
            let header = Header { len, goodbye };
            prop_assert_eq!(Header::parse(header.to_bytes(), BATCH_MAX), Ok(header));
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(Some(body)) = take(&bytes) {
                prop_assert!(body.len() + HEADER_LEN <= bytes.len());
            }
        }
    }
}
