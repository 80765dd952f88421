use std::{collections::HashMap, os::fd::OwnedFd, sync::Arc};

use hq_core::{Channel, OUTPUT_MAX, Outcome, RunId, RunOutput};

use super::{
    Names,
    ears::Room,
    pipe::{self, Got},
    queue::{Command, HowOver, Queue},
    streams::Office,
    watch::Ready,
};
use crate::{Done, EndSink};

/// Reads the pipes of runs whose output goes to those who listen, and nowhere else.
///
/// A pipe is read when there is room for what is in it: who does not listen fast enough makes the program wait. Where
/// nobody listens, it is read and dropped.
pub(super) struct LivePump {
    queue: Arc<Queue>,
    office: Arc<Office>,
    runs: HashMap<u64, Run>,
    /// Pipes that wait for room.
    parked: Vec<(u64, Channel)>,
    buffer: Vec<u8>,
}

struct Run {
    names: Names,
    sink: Option<Arc<dyn EndSink>>,
    pipes: [Option<OwnedFd>; 2],
    sizes: [u64; 2],
    /// Once it is over: bytes in its pipes that are still to be sent.
    left: [u64; 2],
    is_over: bool,
    /// It was told to end.
    is_stopped: bool,
    tell: Option<(Done, Outcome)>,
}

impl LivePump {
    pub(super) fn new(queue: Arc<Queue>, office: Arc<Office>) -> Self {
        Self { queue, office, runs: HashMap::new(), parked: vec![], buffer: vec![0; OUTPUT_MAX] }
    }

    /// The thread's life, until the queue is closed and all runs are over.
    pub(super) fn run(mut self) {
        let mut events = Vec::with_capacity(64);
        while !(self.runs.is_empty() && self.queue.is_closing() && self.queue.is_unused()) {
            if let Err(error) = self.queue.watch.wait(&mut events, None) {
                tracing::error!("a thread that reads outputs of tasks ends: epoll: {error}");
                return;
            }
            if self.queue.heed(&events) {
                self.obey();
            }
            for event in &events {
                if let Ready::Pipe(key, channel) = Ready::of(event) {
                    self.read(key, channel);
                }
            }
        }
    }

    /// Does what is in the queue, and looks again for those who wait for room.
    fn obey(&mut self) {
        for command in self.queue.take() {
            match command {
                Command::Begin { key, run, pipes, sink, at: _ } => {
                    let begun = Run {
                        names: run,
                        sink,
                        pipes,
                        sizes: [0; 2],
                        left: [0; 2],
                        is_over: false,
                        is_stopped: false,
                        tell: None,
                    };
                    self.runs.insert(key, begun);
                    self.parked.extend(Channel::ALL.map(|channel| (key, channel)));
                }
                Command::End { key, how, tell } => self.end(key, how, tell),
                Command::Stop { run } => self.stop(run),
            }
        }
        for (key, channel) in std::mem::take(&mut self.parked) {
            let pipe = self.runs.get(&key).and_then(|run| run.pipes[channel.index()].as_ref());
            let Some(pipe) = pipe else { continue };
            if let Err(error) = self.queue.watch.add(pipe, key, channel) {
                tracing::error!("the output of a task cannot be watched and is dropped: epoll: {error}");
                self.close(key, channel);
            }
        }
    }

    fn end(&mut self, key: u64, how: HowOver, tell: Option<(Done, Outcome)>) {
        // One that never began has nothing to say but its end.
        let Some(run) = self.runs.get_mut(&key) else {
            return self.queue.leave(tell);
        };
        (run.tell, run.is_over) = (tell, true);
        for channel in Channel::ALL {
            let pipe = &mut run.pipes[channel.index()];
            run.left[channel.index()] = pipe.as_ref().map_or(0, pipe::waiting);
            if run.left[channel.index()] == 0 {
                *pipe = None;
            }
        }
        if how != HowOver::Ended || run.is_stopped {
            self.cut_short(key);
        }
        self.settle(key);
    }

    /// The process of a run that is told to end may have ended before, unknown to who says so; only here it is known
    /// then.
    fn stop(&mut self, id: RunId) {
        let Some((key, run)) = self.runs.iter_mut().find(|(_, run)| run.names.id == id) else { return };
        run.is_stopped = true;
        let (key, is_over) = (*key, run.is_over);
        if is_over {
            self.cut_short(key);
            self.settle(key);
        }
    }

    /// Nobody waits for one that was told to end: what there is room for goes out.
    fn cut_short(&mut self, key: u64) {
        for channel in Channel::ALL {
            while self.carry(key, channel) == Step::Carried {}
            self.close(key, channel);
        }
    }

    fn read(&mut self, key: u64, channel: Channel) {
        if self.carry(key, channel) == Step::Full
            && let Some(pipe) = self.runs.get(&key).and_then(|run| run.pipes[channel.index()].as_ref())
        {
            self.queue.watch.remove(pipe);
            self.parked.push((key, channel));
        }
        self.settle(key);
    }

    /// Reads once and sends what there was, if there is room.
    fn carry(&mut self, key: u64, channel: Channel) -> Step {
        let Some(run) = self.runs.get_mut(&key) else { return Step::Nothing };
        let Some(pipe) = &run.pipes[channel.index()] else { return Step::Nothing };
        let (job, index) = (run.names.run.job, channel.index());
        let room = self.office.ears.take(job);
        if room == Room::Full {
            return Step::Full;
        }
        let limit = if run.is_over { usize::try_from(run.left[index]).unwrap_or(usize::MAX) } else { usize::MAX };
        let limit = limit.min(self.buffer.len());
        match pipe::read(pipe, &mut self.buffer[..limit]) {
            Got::Bytes(n) => {
                let offset = run.sizes[index];
                run.sizes[index] += n as u64;
                run.left[index] = run.left[index].saturating_sub(n as u64);
                if let (Some(sink), Room::Free(session)) = (run.sink.as_ref(), room) {
                    let data = self.buffer[..n].into();
                    sink.printed(job, RunOutput { run: run.names.id, session, channel, offset, data });
                }
                if run.is_over && run.left[index] == 0 {
                    run.pipes[index] = None;
                }
                Step::Carried
            }
            got => {
                if let Room::Free(session) = room {
                    self.office.ears.give_back(job, session);
                }
                if got == Got::End || run.is_over {
                    run.pipes[index] = None;
                }
                Step::Nothing
            }
        }
    }

    /// Closing a pipe takes it out of the epoll: nobody else has our end.
    fn close(&mut self, key: u64, channel: Channel) {
        if let Some(run) = self.runs.get_mut(&key) {
            run.pipes[channel.index()] = None;
        }
    }

    /// Tells the end of a run that is over and has nothing left to be sent.
    fn settle(&mut self, key: u64) {
        if !self.runs.get(&key).is_some_and(|run| run.is_over && run.pipes.iter().all(Option::is_none)) {
            return;
        }
        let run = self.runs.remove(&key);
        self.queue.leave(run.and_then(|run| run.tell));
    }
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// There was something, and it is dealt with.
    Carried,
    /// Nobody has room.
    Full,
    /// There was nothing.
    Nothing,
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use hq_core::{Epoch, GrantId, Instance, JobId, Ordinal, RunId, TaskNumber, TaskRun};

    use super::*;
    use crate::stream::Feed;

    #[test]
    fn a_run_that_never_began_uses_nothing_once_it_is_over() {
        let queue = Arc::new(Queue::new().unwrap());
        let pump = LivePump::new(queue.clone(), Arc::default());
        let run = TaskRun { job: JobId(1), task: TaskNumber(0), instance: Instance(0) };
        let id = RunId { task: Ordinal(0), grant: GrantId { epoch: Epoch(1), n: 1 } };
        let feed = || Feed::new(queue.join(), Names { id, run }, None, queue.clone());
        drop(feed()); // Its pipes could not be made.
        let (sender, ends) = mpsc::channel();
        let sink = move |run, outcome| sender.send((run, outcome)).unwrap();
        feed().end(HowOver::CutOff, Done::new(id, Arc::new(sink)), Outcome::Killed);
        queue.close();
        let thread = thread::spawn(move || pump.run());
        assert_eq!(ends.recv().unwrap(), (id, Outcome::Killed));
        thread.join().unwrap();
        assert!(queue.is_unused());
    }
}
