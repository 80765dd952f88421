use std::{cmp::Reverse, collections::BinaryHeap, io, path::Path};

use hq_core::{Channel, JobId};

use crate::{
    Scan, StreamDir, StreamError,
    dir::{FileState, OPEN_MAX},
    frame::{Chunk, Frame},
    source::Source,
};

/// Chunks of all files by time, of newest runs only.
///
/// Of each file one chunk is in memory, besides what [`Scan`] takes.
#[derive(Debug)]
pub struct Merged<'a> {
    dir: &'a StreamDir,
    job: Option<JobId>,
    channel: Option<Channel>,
    files: Vec<Option<Waiting>>,
    /// Time and file of the chunk that each file has next.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    /// Whose chunk was given last: it has to go on.
    last: Option<usize>,
}

/// A file and the place of its next chunk.
#[derive(Debug)]
struct Waiting {
    scan: Scan<Source>,
    chunk: u64,
}

impl StreamDir {
    /// Everything in the order in which it was printed, or only that of one job or channel.
    ///
    /// # Errors
    /// Where a file cannot be read.
    pub fn merged(&self, job: Option<JobId>, channel: Option<Channel>) -> Result<Merged<'_>, StreamError> {
        let files = self.files.iter().map(|_| None).collect();
        let mut merged = Merged { dir: self, job, channel, files, order: BinaryHeap::new(), last: None };
        let keep = self.files.len() <= OPEN_MAX;
        for (number, file) in self.files.iter().enumerate() {
            let FileState::Read(facts) = &file.state else { continue };
            let source = Source::new(&file.path, keep).map_err(|error| failed(&file.path, error))?;
            let scan = Scan::part(source, 0..u64::MAX, facts.salt);
            merged.files[number] = Some(Waiting { scan, chunk: 0 });
            merged.advance(number)?;
        }
        Ok(merged)
    }
}

fn failed(path: &Path, source: io::Error) -> StreamError {
    StreamError::File { path: path.to_owned(), source }
}

impl Merged<'_> {
    /// The next chunk.
    ///
    /// # Errors
    /// Where a file cannot be read.
    #[expect(clippy::should_implement_trait, reason = "what it gives is borrowed from it")]
    pub fn next(&mut self) -> Result<Option<Chunk<'_>>, StreamError> {
        if let Some(number) = self.last.take() {
            self.advance(number)?;
        }
        let Some(Reverse((_, number))) = self.order.pop() else { return Ok(None) };
        self.last = Some(number);
        let Some(Some(waiting)) = self.files.get_mut(number) else { return Ok(None) };
        match waiting.scan.again(waiting.chunk) {
            Some(Frame::Chunk(chunk)) => Ok(Some(chunk)),
            _ => Ok(None),
        }
    }

    /// Finds the next chunk of a file that is wanted.
    fn advance(&mut self, number: usize) -> Result<(), StreamError> {
        let Some(Some(waiting)) = self.files.get_mut(number) else { return Ok(()) };
        let path = &self.dir.files[number].path;
        while let Some((begin, frame)) = waiting.scan.next().map_err(|error| failed(path, error))? {
            let Frame::Chunk(chunk) = frame else { continue };
            let task = (chunk.run.job, chunk.run.task);
            let is_wanted = self.job.is_none_or(|job| job == chunk.run.job)
                && self.channel.is_none_or(|channel| channel == chunk.channel)
                && self.dir.index.is_newest(task, chunk.run.instance, number as u32);
            if is_wanted {
                self.order.push(Reverse((chunk.time, number)));
                waiting.chunk = begin;
                return Ok(());
            }
        }
        self.files[number] = None;
        Ok(())
    }
}
