use std::io;

use hq_core::{Channel, JobId, TaskNumber};

use crate::{
    Scan, StreamDir, StreamError,
    dir::{File, FileState},
    frame::{Chunk, Frame},
    index::Run,
    source::Source,
};

impl StreamDir {
    /// Hands what the newest run of a task printed to `sink`, piece by piece.
    ///
    /// Pieces are in the order in which they were printed; lost ones are left out, doubled ones come once.
    ///
    /// # Errors
    /// Where the task has no output, its file cannot be read, or the sink fails.
    pub fn copy<E: From<StreamError>>(
        &self,
        job: JobId,
        task: TaskNumber,
        channel: Channel,
        mut sink: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.copy_pieces(job, task, channel, |_, bytes| sink(bytes))
    }

    /// The same with the place of each piece in what was printed: that of a piece behind a lost one tells how much it was.
    ///
    /// # Errors
    /// As [`copy`](Self::copy).
    pub fn copy_pieces<E: From<StreamError>>(
        &self,
        job: JobId,
        task: TaskNumber,
        channel: Channel,
        mut sink: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let run = self.newest(job, task)?;
        let Some(file) = self.files.get(run.file as usize) else { return Ok(()) };
        let error = |source| StreamError::File { path: file.path.clone(), source };
        let is_wanted = |chunk: &Chunk<'_>| {
            let whose = (chunk.run.job, chunk.run.task, chunk.run.instance);
            whose == (job, task, run.instance) && chunk.channel == channel
        };
        if !run.is_disordered {
            return each(
                file,
                run,
                error,
                |_, chunk| if is_wanted(chunk) { sink(chunk.offset, chunk.data) } else { Ok(()) },
            );
        }
        let mut places = Vec::new();
        each(file, run, error, |begin, chunk| {
            if is_wanted(chunk) {
                places.push((chunk.offset, begin));
            }
            Ok::<(), StreamError>(())
        })?;
        places.sort_unstable();
        places.dedup_by_key(|(offset, _)| *offset);
        for (_, begin) in places {
            let mut scan = scan(file, begin..begin + 1).map_err(error)?;
            if let Some((_, Frame::Chunk(chunk))) = scan.next().map_err(error)? {
                sink(chunk.offset, chunk.data)?;
            }
        }
        Ok(())
    }
}

/// Looks at all chunks in the places where a run has some.
fn each<E: From<StreamError>>(
    file: &File,
    run: &Run,
    error: impl Fn(io::Error) -> StreamError,
    mut look: impl FnMut(u64, &Chunk<'_>) -> Result<(), E>,
) -> Result<(), E> {
    for range in run.extents.iter() {
        let mut scan = scan(file, range).map_err(&error)?;
        while let Some((begin, frame)) = scan.next().map_err(&error)? {
            if let Frame::Chunk(chunk) = frame {
                look(begin, &chunk)?;
            }
        }
    }
    Ok(())
}

fn scan(file: &File, range: std::ops::Range<u64>) -> io::Result<Scan<Source>> {
    let salt = match &file.state {
        FileState::Read(facts) => facts.salt,
        FileState::Foreign | FileState::Unreadable(_) => None,
    };
    Ok(Scan::part(Source::new(&file.path, true)?, range, salt))
}
