use std::{cell::Cell, os::fd::OwnedFd, sync::Arc, time::Instant};

use hq_core::Outcome;

use super::{
    Names,
    queue::{Command, HowOver, Queue},
    watcher::Watcher,
};
use crate::{Done, EndSink};

/// A run whose output goes into a stream file, from before its start to its end.
///
/// Dropped, the run is cut off.
pub(crate) struct Feed {
    key: u64,
    run: Names,
    /// Who hears what it prints.
    sink: Option<Arc<dyn EndSink>>,
    queue: Arc<Queue>,
    has_begun: Cell<bool>,
    is_over: bool,
}

impl Feed {
    /// `key` comes from having joined `queue`.
    pub(super) const fn new(key: u64, run: Names, sink: Option<Arc<dyn EndSink>>, queue: Arc<Queue>) -> Self {
        Self { key, run, sink, queue, has_begun: Cell::new(false), is_over: false }
    }

    /// What comes through these pipes is written, by channel.
    pub(crate) fn begin(&self, pipes: [Option<OwnedFd>; 2]) {
        self.has_begun.set(true);
        let (key, run, sink, at) = (self.key, self.run, self.sink.clone(), Instant::now());
        self.queue.put(Command::Begin { key, run, pipes, sink, at });
    }

    /// Who may notice the end of its process.
    pub(crate) fn watcher(&self) -> Watcher {
        Watcher::new(self.key, self.queue.clone())
    }

    /// The run is over. Tells it when all that it printed is where it belongs, or that it is not.
    pub(crate) fn end(mut self, how: HowOver, done: Done, outcome: Outcome) {
        self.over(how, Some((done, outcome)));
    }

    fn over(&mut self, how: HowOver, tell: Option<(Done, Outcome)>) {
        self.is_over = true;
        // Of one that could not be started there is an end, too.
        if how != HowOver::CutOff && !self.has_begun.get() {
            self.begin([None, None]);
        }
        self.queue.put(Command::End { key: self.key, how, tell });
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        if !self.is_over {
            self.over(HowOver::CutOff, None);
        }
    }
}
