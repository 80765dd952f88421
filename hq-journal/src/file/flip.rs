//! A frame in which one bit is wrong: told apart from what a crash leaves, which is wrong by whole sectors.

use std::io;

use super::{
    frame::{self, BODY_MIN, Head, PREFIX_LEN, checksum},
    scan::{Scan, Subject, split_prefix},
};
use crate::storage::read_exact_at;

/// Longer bodies are not searched: one in some thousands of them would pass for a flipped bit by chance.
const BODY_MAX: usize = 1 << 16;

/// A frame put right.
pub(super) struct Flip {
    /// The wrong bit, counted from the beginning of the file, the lowest of each byte first.
    pub(super) bit: u64,
    /// Body of the frame as it was written.
    pub(super) body: Vec<u8>,
    /// Where the frame ends.
    pub(super) end: u64,
    pub(super) head: Head,
}

/// The frame at the end of the whole ones, if one flipped bit makes it whole and it belongs there.
pub(super) fn find_flip(subject: &Subject, scan: &Scan) -> io::Result<Option<Flip>> {
    let Some(room) = subject.len.checked_sub(scan.end + PREFIX_LEN as u64) else { return Ok(None) };
    let mut prefix = [0; PREFIX_LEN];
    read_exact_at(&*subject.file, &mut prefix, scan.end)?;
    let (len, crc) = split_prefix(prefix);
    let body_of = |len: u32| -> io::Result<Option<Vec<u8>>> {
        if (len as usize) < BODY_MIN || u64::from(len) > room || len as usize > BODY_MAX {
            return Ok(None);
        }
        let mut body = vec![0; len as usize];
        read_exact_at(&*subject.file, &mut body, scan.end + PREFIX_LEN as u64)?;
        Ok(Some(body))
    };
    let start = scan.end * 8;
    if let Some(mut body) = body_of(len)? {
        let wrong = checksum(len, &body) ^ crc;
        if wrong.is_power_of_two() {
            return Ok(accept(subject, scan, start + 32 + u64::from(wrong.trailing_zeros()), body));
        }
        if let Some(bit) = bit_with(wrong, body.len()) {
            if let Some(byte) = body.get_mut(bit / 8) {
                *byte ^= 1 << (bit % 8);
            }
            return Ok(accept(subject, scan, start + 64 + bit as u64, body));
        }
    }
    for bit in 0..32 {
        let other = len ^ (1 << bit);
        if let Some(body) = body_of(other)?.filter(|body| checksum(other, body) == crc) {
            return Ok(accept(subject, scan, start + bit, body));
        }
    }
    Ok(None)
}

fn accept(subject: &Subject, scan: &Scan, bit: u64, body: Vec<u8>) -> Option<Flip> {
    let version = subject.header.version;
    let head = Head::pop(version, &mut &body[..], body.len())?;
    let belongs = scan.is_followed_by(head, subject.header.until) && frame::decode(version, &body).is_ok();
    let end = scan.end + (PREFIX_LEN + body.len()) as u64;
    belongs.then_some(Flip { bit, body, end, head })
}

/// Polynomial of CRC-32C, the lowest power first.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// The bit of a body of `len` bytes that changes the checksum by `wrong`, if there is one.
fn bit_with(wrong: u32, len: usize) -> Option<usize> {
    // The change by the last bit, then by the one before, and so on: one shift each.
    let mut change = POLYNOMIAL;
    for byte in (0..len).rev() {
        for bit in (0..8).rev() {
            if change == wrong {
                return Some(byte * 8 + bit);
            }
            change = (change >> 1) ^ if change & 1 == 1 { POLYNOMIAL } else { 0 };
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_is_found_by_its_change() {
        let body: Vec<u8> = (0..100).map(|i| (i * 37) as u8).collect();
        let right = checksum(100, &body);
        for bit in 0..800 {
            let mut flipped = body.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(bit_with(checksum(100, &flipped) ^ right, 100), Some(bit));
        }
        assert_eq!(bit_with(0, 100), None);
    }
}
