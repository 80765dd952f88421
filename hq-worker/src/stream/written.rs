use std::{
    os::fd::OwnedFd,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use hq_core::{Channel, Outcome};
use hq_stream::{Chunk, End, StreamFile};

use super::Names;
use crate::{Done, EndSink};

/// A run whose output is written into a file.
pub(super) struct Run {
    pub(super) names: Names,
    pub(super) pipes: [Option<OwnedFd>; 2],
    /// Pipes of it that were widened.
    pub(super) wide: [bool; 2],
    /// Who hears what it prints, besides the file.
    pub(super) sink: Option<Arc<dyn EndSink>>,
    pub(super) sizes: [u64; 2],
    /// Where those who listen go on, by channel.
    pub(super) told: [u64; 2],
    /// Something of it waits to be written.
    pub(super) waits: bool,
    /// Why something of it is lost.
    pub(super) error: Option<Arc<str>>,
}

/// A run that is over and whose last words wait to be written.
pub(super) struct Over {
    pub(super) run: Run,
    pub(super) tell: Option<(Done, Outcome)>,
}

impl Run {
    /// One that has printed nothing.
    pub(super) const fn new(names: Names, pipes: [Option<OwnedFd>; 2], sink: Option<Arc<dyn EndSink>>) -> Self {
        Self { names, pipes, sink, wide: [false; 2], sizes: [0; 2], told: [0; 2], waits: false, error: None }
    }

    /// Hands over what it printed.
    pub(super) fn put(&mut self, file: &mut StreamFile, channel: Channel, data: &[u8]) {
        let offset = self.sizes[channel.index()];
        file.put(&Chunk { run: self.names.run, channel, time: now(), offset, data });
        self.sizes[channel.index()] += data.len() as u64;
        self.waits = true;
    }

    /// Hands over that there will be no more.
    pub(super) fn put_end(&mut self, file: &mut StreamFile) {
        file.put_end(&End { run: self.names.run, time: now(), sizes: self.sizes });
        self.waits = true;
    }

    /// Something is lost; a program that prints on gets SIGPIPE.
    pub(super) fn fail(&mut self, error: &Arc<str>) {
        self.error.get_or_insert_with(|| error.clone());
        self.pipes = [None, None];
        self.waits = false;
    }
}

impl Over {
    /// Its end, to be told.
    pub(super) fn end(self) -> Option<(Done, Outcome)> {
        let error = self.run.error;
        self.tell.map(|(done, outcome)| match error {
            // Whatever came of it, e.g. because its output was closed.
            Some(error) if outcome != Outcome::Killed => (done, Outcome::Failed(error.to_string())),
            _ => (done, outcome),
        })
    }
}

/// Milliseconds since 1970 (UTC).
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
