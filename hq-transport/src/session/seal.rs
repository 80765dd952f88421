use std::fmt;

use super::noise::{Keys, MESSAGE_MAX, TAG_LEN};
use crate::frame::{BATCH_MAX, Header};

/// Bytes of a batch that fit into one Noise message; longer batches are split.
pub const PART_MAX: usize = MESSAGE_MAX - TAG_LEN;

/// Turns batches into bytes, for one direction of one link.
///
/// A sealed batch is a frame whose body is one or more Noise messages: all but the last are full.
/// The nonce of each is a counter of this direction, with a flag on the last one of a batch and
/// another on a good-bye. So nothing can be replayed, dropped, reordered, mirrored, cut short or
/// joined, headers included, without the peer's [`Opener`](super::Opener) noticing.
pub struct Sealer {
    keys: Option<Keys>,
    counter: u64,
}

impl Sealer {
    pub(super) fn plain() -> Self {
        Self { keys: None, counter: 0 }
    }

    pub(super) fn sealed(keys: Keys) -> Self {
        Self { keys: Some(keys), counter: 0 }
    }

    /// Appends the bytes for one batch to `out`.
    ///
    /// # Errors
    /// [`SealError`]; `out` is as before.
    pub fn seal(&mut self, batch: &[u8], out: &mut Vec<u8>) -> Result<(), SealError> {
        self.begin(batch.len(), out)?;
        for (part, is_last) in parts(batch) {
            self.part(part, if is_last { Nonce::LAST } else { 0 }, out);
        }
        Ok(())
    }

    /// Appends the bytes that say good-bye. Nothing may follow.
    pub fn goodbye(&mut self, out: &mut Vec<u8>) {
        let len = if self.keys.is_some() { TAG_LEN as u32 } else { 0 };
        out.extend(Header { len, goodbye: true }.to_bytes());
        self.part(&[], Nonce::LAST | Nonce::GOODBYE, out);
    }

    /// Appends the header of a batch; its [`parts`] follow.
    pub(crate) fn begin(&mut self, len: usize, out: &mut Vec<u8>) -> Result<(), SealError> {
        if len > BATCH_MAX as usize {
            return Err(SealError::TooLong { len: len as u64, max: BATCH_MAX.into() });
        }
        let part_count = len.div_ceil(PART_MAX).max(1);
        if self.counter + part_count as u64 >= Nonce::COUNTER_MAX {
            return Err(SealError::Exhausted);
        }
        let overhead = if self.keys.is_some() { part_count * TAG_LEN } else { 0 };
        let len = u32::try_from(len + overhead).expect("BATCH_MAX and tags are far below 2^31");
        out.extend(Header { len, goodbye: false }.to_bytes());
        Ok(())
    }

    /// Appends one part of a batch.
    pub(crate) fn next_part(&mut self, part: &[u8], is_last: bool, out: &mut Vec<u8>) {
        self.part(part, if is_last { Nonce::LAST } else { 0 }, out);
    }

    fn part(&mut self, part: &[u8], flags: u64, out: &mut Vec<u8>) {
        let Some(keys) = &self.keys else { return out.extend(part) };
        let start = out.len();
        out.resize(start + part.len() + TAG_LEN, 0);
        keys.write_message(self.counter | flags, part, &mut out[start..])
            .expect("part and room are within the limits of Noise, and the keys are set");
        self.counter += 1;
    }
}

/// The parts of a batch, each with whether it is the last. An empty batch has one, empty part.
pub(crate) fn parts(batch: &[u8]) -> impl Iterator<Item = (&[u8], bool)> {
    let count = batch.len().div_ceil(PART_MAX).max(1);
    (0..count).map(move |n| {
        let rest = &batch[n * PART_MAX..];
        (&rest[..rest.len().min(PART_MAX)], n + 1 == count)
    })
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").field("counter", &self.counter).finish_non_exhaustive()
    }
}

/// A batch could not be sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// Longer than [`BATCH_MAX`].
    #[error("batch of {len} bytes is over the limit of {max}")]
    TooLong {
        /// Bytes in the batch.
        len: u64,
        /// The limit.
        max: u64,
    },
    /// The counter of this direction is used up (after 2^60 messages).
    #[error("the link has carried all messages that its keys are good for")]
    Exhausted,
}

/// The layout of a nonce.
pub(super) struct Nonce;

impl Nonce {
    /// Counters are below this.
    pub(super) const COUNTER_MAX: u64 = 1 << 60;
    /// The last part of its batch.
    pub(super) const LAST: u64 = 1 << 62;
    /// A good-bye.
    pub(super) const GOODBYE: u64 = 1 << 61;
}
