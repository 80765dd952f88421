//! The first bytes of a file: see the table at the top of the crate.

use hq_core::{Epoch, Seq};

use crate::Holder;

/// Length of a header.
pub(super) const HEADER_LEN: usize = 128;
/// The format that is written, and the latest that is read.
pub(super) const VERSION: u32 = 1;
/// Where the notice of the holder begins.
pub(super) const HOLDER_AT: usize = 28;

/// Not text, so that no tool takes the file for some; its line ends tell a copy that was treated as text.
const MAGIC: [u8; 8] = *b"\x89HQJ\r\n\x1a\n";
const HOST_MAX: usize = 87;

/// What a file says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Its first record.
    pub(super) first: Seq,
    /// Epoch of the record before.
    pub(super) epoch: Epoch,
}

/// What the beginning of a file turns out to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// Nothing, or less than a header of ours.
    Fresh,
    /// A header.
    Whole(Header),
    /// A header of a later format.
    Future(u32),
    /// A header of ours that does not check.
    Damaged,
    /// Something else.
    Foreign,
}

impl Header {
    pub(super) fn encode(self, holder: &Holder) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.first.0.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.epoch.0.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..24]);
        bytes[24..HOLDER_AT].copy_from_slice(&crc.to_le_bytes());
        bytes[HOLDER_AT..].copy_from_slice(&encode_holder(holder));
        bytes
    }
}

/// Judges the first [`HEADER_LEN`] bytes of a file, or all of a shorter one.
pub(super) fn decode(bytes: &[u8]) -> Beginning {
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] != MAGIC[..known] {
        return Beginning::Foreign;
    }
    match number(bytes, 8) {
        Some(version) if version > VERSION => return Beginning::Future(version),
        _ if bytes.len() < HEADER_LEN => return Beginning::Fresh,
        _ => {}
    }
    let (Some(VERSION), Some(low), Some(high), Some(epoch), Some(crc)) =
        (number(bytes, 8), number(bytes, 12), number(bytes, 16), number(bytes, 20), number(bytes, 24))
    else {
        return Beginning::Damaged;
    };
    let first = Seq(u64::from(high) << 32 | u64::from(low));
    if crc != crc32c::crc32c(&bytes[..24]) || first == Seq(0) {
        return Beginning::Damaged;
    }
    Beginning::Whole(Header { first, epoch: Epoch(epoch) })
}

pub(super) fn encode_holder(holder: &Holder) -> [u8; HEADER_LEN - HOLDER_AT] {
    let mut bytes = [0; HEADER_LEN - HOLDER_AT];
    let mut len = holder.host.len().min(HOST_MAX);
    while !holder.host.is_char_boundary(len) {
        len -= 1;
    }
    bytes[..4].copy_from_slice(&holder.pid.to_le_bytes());
    bytes[4..8].copy_from_slice(&holder.uid.to_le_bytes());
    bytes[8] = len as u8;
    bytes[9..9 + len].copy_from_slice(&holder.host.as_bytes()[..len]);
    let crc = crc32c::crc32c(&bytes[..96]);
    bytes[96..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// Who holds the file, by its header; `None` where that part does not check.
pub(super) fn decode_holder(header: &[u8]) -> Option<Holder> {
    let bytes = header.get(HOLDER_AT..HEADER_LEN)?;
    if number(bytes, 96)? != crc32c::crc32c(&bytes[..96]) {
        return None;
    }
    let host = bytes.get(9..9 + usize::from(bytes[8]).min(HOST_MAX))?;
    Some(Holder { host: String::from_utf8_lossy(host).into_owned(), pid: number(bytes, 0)?, uid: number(bytes, 4)? })
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> (Header, Holder, [u8; HEADER_LEN]) {
        let header = Header { first: Seq(1 << 40), epoch: Epoch(3) };
        let holder = Holder { host: "n1".to_owned(), pid: 17, uid: 1000 };
        (header, holder.clone(), header.encode(&holder))
    }

    #[test]
    fn comes_back() {
        let (header, holder, bytes) = example();
        assert_eq!(decode(&bytes), Beginning::Whole(header));
        assert_eq!(decode_holder(&bytes), Some(holder));
        let long = Holder { host: "ä".repeat(80), pid: 1, uid: 2 };
        assert_eq!(decode_holder(&header.encode(&long)).unwrap().host, "ä".repeat(43));
    }

    /// Byte for byte: what an older version wrote must stay readable, so this never changes.
    #[test]
    fn the_first_format_is_this() {
        let (_, _, bytes) = example();
        let hex: String = bytes[..40].iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "8948514a0d0a1a0a01000000000000000001000003000000d73fa15911000000e8030000026e3100");
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let (header, holder, bytes) = example();
        for bit in 0..HEADER_LEN * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            match bit / 8 {
                0..8 => assert_eq!(decode(&flipped), Beginning::Foreign),
                8..12 => assert!(matches!(decode(&flipped), Beginning::Future(_) | Beginning::Damaged)),
                12..HOLDER_AT => assert_eq!(decode(&flipped), Beginning::Damaged),
                _ => {
                    assert_eq!(decode(&flipped), Beginning::Whole(header));
                    assert_ne!(decode_holder(&flipped), Some(holder.clone()));
                }
            }
        }
    }

    #[test]
    fn less_than_a_header_is_a_fresh_file_if_it_is_ours() {
        let (_, _, bytes) = example();
        for len in 0..HEADER_LEN {
            assert_eq!(decode(&bytes[..len]), Beginning::Fresh, "{len}");
        }
        assert_eq!(decode(b"hqjl0002 and so on"), Beginning::Foreign);
        assert_eq!(decode(b"x"), Beginning::Foreign);
        assert_eq!(decode(&[0; 200][..HEADER_LEN]), Beginning::Foreign);
        let mut future = bytes;
        future[8] = 2;
        assert_eq!(decode(&future[..12]), Beginning::Future(2));
    }
}
