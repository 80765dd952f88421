//! One batch as bytes: see the table at the top of the crate.

use hq_core::{Epoch, Fact, Record, Seq, Tick};
use serde::Deserialize;

use super::varint;
use crate::AppendError;

/// Length and checksum.
pub(super) const PREFIX_LEN: usize = 8;
/// No body is shorter: three numbers and a record, in the first format.
pub(super) const BODY_MIN: usize = 5;
/// As much of a body as [`Head::pop`] and [`looks_like_record`] may want to see.
pub(super) const LOOK_MAX: usize = 53;
/// Longest body that is written.
const BODY_MAX: u64 = 1 << 30;

/// Appends a frame to `out`; nothing on an error. What is in `out` before is written and synced together with it.
pub(super) fn encode(out: &mut Vec<u8>, epoch: Epoch, first: Seq, records: &[Record]) -> Result<(), AppendError> {
    let start = out.len();
    let head = Head { epoch, first, count: records.len() as u64, behind: start as u64 };
    let result = encode_body(out, start + PREFIX_LEN, head, records).and_then(|()| {
        let bytes = (out.len() - start - PREFIX_LEN) as u64;
        let fits = u32::try_from(bytes).ok().filter(|_| bytes <= BODY_MAX);
        fits.ok_or(AppendError::TooLarge { bytes, max: BODY_MAX })
    });
    match result {
        Ok(len) => {
            let crc = checksum(len, &out[start + PREFIX_LEN..]);
            out[start..start + 4].copy_from_slice(&len.to_le_bytes());
            out[start + 4..start + PREFIX_LEN].copy_from_slice(&crc.to_le_bytes());
            Ok(())
        }
        Err(error) => {
            out.truncate(start);
            Err(error)
        }
    }
}

fn encode_body(out: &mut Vec<u8>, body: usize, head: Head, records: &[Record]) -> Result<(), AppendError> {
    out.resize(body, 0);
    for number in [head.epoch.0.into(), head.first.0, head.count, head.behind] {
        varint::push(out, number);
    }
    let mut before = Tick::default();
    for record in records {
        varint::push(out, varint::zigzag(record.at.0.wrapping_sub(before.0).cast_signed()));
        before = record.at;
        rmp_serde::encode::write_named(out, &record.fact)
            .map_err(|error| AppendError::Encoding { reason: error.to_string() })?;
    }
    Ok(())
}

/// Of the length and the body, so that a damaged length is found even where the other body happens to check.
pub(super) fn checksum(len: u32, body: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&len.to_le_bytes()), body)
}

/// What a body begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) epoch: Epoch,
    pub(super) first: Seq,
    pub(super) count: u64,
    /// So many bytes before it were synced together with it, and no earlier.
    pub(super) behind: u64,
}

impl Head {
    /// Takes the head off a body, or off the beginning of one; `len` is the length of the whole body.
    /// `None` where it makes no sense in that format.
    pub(super) fn pop(version: u32, body: &mut &[u8], len: usize) -> Option<Self> {
        let epoch = Epoch(u32::try_from(varint::pop(body)?).ok()?);
        let first = Seq(varint::pop(body)?);
        let count = varint::pop(body)?;
        let behind = if version == 1 { 0 } else { varint::pop(body)? };
        first.0.checked_add(count)?;
        (first.0 > 0 && (1..=len as u64).contains(&count)).then_some(Self { epoch, first, count, behind })
    }

    /// The record after its last one.
    pub(super) const fn next(self) -> Seq {
        Seq(self.first.0 + self.count)
    }
}

/// Whether what follows a head may be a record: a tick and the name of a fact, with its fields or alone.
pub(super) fn looks_like_record(mut bytes: &[u8]) -> bool {
    if varint::pop(&mut bytes).is_none() {
        return false;
    }
    let name = bytes.strip_prefix(&[0x81]).unwrap_or(bytes); // a MessagePack map of one
    matches!(name, [0xa1..=0xbf, b'A'..=b'Z', ..]) // a string of 1 to 31 bytes
}

/// The records of a body whose checksum is right.
pub(super) fn decode(version: u32, mut body: &[u8]) -> Result<Vec<(Seq, Record)>, String> {
    let len = body.len();
    let head = Head::pop(version, &mut body, len).ok_or("its head is wrong")?;
    let mut records = Vec::with_capacity(head.count as usize); // at most the length of the body
    let mut at = Tick::default();
    for seq in head.first.0..head.next().0 {
        let gap = varint::pop(&mut body).ok_or("it is too short")?;
        at = Tick(at.0.wrapping_add_signed(varint::unzigzag(gap)));
        let mut reader = rmp_serde::Deserializer::new(&mut body);
        let fact = Fact::deserialize(&mut reader).map_err(|error| error.to_string())?;
        records.push((Seq(seq), Record { at, fact }));
    }
    if body.is_empty() { Ok(records) } else { Err("it is too long".to_owned()) }
}

#[cfg(test)]
mod tests {
    use hq_core::JobId;
    use proptest::prelude::*;

    use super::*;

    fn closed(at: u64, job: u32) -> Record {
        Record { at: Tick(at), fact: Fact::JobClosed { job: JobId(job) } }
    }

    /// Byte for byte: what an older version wrote must stay readable, so this never changes.
    #[test]
    fn the_second_format_is_this() {
        let mut frame = vec![];
        encode(&mut frame, Epoch(2), Seq(300), &[closed(1000, 7), closed(990, 8)]).unwrap();
        let hex: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
        let fact = "81a94a6f62436c6f73656481a36a6f62"; // {"JobClosed": {"job": …
        assert_eq!(&hex[16..], format!("02ac020200d00f{fact}0713{fact}08"));
        assert_eq!(&hex[..16], "2a000000b5f2d046");
    }

    #[test]
    fn unknown_fields_are_skipped_and_unknown_facts_are_named() {
        let body = |fact: &[u8]| [&[1, 1, 1, 0, 0][..], fact].concat();
        let more = b"\x81\xa9JobClosed\x82\xa3job\x07\xa3new\x92\x01\x02";
        assert_eq!(decode(2, &body(more)), Ok(vec![(Seq(1), closed(0, 7))]));
        let error = decode(2, &body(b"\x81\xa7Unheard\x81\xa3job\x07")).unwrap_err();
        assert!(error.contains("Unheard"), "{error}");
    }

    #[test]
    fn a_record_looks_like_one() {
        let mut frame = vec![];
        encode(&mut frame, Epoch(u32::MAX), Seq(u64::MAX >> 1), &[closed(u64::MAX >> 1, 7)]).unwrap();
        let look = &frame[PREFIX_LEN..][..LOOK_MAX.min(frame.len() - PREFIX_LEN)];
        let mut rest = look;
        Head::pop(2, &mut rest, look.len()).unwrap();
        assert!(looks_like_record(rest));
        for other in [&b""[..], b"\x00", b"\x00\x81", b"\x00\x81\xa1", b"\x00\x81\x07", b"\xff\xff", b"\x00\xa3job"] {
            assert!(!looks_like_record(other), "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn batches_come_back(rows in prop::collection::vec((any::<u64>(), any::<u32>()), 1..20), epoch: u32, first in 1u64..1 << 60) {
            let records: Vec<Record> = rows.into_iter().map(|(at, job)| closed(at, job)).collect();
            let mut frame = vec![1, 2, 3];
            encode(&mut frame, Epoch(epoch), Seq(first), &records).unwrap();
            let numbered: Vec<_> = (first..).map(Seq).zip(records).collect();
            prop_assert_eq!(decode(2, &frame[3 + PREFIX_LEN..]), Ok(numbered));
        }

        #[test]
        fn no_body_does_harm(body in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = (decode(1, &body), decode(2, &body));
        }
    }
}
