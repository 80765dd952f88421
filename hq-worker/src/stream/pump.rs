use std::{
    collections::{HashMap, VecDeque},
    ops::Range,
    os::fd::OwnedFd,
    sync::Arc,
    time::{Duration, Instant},
};

use hq_core::{Channel, Outcome, RunOutput};
use hq_stream::{DATA_MAX, StreamFile};
use rustix::event::Timespec;

use super::{
    Names,
    ears::Room,
    pipe::{self, Got},
    queue::{Command, HowOver, Queue},
    streams::Office,
    watch::Ready,
    written::{Over, Run},
};
use crate::{Done, EndSink};

/// So much is read at once.
const READ_MAX: usize = 256 << 10;
/// So much is written at once.
const FLUSH_AT: usize = 64 << 10;
/// A run that is over sooner has its pipes read once, at its end: what it prints wakes nobody.
const GRACE: Duration = Duration::from_millis(5);
/// A program that has as much in a pipe before somebody reads it may have to wait: those that follow are read at once.
const CROWDED: u64 = 32 << 10;
/// Programs that print more get pipes for more, each of so many bytes, up to that many at a time: the system gives a user
/// only some.
const WIDEN_AT: u64 = 1 << 20;
const WIDE: usize = 256 << 10;
const WIDE_MAX: usize = 32;
/// Nothing waits longer: callers look for a large output after a second, and for none of a small one in the first half.
const FLUSH_AFTER: Duration = Duration::from_millis(750);
/// How long the thread waits for another run before it ends.
const LINGER: Duration = Duration::from_millis(50);

/// Reads the pipes of many runs and writes them into one file.
pub(super) struct Pump {
    file: StreamFile,
    queue: Arc<Queue>,
    office: Arc<Office>,
    runs: HashMap<u64, Run>,
    /// Runs whose pipes are not watched yet, or that are over, in order of their beginnings.
    fresh: VecDeque<(Instant, u64)>,
    /// Pipes are watched from the beginning.
    is_eager: bool,
    /// Pipes that were widened, of runs that are not over.
    wide: usize,
    /// Since when something waits to be written.
    waits_since: Option<Instant>,
    /// Runs that are over and whose last words wait to be written.
    over: Vec<Over>,
    buffer: Vec<u8>,
}

impl Pump {
    pub(super) fn new(file: StreamFile, queue: Arc<Queue>, office: Arc<Office>) -> Self {
        Self {
            file,
            queue,
            office,
            runs: HashMap::new(),
            fresh: VecDeque::new(),
            is_eager: false,
            wide: 0,
            waits_since: None,
            over: vec![],
            buffer: vec![0; READ_MAX],
        }
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
            let lingers = self.runs.is_empty() && self.fresh.is_empty();
            let timeout = self.timeout().and_then(|timeout| Timespec::try_from(timeout).ok());
            let timeout = if self.queue.sleep(self.sleeps_lightly()) { timeout } else { Some(Timespec::default()) };
            if let Err(error) = self.queue.watch.wait(&mut events, timeout.as_ref()) {
                // There is no reason for it; if it comes to that, the work is done all the same.
                tracing::error!("waiting for outputs of tasks: epoll: {error}");
            }
            self.queue.heed(&events);
            let has_obeyed = self.obey();
            self.watch_those_that_last();
            let is_idle = lingers && events.is_empty() && !has_obeyed;
            for event in &events {
                if let Ready::Pipe(key, channel) = Ready::of(event) {
                    self.read(key, channel);
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
        let grown = self.fresh.front().map(|(at, _)| GRACE.saturating_sub(at.elapsed()));
        let soonest = left.into_iter().chain(grown).min();
        soonest.or_else(|| self.runs.is_empty().then_some(LINGER))
    }

    /// Whether it wakes in time for runs that begin meanwhile.
    fn sleeps_lightly(&self) -> bool {
        !self.is_eager && !self.fresh.is_empty()
    }

    /// Does what is in the queue; says whether there was something.
    fn obey(&mut self) -> bool {
        let commands = self.queue.take();
        let is_something = !commands.is_empty();
        for command in commands {
            match command {
                Command::Begin { key, run, pipes, sink, at } => self.begin(key, run, pipes, sink, at),
                Command::End { key, how, tell } => self.end(key, how, tell),
                // An end waits for the file alone, which waits for nobody.
                Command::Stop { .. } => {}
            }
        }
        is_something
    }

    fn begin(
        &mut self,
        key: u64,
        names: Names,
        pipes: [Option<OwnedFd>; 2],
        sink: Option<Arc<dyn EndSink>>,
        at: Instant,
    ) {
        self.runs.insert(key, Run::new(names, pipes, sink));
        self.fresh.push_back((at, key));
    }

    /// Watches the pipes of runs that are not over soon, or of all.
    fn watch_those_that_last(&mut self) {
        while let Some((_, key)) = self.fresh.pop_front_if(|(at, _)| self.is_eager || at.elapsed() >= GRACE) {
            let Some(run) = self.runs.get_mut(&key) else { continue };
            for channel in Channel::ALL {
                let Some(pipe) = &run.pipes[channel.index()] else { continue };
                if let Err(error) = self.queue.watch.add(pipe, key, channel) {
                    run.fail(&format!("cannot watch the output of the task: epoll: {error}").into());
                    self.office.kill(run.names.id);
                }
            }
        }
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
        for start in (0..n).step_by(DATA_MAX) {
            let piece = start..n.min(start + DATA_MAX);
            self.tell(key, channel, piece.clone());
            let Some(run) = self.runs.get_mut(&key) else { return };
            run.put(&mut self.file, channel, &self.buffer[piece]);
        }
        self.widen(key, channel);
        self.waits_since.get_or_insert_with(Instant::now);
        if self.file.waiting() >= FLUSH_AT {
            self.flush();
        }
    }

    /// Tells those who listen, if they have room: they never hold up a file, and read there what they missed.
    fn tell(&mut self, key: u64, channel: Channel, piece: Range<usize>) {
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
        run.told[channel.index()] = offset + piece.len() as u64;
        if let Some(sink) = &run.sink {
            let data = self.buffer[piece].into();
            sink.printed(job, RunOutput { run: run.names.id, session, channel, offset, data });
        }
    }

    /// Gives a program that prints much a pipe for more, so that it and this thread wait less for each other.
    fn widen(&mut self, key: u64, channel: Channel) {
        let Some(run) = self.runs.get_mut(&key) else { return };
        let at = channel.index();
        if let Some(pipe) = run.pipes[at].as_ref().filter(|_| run.sizes[at] > WIDEN_AT && !run.wide[at])
            && self.wide < WIDE_MAX
        {
            pipe::widen(pipe, WIDE);
            run.wide[at] = true;
            self.wide += 1;
        }
    }

    /// A run is over: takes what is in its pipes now. What a process that it left behind prints later goes nowhere.
    fn end(&mut self, key: u64, how: HowOver, tell: Option<(Done, Outcome)>) {
        for channel in Channel::ALL {
            let mut left =
                self.runs.get(&key).and_then(|run| run.pipes[channel.index()].as_ref()).map_or(0, pipe::waiting);
            self.is_eager |= left >= CROWDED;
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
            return self.queue.leave(tell);
        };
        run.pipes = [None, None];
        self.wide -= run.wide.iter().filter(|is_wide| **is_wide).count();
        self.is_eager &= run.sizes.iter().any(|size| *size >= CROWDED);
        if how != HowOver::CutOff && run.error.is_none() {
            run.put_end(&mut self.file);
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
        self.over.drain(..).for_each(|over| self.queue.leave(over.end()));
    }
}
