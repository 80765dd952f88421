use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes that were read and not yet used. Starts small, grows with what the peer really sends.
pub(super) struct ReadBuffer {
    bytes: Vec<u8>,
    start: usize,
    was_full: bool,
}

const CAPACITY_MIN: usize = 8 << 10;
const CAPACITY_MAX: usize = 128 << 10;

impl ReadBuffer {
    pub(super) fn new() -> Self {
        Self { bytes: Vec::with_capacity(CAPACITY_MIN), start: 0, was_full: false }
    }

    pub(super) fn data(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    pub(super) fn consume(&mut self, len: usize) {
        self.start += len;
        debug_assert!(self.start <= self.bytes.len());
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        }
    }

    /// Reads once, after making room for `total` bytes of data in all. 0 is the end of the stream.
    ///
    /// Cancel safe: a call that is dropped has read nothing.
    pub(super) async fn fill(
        &mut self,
        reader: &mut (impl AsyncRead + Unpin + ?Sized),
        total: usize,
    ) -> io::Result<usize> {
        self.make_room(total);
        let room = self.bytes.capacity() - self.bytes.len();
        let len = reader.read_buf(&mut self.bytes).await?;
        self.was_full = len == room;
        Ok(len)
    }

    fn make_room(&mut self, total: usize) {
        if self.start > 0 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        let mut capacity = self.bytes.capacity();
        if self.was_full {
            capacity = (capacity * 2).min(CAPACITY_MAX);
        }
        // At least one byte more than there is: a read into no room looks like the end.
        let wanted = capacity.max(total).max(self.bytes.len() + 1);
        self.bytes.reserve_exact(wanted - self.bytes.len());
    }
}
