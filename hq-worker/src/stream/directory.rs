use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use hq_stream::{Bookmark, Head, Probe, StreamFile};

use super::{
    Feed,
    pump::Pump,
    queue::Queue,
    streams::{Names, Office, THREAD},
};
use crate::EndSink;

/// A stream directory that this worker has written to.
pub(super) struct Directory {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The thread that writes the file.
    active: Option<Active>,
    /// The file while nobody writes it.
    closed: Option<Bookmark>,
}

struct Active {
    queue: Arc<Queue>,
    /// A file that was removed is not gone on with.
    probe: Probe,
}

impl Directory {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, state: Mutex::default() }
    }

    /// A run whose output goes there. The file exists when this returns.
    pub(super) fn join(
        self: &Arc<Self>,
        head: &Head,
        run: Names,
        sink: Option<Arc<dyn EndSink>>,
        office: &Arc<Office>,
    ) -> io::Result<Feed> {
        let mut state = self.state();
        let queue = match &state.active {
            Some(active) if active.probe.is_there() => active.queue.clone(),
            _ => self.start(&mut state, head, office)?,
        };
        Ok(Feed::new(queue.join(), run, sink, queue))
    }

    fn start(self: &Arc<Self>, state: &mut State, head: &Head, office: &Arc<Office>) -> io::Result<Arc<Queue>> {
        let before = state.closed.take().and_then(|mark| StreamFile::reopen(&mark).ok());
        let file = before.map_or_else(|| StreamFile::create(&self.path, head.clone()), Ok)?;
        let (queue, probe) = (Arc::new(Queue::new()?), file.probe()?);
        let pump = Pump::new(file, queue.clone(), office.clone());
        let (directory, mark) = (self.clone(), office.one_more());
        let body = move || {
            pump.run(|pump| directory.retire(pump));
            drop(mark);
        };
        thread::Builder::new().name(THREAD.to_owned()).spawn(body)?;
        state.active = Some(Active { queue: queue.clone(), probe });
        Ok(queue)
    }

    /// Whether the thread may end, because nobody uses it. Then nobody will.
    fn retire(&self, pump: &Pump) -> bool {
        let mut state = self.state();
        if !pump.queue().is_unused() {
            return false;
        }
        let is_active = state.active.as_ref().is_some_and(|active| Arc::ptr_eq(&active.queue, pump.queue()));
        if is_active {
            state.active = None;
            state.closed = pump.file().bookmark().ok();
        }
        true
    }

    /// Whether its file is being written.
    pub(super) fn is_active(&self) -> bool {
        self.state().active.is_some()
    }

    /// Its thread ends once the runs that use it are over.
    pub(super) fn close(&self) {
        if let Some(active) = &self.state().active {
            active.queue.close();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
