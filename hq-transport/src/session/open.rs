use std::fmt;

use super::noise::{Keys, MESSAGE_MAX, TAG_LEN};
use super::seal::{Nonce, PART_MAX};
use crate::frame::{BATCH_MAX, FrameTooLong, HEADER_LEN, Header};

/// Longest body of a sealed frame.
const SEALED_MAX: u32 = BATCH_MAX + (BATCH_MAX as usize).div_ceil(PART_MAX) as u32 * TAG_LEN as u32;

/// Turns bytes into batches, for one direction of one link: the other end of a
/// [`Sealer`](super::Sealer).
///
/// Memory follows the bytes that came, not the length that a header claims.
pub struct Opener {
    keys: Option<Keys>,
    counter: u64,
    state: State,
}

enum State {
    Header,
    Body { header: Header, left: usize, batch: Vec<u8> },
    Over,
    Broken(OpenError),
}

/// What a call of [`Opener::push`] did.
#[derive(Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the input that are done with; the rest is to be given again, with more behind it.
    pub consumed: usize,
    /// What was completed, if anything.
    pub item: Option<Incoming>,
}

/// What arrives on a link.
#[derive(Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A batch.
    Batch(Vec<u8>),
    /// The peer's good-bye. Nothing follows.
    Goodbye,
}

/// The peer sent what no [`Sealer`](super::Sealer) of this link makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A header claims more than a batch may have.
    #[error(transparent)]
    TooLong(#[from] FrameTooLong),
    /// A header claims a length that no batch has when sealed.
    #[error("impossible frame length")]
    Length,
    /// Forged, changed, replayed, mirrored or out of order.
    #[error("message failed authentication")]
    Authentication,
    /// Bytes after the good-bye.
    #[error("data after the end")]
    AfterEnd,
}

impl Opener {
    pub(super) fn plain() -> Self {
        Self { keys: None, counter: 0, state: State::Header }
    }

    pub(super) fn sealed(keys: Keys) -> Self {
        Self { keys: Some(keys), counter: 0, state: State::Header }
    }

    /// Takes bytes from the start of `input`, up to the end of the first batch in it.
    ///
    /// Call again while `consumed` is not 0 or there was an item; then, more input is needed. The
    /// unconsumed rest never exceeds [`Opener::REST_MAX`] bytes.
    ///
    /// # Errors
    /// [`OpenError`]; the link is dead and every later call gives the same error.
    pub fn push(&mut self, input: &[u8]) -> Result<Progress, OpenError> {
        let result = self.try_push(input);
        if let Err(e) = result {
            self.state = State::Broken(e);
        }
        result
    }

    /// An input of this many bytes always gives progress.
    pub const REST_MAX: usize = MESSAGE_MAX;

    /// How many bytes the next piece of progress needs at least, given that nothing is left over.
    #[must_use]
    pub fn needed(&self) -> usize {
        match &self.state {
            State::Body { left, .. } if self.keys.is_some() => (*left).min(MESSAGE_MAX),
            State::Body { .. } => 1,
            _ => HEADER_LEN,
        }
    }

    fn try_push(&mut self, input: &[u8]) -> Result<Progress, OpenError> {
        let mut consumed = 0;
        loop {
            let rest = &input[consumed..];
            let taken = match &self.state {
                State::Broken(e) => return Err(*e),
                State::Over if rest.is_empty() => 0,
                State::Over => return Err(OpenError::AfterEnd),
                State::Header => self.take_header(rest)?,
                State::Body { .. } => self.take_part(rest)?,
            };
            consumed += taken;
            if let Some(item) = self.take_item() {
                return Ok(Progress { consumed, item: Some(item) });
            }
            if taken == 0 {
                return Ok(Progress { consumed, item: None });
            }
        }
    }

    fn take_header(&mut self, input: &[u8]) -> Result<usize, OpenError> {
        let Some(&bytes) = input.first_chunk::<HEADER_LEN>() else { return Ok(0) };
        let max = if self.keys.is_some() { SEALED_MAX } else { BATCH_MAX };
        let header = Header::parse(bytes, max)?;
        let left = header.len as usize;
        let plain_len = match &self.keys {
            None => left,
            Some(_) => unsealed_len(left).ok_or(OpenError::Length)?,
        };
        if plain_len > BATCH_MAX as usize || (header.goodbye && plain_len != 0) {
            return Err(OpenError::Length);
        }
        self.state = State::Body { header, left, batch: Vec::new() };
        Ok(HEADER_LEN)
    }

    fn take_part(&mut self, input: &[u8]) -> Result<usize, OpenError> {
        let State::Body { header, left, batch } = &mut self.state else { return Ok(0) };
        let Some(keys) = &self.keys else {
            let len = input.len().min(*left);
            batch.extend(&input[..len]);
            *left -= len;
            return Ok(len);
        };
        let len = (*left).min(MESSAGE_MAX);
        let Some(message) = input.get(..len) else { return Ok(0) };
        if len == 0 || self.counter >= Nonce::COUNTER_MAX {
            return Err(OpenError::Authentication);
        }
        let mut nonce = self.counter;
        if len == *left {
            nonce |= Nonce::LAST;
        }
        if header.goodbye {
            nonce |= Nonce::GOODBYE;
        }
        let start = batch.len();
        // Room for the tag, too: the cipher then works in place.
        batch.resize(start + len, 0);
        let opened = keys.read_message(nonce, message, &mut batch[start..]).map_err(|_| OpenError::Authentication)?;
        batch.truncate(start + opened);
        self.counter += 1;
        *left -= len;
        Ok(len)
    }

    /// The batch or good-bye, if its last byte has been taken.
    fn take_item(&mut self) -> Option<Incoming> {
        let State::Body { header, left: 0, batch } = &mut self.state else { return None };
        let goodbye = header.goodbye;
        let batch = std::mem::take(batch);
        self.state = if goodbye { State::Over } else { State::Header };
        Some(if goodbye { Incoming::Goodbye } else { Incoming::Batch(batch) })
    }
}

/// Bytes of the batch in a sealed body of `len` bytes; `None` if no batch has such a body.
fn unsealed_len(len: usize) -> Option<usize> {
    let messages = len.div_ceil(MESSAGE_MAX);
    let last = len.checked_sub(messages.checked_sub(1)? * MESSAGE_MAX)?;
    // Only an empty batch has an empty last part.
    let is_possible = if messages == 1 { last >= TAG_LEN } else { last > TAG_LEN };
    is_possible.then(|| len - messages * TAG_LEN)
}

#[cfg(test)]
impl Opener {
    /// The same opener as it was at the start of the link.
    pub(super) fn restarted(&self) -> Self {
        Self { keys: self.keys.clone(), counter: 0, state: State::Header }
    }

    /// Bytes reserved for the batch that is under way, if one is.
    pub(super) fn held(&self) -> Option<usize> {
        match &self.state {
            State::Body { batch, .. } => Some(batch.capacity()),
            _ => None,
        }
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener").field("counter", &self.counter).finish_non_exhaustive()
    }
}
