//! Records out of the files of a journal.

use std::vec;

use hq_core::{Epoch, Record, Seq};

use super::{
    frame,
    header::HEADER_LEN,
    scan::{Found, Frames},
    segment::{Layout, Segment},
};
use crate::ReadError;

/// What was appended as one: its epoch, and numbered records.
pub(super) type Batch = (Epoch, Vec<(Seq, Record)>);

/// The records of whole frames, in order.
pub(super) struct FileRecords {
    segments: vec::IntoIter<Segment>,
    current: Option<(Segment, Frames)>,
    from: Seq,
    batch: vec::IntoIter<(Seq, Record)>,
    over: bool,
}

impl FileRecords {
    /// Those from number `from` on.
    pub(super) fn new(layout: Layout, from: Seq) -> Self {
        let Layout { mut sealed, active } = layout;
        sealed.push(active);
        sealed.retain(|segment| segment.next > from);
        Self { segments: sealed.into_iter(), current: None, from, batch: vec![].into_iter(), over: false }
    }

    /// The next frame with a record that is wanted, and its epoch.
    pub(super) fn next_batch(&mut self) -> Result<Option<Batch>, ReadError> {
        loop {
            let Some((segment, frames)) = &mut self.current else {
                let Some(segment) = self.segments.next() else { return Ok(None) };
                let frames = Frames::new(segment.header.version, segment.file.clone(), HEADER_LEN as u64, segment.end);
                self.current = Some((segment, frames));
                continue;
            };
            match frames.step()? {
                Found::End => self.current = None,
                Found::Damage { offset } => return Err(ReadError::Damaged { path: segment.path.clone(), offset }),
                Found::Frame { head, .. } if head.next() <= self.from => {}
                Found::Frame { offset, head } => {
                    let path = segment.path.clone();
                    let unknown = |reason| ReadError::Unknown { path, first: head.first, offset, reason };
                    let batch = frame::decode(segment.header.version, frames.body()).map_err(unknown)?;
                    return Ok(Some((head.epoch, batch)));
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
                Ok(Some((_, batch))) => self.batch = batch.into_iter(),
                Ok(None) => self.over = true,
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
    }
}
