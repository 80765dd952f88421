//! The first bytes of a file: see the table at the top of the crate.

use hq_core::{Epoch, Seq};

use crate::Holder;

/// Length of a header.
pub(super) const HEADER_LEN: usize = 128;
/// The format that is written, and the latest that is read.
pub(super) const VERSION: u32 = 2;
/// Where the notice of the holder begins.
pub(super) const NOTICE_AT: usize = 36;

/// Not text, so that no tool takes the file for some; its line ends tell a copy that was treated as text.
const MAGIC: [u8; 8] = *b"\x89HQJ\r\n\x1a\n";
const NOTICE_LEN: usize = HEADER_LEN - NOTICE_AT;
const HOST_MAX: usize = 71;
/// Where the notice began in the first format, and the longest name in it.
const FIRST_NOTICE_AT: usize = 28;
const FIRST_HOST_MAX: usize = 87;

/// What a file says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Its format.
    pub(super) version: u32,
    /// Its first record.
    pub(super) first: Seq,
    /// Epoch of the record before.
    pub(super) epoch: Epoch,
    /// Numbers before this one may be left out; the record before it is there. 0: none may.
    pub(super) until: Seq,
}

/// What changes while a file is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Notice {
    /// Who has it open, or had.
    pub(super) holder: Holder,
    /// So many bytes of it were safe when this was written.
    pub(super) safe: u64,
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
    /// Of a file in which every number comes.
    pub(super) const fn new(first: Seq, epoch: Epoch) -> Self {
        Self { version: VERSION, first, epoch, until: Seq(0) }
    }

    pub(super) fn encode(self, notice: &Notice) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.first.0.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.epoch.0.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.until.0.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..32]);
        bytes[32..NOTICE_AT].copy_from_slice(&crc.to_le_bytes());
        bytes[NOTICE_AT..].copy_from_slice(&notice.encode());
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
    decode_whole(bytes).map_or(Beginning::Damaged, Beginning::Whole)
}

fn decode_whole(bytes: &[u8]) -> Option<Header> {
    let version = number(bytes, 8)?;
    let (first, epoch) = (Seq(long(bytes, 12)?), Epoch(number(bytes, 20)?));
    let (until, checked) = match version {
        1 => (Seq(0), 24),
        VERSION => (Seq(long(bytes, 24)?), 32),
        _ => return None,
    };
    let is_right = number(bytes, checked)? == crc32c::crc32c(bytes.get(..checked)?) && first > Seq(0);
    is_right.then_some(Header { version, first, epoch, until })
}

impl Notice {
    /// Of this process.
    pub(super) fn now(safe: u64) -> Self {
        Self { holder: Holder::this_process(), safe }
    }

    /// Of a file that nobody writes to any more.
    pub(super) fn sealed(safe: u64) -> Self {
        Self { holder: Holder { pid: 0, ..Holder::this_process() }, safe }
    }

    /// Whether nobody writes to the file any more.
    pub(super) const fn is_sealed(&self) -> bool {
        self.holder.pid == 0
    }

    pub(super) fn encode(&self) -> [u8; NOTICE_LEN] {
        let mut bytes = [0; NOTICE_LEN];
        let host = &self.holder.host;
        let mut len = host.len().min(HOST_MAX);
        while !host.is_char_boundary(len) {
            len -= 1;
        }
        bytes[..4].copy_from_slice(&self.holder.pid.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.holder.uid.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.safe.to_le_bytes());
        bytes[16] = len as u8;
        bytes[17..17 + len].copy_from_slice(&host.as_bytes()[..len]);
        let crc = crc32c::crc32c(&bytes[..NOTICE_LEN - 4]);
        bytes[NOTICE_LEN - 4..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// The notice in a header; `None` where that part does not check.
    pub(super) fn decode(header: &[u8]) -> Option<Self> {
        let (at, safe_at, len_at, host_max) = match number(header, 8)? {
            1 => (FIRST_NOTICE_AT, None, 8, FIRST_HOST_MAX),
            _ => (NOTICE_AT, Some(8), 16, HOST_MAX),
        };
        let bytes = header.get(at..HEADER_LEN)?;
        let checked = bytes.len() - 4;
        if number(bytes, checked)? != crc32c::crc32c(bytes.get(..checked)?) {
            return None;
        }
        let len = usize::from(*bytes.get(len_at)?).min(host_max);
        let host = String::from_utf8_lossy(bytes.get(len_at + 1..len_at + 1 + len)?).into_owned();
        let holder = Holder { host, pid: number(bytes, 0)?, uid: number(bytes, 4)? };
        let safe = safe_at.map_or(Some(0), |at| long(bytes, at))?;
        Some(Self { holder, safe })
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> (Header, Notice, [u8; HEADER_LEN]) {
        let header = Header { until: Seq(5), ..Header::new(Seq(1 << 40), Epoch(3)) };
        let holder = Holder { host: "n1".to_owned(), pid: 17, uid: 1000 };
        let notice = Notice { holder, safe: 77 };
        (header, notice.clone(), header.encode(&notice))
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn comes_back() {
        let (header, notice, bytes) = example();
        assert_eq!(decode(&bytes), Beginning::Whole(header));
        assert_eq!(Notice::decode(&bytes), Some(notice));
        let long = Notice { holder: Holder { host: "ä".repeat(80), pid: 1, uid: 2 }, safe: 0 };
        assert_eq!(Notice::decode(&header.encode(&long)).unwrap().holder.host, "ä".repeat(35));
    }

    /// Byte for byte: what an older version wrote must stay readable, so this never changes.
    #[test]
    fn the_second_format_is_this() {
        let (_, _, bytes) = example();
        let expected = concat!(
            "8948514a0d0a1a0a02000000000000000001000003000000050000000000000086bc1abe",
            "11000000e80300004d00000000000000026e3100"
        );
        assert_eq!(hex(&bytes[..56]), expected);
    }

    #[test]
    fn the_first_format_is_read() {
        let hex = "8948514a0d0a1a0a01000000000000000001000003000000d73fa159";
        let mut bytes = [0; HEADER_LEN];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        }
        let header = Header { version: 1, first: Seq(1 << 40), epoch: Epoch(3), until: Seq(0) };
        assert_eq!(decode(&bytes), Beginning::Whole(header));
        assert_eq!(Notice::decode(&bytes), None);
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let (header, notice, bytes) = example();
        for bit in 0..HEADER_LEN * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            match bit / 8 {
                0..8 => assert_eq!(decode(&flipped), Beginning::Foreign),
                8..12 => assert!(matches!(decode(&flipped), Beginning::Future(_) | Beginning::Damaged)),
                12..NOTICE_AT => assert_eq!(decode(&flipped), Beginning::Damaged),
                _ => {
                    assert_eq!(decode(&flipped), Beginning::Whole(header));
                    assert_ne!(Notice::decode(&flipped), Some(notice.clone()));
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
        future[8] = 3;
        assert_eq!(decode(&future[..12]), Beginning::Future(3));
    }
}
