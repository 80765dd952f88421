//! Records out of a file.

use std::{fs::File, sync::Arc, vec};

use hq_core::{Record, Seq};

use super::{
    frame,
    header::HEADER_LEN,
    scan::{Found, Frames},
};
use crate::ReadError;

/// The records of a file's whole frames, in order.
pub(super) struct FileRecords {
    frames: Frames,
    from: Seq,
    batch: vec::IntoIter<(Seq, Record)>,
    over: bool,
}

impl FileRecords {
    /// Those from number `from` on, out of the file's first `end` bytes.
    pub(super) fn new(file: Arc<File>, from: Seq, end: u64) -> Self {
        let frames = Frames::new(file, HEADER_LEN as u64, end);
        Self { frames, from, batch: vec![].into_iter(), over: false }
    }

    /// The next frame with a record that is wanted.
    fn next_batch(&mut self) -> Result<Option<Vec<(Seq, Record)>>, ReadError> {
        loop {
            match self.frames.step()? {
                Found::End => return Ok(None),
                Found::Damage { offset } => return Err(ReadError::Damaged { offset }),
                Found::Frame { head, .. } if head.next() <= self.from => {}
                Found::Frame { offset, head } => {
                    let unknown = |reason| ReadError::Unknown { first: head.first, offset, reason };
                    return frame::decode(self.frames.body()).map(Some).map_err(unknown);
                }
            }
        }
    }
}

impl Iterator for FileRecords {
    type Item = Result<(Seq, Record), ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((seq, record)) = self.batch.next() {
                if seq < self.from {
                    continue;
                }
                return Some(Ok((seq, record)));
            }
            if self.over {
                return None;
            }
            match self.next_batch() {
                Ok(Some(batch)) => self.batch = batch.into_iter(),
                Ok(None) => self.over = true,
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
    }
}
