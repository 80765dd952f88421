use std::{
    collections::HashMap,
    io,
    os::fd::OwnedFd,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use hq_core::{Channel, Outcome, RunOutput};
use hq_stream::{Chunk, DATA_MAX, End, StreamFile};
use rustix::{
    buffer::spare_capacity,
    event::{Timespec, epoll},
};

use super::{
    Names,
    ears::Room,
    pipe::{self, Got},
    queue::{Command, HowOver, NEWS, Queue},
    streams::Office,
};
use crate::{Done, EndSink};

/// So much is written at once.
const FLUSH_AT: usize = 64 << 10;
/// Nothing waits longer: callers look for a large output after a second, and for none of a small one in the first half.
const FLUSH_AFTER: Duration = Duration::from_millis(750);
/// How long the thread waits for another run before it ends.
const LINGER: Duration = Duration::from_millis(50);

/// Reads the pipes of many runs and writes them into one file.
pub(super) struct Pump {
    file: StreamFile,
    queue: Arc<Queue>,
    office: Arc<Office>,
    epoll: OwnedFd,
    runs: HashMap<u64, Run>,
    /// Since when something waits to be written.
    waits_since: Option<Instant>,
    /// Runs that are over and whose last words wait to be written.
    over: Vec<Over>,
    buffer: Vec<u8>,
}

struct Run {
    names: Names,
    pipes: [Option<OwnedFd>; 2],
    /// Who hears what it prints, besides the file.
    sink: Option<Arc<dyn EndSink>>,
    sizes: [u64; 2],
    /// Where those who listen go on, by channel.
    told: [u64; 2],
    /// Something of it waits to be written.
    waits: bool,
    /// Why something of it is lost.
    error: Option<Arc<str>>,
}

struct Over {
    run: Run,
    tell: Option<(Done, Outcome)>,
}

impl Pump {
    pub(super) fn new(file: StreamFile, queue: Arc<Queue>, office: Arc<Office>) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &queue.news, epoll::EventData::new_u64(NEWS), epoll::EventFlags::IN)?;
        let (runs, over, buffer) = (HashMap::new(), vec![], vec![0; DATA_MAX]);
        Ok(Self { file, queue, office, epoll, runs, waits_since: None, over, buffer })
    }

    pub(super) const fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    pub(super) const fn file(&self) -> &StreamFile {
        &self.file
    }

    /// The thread's life, until `may_end` lets it go.
    pub(super) fn run(mut self, may_end: impl Fn(&Self) -> bool) {
        let mut events = Vec::with_capacity(64);
        loop {
            events.clear();
            let timeout = self.timeout().and_then(|timeout| Timespec::try_from(timeout).ok());
            match epoll::wait(&self.epoll, spare_capacity(&mut events), timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                // It cannot fail in another way; if it does, the work is done all the same.
                Err(error) => tracing::error!("waiting for outputs of tasks: epoll: {error}"),
            }
            let is_idle = events.is_empty() && self.runs.is_empty();
            for event in &events {
                match event.data.u64() {
                    NEWS => self.obey(),
                    key => self.read(key >> 1, if key & 1 == 0 { Channel::Stdout } else { Channel::Stderr }),
                }
            }
            let is_due = self.waits_since.is_some_and(|since| since.elapsed() >= FLUSH_AFTER);
            if is_due || !self.over.is_empty() {
                self.flush();
            }
            if is_idle || (self.runs.is_empty() && self.queue.is_closing()) {
                self.flush();
                if may_end(&self) {
                    return;
                }
            }
        }
    }

    fn timeout(&self) -> Option<Duration> {
        let left = self.waits_since.map(|since| FLUSH_AFTER.saturating_sub(since.elapsed()));
        left.or_else(|| self.runs.is_empty().then_some(LINGER))
    }

    /// Does what is in the queue.
    fn obey(&mut self) {
        let _ = rustix::io::read(&self.queue.news, &mut [0; 8]);
        for command in self.queue.take() {
            match command {
                Command::Begin { key, run, pipes, sink } => self.begin(key, run, pipes, sink),
                Command::End { key, how, tell } => self.end(key, how, tell),
                // An end waits for the file alone, which waits for nobody.
                Command::Stop { .. } => {}
            }
        }
    }

    fn begin(&mut self, key: u64, names: Names, pipes: [Option<OwnedFd>; 2], sink: Option<Arc<dyn EndSink>>) {
        let mut begun = Run { names, sink, pipes, sizes: [0; 2], told: [0; 2], waits: false, error: None };
        for channel in Channel::ALL {
            let Some(pipe) = &begun.pipes[channel.index()] else { continue };
            let data = epoll::EventData::new_u64(key << 1 | u64::from(channel.number()));
            if let Err(error) = epoll::add(&self.epoll, pipe, data, epoll::EventFlags::IN) {
                begun.fail(&format!("cannot watch the output of the task: epoll: {error}").into());
                self.office.kill(names.id);
            }
        }
        self.runs.insert(key, begun);
    }

    /// Reads once: others wait, too.
    fn read(&mut self, key: u64, channel: Channel) {
        let Some(run) = self.runs.get_mut(&key) else { return };
        let Some(pipe) = &run.pipes[channel.index()] else { return };
        match pipe::read(pipe, &mut self.buffer) {
            Got::Bytes(n) => self.put(key, channel, n),
            Got::Nothing => {}
            // Closing it takes it out of the epoll: nobody else has our end.
            Got::End => run.pipes[channel.index()] = None,
        }
    }

    /// The first `n` bytes of the buffer are of this run.
    fn put(&mut self, key: u64, channel: Channel, n: usize) {
        self.tell(key, channel, n);
        let Some(run) = self.runs.get_mut(&key) else { return };
        run.put(&mut self.file, channel, &self.buffer[..n]);
        self.waits_since.get_or_insert_with(Instant::now);
        if self.file.waiting() >= FLUSH_AT {
            self.flush();
        }
    }

    /// Tells those who listen, if they have room: they never hold up a file, and read there what they missed.
    fn tell(&mut self, key: u64, channel: Channel, n: usize) {
        let Some(run) = self.runs.get(&key) else { return };
        let (job, offset, told) = (run.names.run.job, run.sizes[channel.index()], run.told[channel.index()]);
        if run.sink.is_none() {
            return;
        }
        let Room::Free(session) = self.office.ears.take(job) else { return };
        if offset != told {
            self.flush();
        }
        let Some(run) = self.runs.get_mut(&key) else { return };
        run.told[channel.index()] = offset + n as u64;
        if let Some(sink) = &run.sink {
            let data = self.buffer[..n].into();
            sink.printed(job, RunOutput { run: run.names.id, session, channel, offset, data });
        }
    }

    /// A run is over: takes what is in its pipes now. What a process that it left behind prints later goes nowhere.
    fn end(&mut self, key: u64, how: HowOver, tell: Option<(Done, Outcome)>) {
        for channel in Channel::ALL {
            let mut left =
                self.runs.get(&key).and_then(|run| run.pipes[channel.index()].as_ref()).map_or(0, pipe::waiting);
            while left > 0 {
                let Some(pipe) = self.runs.get(&key).and_then(|run| run.pipes[channel.index()].as_ref()) else { break };
                let room = usize::try_from(left).unwrap_or(usize::MAX).min(self.buffer.len());
                let Got::Bytes(n) = pipe::read(pipe, &mut self.buffer[..room]) else { break };
                left -= n as u64;
                self.put(key, channel, n);
            }
        }
        // One that never began has nothing to say but its end.
        let Some(mut run) = self.runs.remove(&key) else {
            self.queue.leave();
            if let Some((done, outcome)) = tell {
                done.end(outcome);
            }
            return;
        };
        run.pipes = [None, None];
        if how != HowOver::CutOff && run.error.is_none() {
            self.file.put_end(&End { run: run.names.run, time: now(), sizes: run.sizes });
            run.waits = true;
            self.waits_since.get_or_insert_with(Instant::now);
        }
        self.over.push(Over { run, tell });
    }

    /// Writes what waits, and tells the ends of those who are over.
    fn flush(&mut self) {
        self.waits_since = None;
        let result = self.file.flush();
        let over = self.over.iter_mut().map(|over| &mut over.run);
        match result {
            Ok(()) => self.runs.values_mut().chain(over).for_each(|run| run.waits = false),
            Err(error) => {
                let path = self.file.path().display();
                let error = format!("cannot write the output of the task to the stream file `{path}`: {error}").into();
                over.filter(|run| run.waits).for_each(|run| run.fail(&error));
                for run in self.runs.values_mut().filter(|run| run.waits) {
                    run.fail(&error);
                    self.office.kill(run.names.id);
                }
            }
        }
        for Over { run, tell } in self.over.drain(..) {
            self.queue.leave();
            let Some((done, outcome)) = tell else { continue };
            done.end(match run.error {
                // Whatever came of it, e.g. because its output was closed.
                Some(error) if outcome != Outcome::Killed => Outcome::Failed(error.to_string()),
                _ => outcome,
            });
        }
    }
}

impl Run {
    fn put(&mut self, file: &mut StreamFile, channel: Channel, data: &[u8]) {
        let offset = self.sizes[channel.index()];
        file.put(&Chunk { run: self.names.run, channel, time: now(), offset, data });
        self.sizes[channel.index()] += data.len() as u64;
        self.waits = true;
    }

    /// Something is lost; a program that prints on gets SIGPIPE.
    fn fail(&mut self, error: &Arc<str>) {
        self.error.get_or_insert_with(|| error.clone());
        self.pipes = [None, None];
        self.waits = false;
    }
}

/// Milliseconds since 1970 (UTC).
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
