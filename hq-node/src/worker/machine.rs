use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use hq_core::{
    FromWorker, JobId, LossReason, OnServerLost, Outcome, RunId, RunOutput, Span, Tick, ToWorker, Welcome, WorkerConfig,
};

use super::{
    Exit, StartOrder, StopHow, WorkerInput, WorkerOutput,
    lanes::{Begun, Bodies, Lanes},
    reports::Reports,
    way::Way,
};

/// At that many ends without acknowledgement nothing is started.
const UNACKED_MAX: u64 = 65_536;

/// The shortest heartbeat that is obeyed, so that a worker never does nothing but beat.
const HEARTBEAT_MIN: Span = Span::millis(1);

/// The worker machine.
///
/// A lane runs one task at a time, in order. [`poll_output`](Self::poll_output) gives what answers the server first,
/// then all starts that are possible, then one report of everything that is new: a shell whose runs end while they are
/// being started hands those ends in before it polls again, and gets up to 4,096 of them into one report.
///
/// A start is possible while the lane does not hold (its latest run ended well or the server said to go on; it is not
/// past `not_after`), the server has said something new within the last heartbeat, and fewer than 65,536 ends are without
/// acknowledgement, those to come of runs included.
#[derive(Debug)]
pub struct WorkerNode {
    pub(super) config: WorkerConfig,
    pub(super) heartbeat: Span,
    pub(super) now: Tick,
    /// Its own time limit.
    pub(super) ends: Option<Tick>,
    pub(super) link: Link,
    /// Of a worker that may come back, once it was welcome.
    pub(super) way: Option<Way>,
    pub(super) bodies: Bodies,
    pub(super) lanes: Lanes,
    pub(super) reports: Reports,
    /// Jobs that somebody listens to: the session, and how many pieces of what they print may still be sent.
    pub(super) listened: BTreeMap<JobId, (u64, u32)>,
    pub(super) outputs: VecDeque<WorkerOutput>,
}

#[derive(Debug)]
pub(super) enum Link {
    /// Not there yet.
    Awaited,
    /// There since that moment; the server has not said yet whether it wants this worker.
    Greeted(Tick),
    /// There, and this worker belongs to the server.
    Up(Session),
    /// Gone; the worker comes back. What runs goes on, and nothing is started or said.
    Away {
        /// When the next attempt is due; none while one is under way.
        retry: Option<Tick>,
    },
    /// There again since that moment; the server has not said yet whether it knows this worker.
    Resuming(Tick),
    /// Gone; what runs is waited for, and nothing is started or said.
    Lost,
    /// The worker has left.
    Left,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) welcome: Welcome,
    /// When the server last said something.
    pub(super) heard: Tick,
    /// When the worker last said something.
    pub(super) said: Tick,
    /// What the server says before this moment may be older than it looks: see [`WorkerNode::advance`].
    pub(super) fresh_from: Tick,
}

impl WorkerNode {
    /// A worker that has just started; its time limit counts from `now`.
    pub fn new(config: WorkerConfig, now: Tick) -> Self {
        Self {
            heartbeat: config.heartbeat.max(HEARTBEAT_MIN),
            ends: config.time_limit.map(|limit| now.after(limit)),
            now,
            link: Link::Awaited,
            way: None,
            bodies: Bodies::new(),
            lanes: Lanes::default(),
            reports: Reports::new(config.on_server_lost.reconnects()),
            config,
            listened: BTreeMap::new(),
            outputs: VecDeque::new(),
        }
    }

    /// Takes news. Stale and impossible ones change nothing.
    pub fn handle_input(&mut self, now: Tick, input: WorkerInput) {
        self.advance(now);
        if matches!(self.link, Link::Left) {
            return;
        }
        match input {
            WorkerInput::LinkUp => self.link_up(),
            WorkerInput::Messages(messages) => self.messages(messages),
            WorkerInput::LinkDown => self.server_lost(),
            WorkerInput::Ended { run, outcome } => self.ended(run, outcome),
            WorkerInput::Notify { run, message } => self.notify(run, message),
            WorkerInput::Overview(state) => {
                if matches!(self.link, Link::Up(_)) {
                    self.say(FromWorker::Overview(state));
                }
            }
            WorkerInput::Printed { job, output } => self.printed(job, output),
            WorkerInput::Interrupted => self.leave(Exit::Interrupted),
        }
    }

    /// Takes the passing of time; call it at [`poll_timeout`](Self::poll_timeout), earlier or later does no harm.
    pub fn handle_timeout(&mut self, now: Tick) {
        self.advance(now);
        if matches!(self.link, Link::Left) {
            return;
        }
        if self.ends.is_some_and(|ends| ends <= self.now) {
            return self.leave(Exit::TimeLimit);
        }
        while let Some((run, how)) = self.lanes.fire(self.now) {
            self.outputs.push_back(WorkerOutput::Stop { run, how });
        }
        if self.next_beat().is_some_and(|beat| beat <= self.now) {
            self.say(FromWorker::Heartbeat);
        }
        self.mind_link();
    }

    /// The next thing to do; drain it after each input and each timeout.
    pub fn poll_output(&mut self) -> Option<WorkerOutput> {
        if self.outputs.is_empty() {
            if let Some(order) = self.start_next() {
                return Some(WorkerOutput::Start(order));
            }
            self.report();
        }
        self.outputs.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called next.
    pub fn poll_timeout(&self) -> Option<Tick> {
        if matches!(self.link, Link::Left) {
            return None;
        }
        [self.ends, self.lanes.next_alarm(), self.next_beat(), self.link_alarm()].into_iter().flatten().min()
    }

    /// Moves on to `now`. Who wakes up long after its own sign of life was due (a stopped process, a frozen machine) may
    /// have been given up meanwhile, and what it finds waiting on its link was said before that: it holds until it
    /// hears something new.
    fn advance(&mut self, now: Tick) {
        let half = Span(self.heartbeat.0 / 2);
        let overslept = self.next_beat().is_some_and(|beat| now.since(beat) > half);
        self.now = self.now.max(now);
        if let Link::Up(session) = &mut self.link
            && overslept
        {
            session.fresh_from = self.now.after(half);
        }
    }

    fn link_up(&mut self) {
        match self.link {
            Link::Awaited => self.say_hello(),
            Link::Away { .. } => self.say_who(),
            _ => {}
        }
    }

    fn messages(&mut self, messages: Vec<ToWorker>) {
        if let Link::Up(session) = &mut self.link
            && !messages.is_empty()
            && session.fresh_from <= self.now
        {
            session.heard = self.now;
        }
        for message in messages {
            match &self.link {
                Link::Greeted(since) | Link::Resuming(since) => {
                    let since = *since;
                    self.first_message(since, message);
                }
                Link::Up(_) => self.message(message),
                Link::Awaited | Link::Away { .. } | Link::Lost | Link::Left => return,
            }
        }
    }

    fn first_message(&mut self, greeted: Tick, message: ToWorker) {
        match message {
            // Who waited that long may have slept, and the welcome may be as old: see `advance`.
            ToWorker::Welcome(welcome) if matches!(self.link, Link::Greeted(_)) => self.begin_session(greeted, welcome),
            ToWorker::Resumed(resumed) if matches!(self.link, Link::Resuming(_)) => self.resumed(greeted, *resumed),
            ToWorker::Forgotten if matches!(self.link, Link::Resuming(_)) => self.forgotten(),
            ToWorker::Refused { reason } => self.leave(Exit::Refused(reason)),
            ToWorker::Stop { reason } => self.stopped(reason),
            _ => {}
        }
    }

    fn message(&mut self, message: ToWorker) {
        let Link::Up(session) = &self.link else { return };
        match message {
            ToWorker::Welcome(_) | ToWorker::Resumed(_) | ToWorker::Forgotten | ToWorker::Heartbeat => {}
            ToWorker::Refused { reason } => self.leave(Exit::Refused(reason)),
            ToWorker::Submit(body) => {
                self.bodies.insert(body.submit, Arc::new(body));
            }
            // Lanes that still need it hold it themselves.
            ToWorker::DropSubmit(submit) => {
                self.bodies.remove(&submit);
            }
            ToWorker::Open(open) => {
                if open.grant.epoch == session.welcome.epoch {
                    self.lanes.open(self.now, *open, &session.welcome.server_uid, &self.bodies);
                }
            }
            ToWorker::OpenLanes(lanes) => {
                for open in lanes.singly().filter(|open| open.grant.epoch == session.welcome.epoch) {
                    self.lanes.open(self.now, open, &session.welcome.server_uid, &self.bodies);
                }
            }
            ToWorker::Extend { grant, work } => self.lanes.extend(grant, work, &self.bodies),
            ToWorker::Recall { grant, n, tasks } => {
                if let Some(tasks) = self.lanes.recall(grant, n, &tasks) {
                    // The server must have heard of what started before it learns what did not.
                    self.report();
                    self.say(FromWorker::Recalled { grant, n, tasks });
                }
            }
            ToWorker::Close { grant } => self.lanes.close(grant),
            ToWorker::Kill { grant, task } => self.kill(RunId { task, grant }),
            ToWorker::KillAll { runs } => runs.into_iter().for_each(|run| self.kill(run)),
            ToWorker::GoOn { grant } => self.lanes.go_on(grant),
            ToWorker::Ack { seq } => self.reports.ack(seq),
            ToWorker::Listen { job, session, credit } => {
                let (known, sum) = self.listened.entry(job).or_insert((session, 0));
                // The room of another session is gone with it.
                *sum = if *known == session { sum.saturating_add(credit) } else { credit };
                *known = session;
                self.outputs.push_back(WorkerOutput::Listen { job, session, credit: Some(credit) });
            }
            ToWorker::Unlisten { job, session } => {
                self.listened.remove(&job);
                self.outputs.push_back(WorkerOutput::Listen { job, session, credit: None });
            }
            ToWorker::Stop { reason } => self.stopped(reason),
        }
    }

    fn kill(&mut self, run: RunId) {
        if let Some(how) = self.lanes.kill(self.now, run) {
            self.outputs.push_back(WorkerOutput::Stop { run, how });
        }
    }

    fn stopped(&mut self, reason: LossReason) {
        match reason {
            LossReason::Stopped | LossReason::IdleTimeout => self.leave(Exit::Stopped),
            LossReason::TimeLimitReached => self.leave(Exit::TimeLimit),
            // On purpose: nobody comes back to it.
            LossReason::ServerEnded if self.config.on_server_lost.reconnects() => self.leave(Exit::ServerLost),
            LossReason::ServerEnded => self.server_lost(),
            LossReason::Interrupted => self.leave(Exit::Interrupted),
            // The server has given this worker up and runs its tasks elsewhere; it ends the link.
            LossReason::ConnectionLost | LossReason::HeartbeatLost if self.way.is_some() => {}
            LossReason::ConnectionLost | LossReason::HeartbeatLost => self.leave(Exit::ServerLost),
        }
    }

    fn ended(&mut self, run: RunId, seen: Outcome) {
        let Some((started, outcome)) = self.lanes.ended(run, seen) else { return };
        match self.link {
            Link::Up(_) | Link::Away { .. } | Link::Resuming(_) | Link::Greeted(_) => {
                self.reports.ended(run, started, self.now, outcome);
            }
            Link::Lost if self.lanes.running() == 0 => self.leave(Exit::ServerLost),
            _ => {}
        }
    }

    /// Words of a run that has ended are nobody's. The server hears of the start of the run first.
    fn notify(&mut self, run: RunId, message: String) {
        if matches!(self.link, Link::Up(_)) && self.lanes.is_running(run) {
            self.report();
            self.say(FromWorker::Notify { run, message });
        }
    }

    /// What a run prints that has ended, to a job that nobody has room for, or for the room of an earlier session, is
    /// nobody's.
    fn printed(&mut self, job: JobId, output: RunOutput) {
        let session = output.session;
        let room = self.listened.get_mut(&job).filter(|(known, credit)| *known == session && *credit > 0);
        let Some((_, credit)) = room else { return };
        if matches!(self.link, Link::Up(_)) && self.lanes.is_running(output.run) {
            *credit -= 1;
            self.report();
            self.say(FromWorker::Output(output));
        } else {
            // Its room is free again.
            self.outputs.push_back(WorkerOutput::Listen { job, session, credit: Some(1) });
        }
    }

    fn start_next(&mut self) -> Option<StartOrder> {
        let Link::Up(session) = &self.link else { return None };
        let worker = session.welcome.worker;
        if session.heard.after(self.heartbeat) <= self.now || self.now < session.fresh_from {
            return None;
        }
        while !self.reports.is_full() && self.reports.outstanding() + (self.lanes.running() as u64) < UNACKED_MAX {
            let Begun { run, task } = self.lanes.start_next(self.now)?;
            match task {
                Ok((task, lane)) => {
                    self.reports.started(self.now, run);
                    return Some(StartOrder {
                        run,
                        worker,
                        job: task.body.job,
                        number: task.number,
                        instance: task.instance,
                        body: task.body,
                        part: task.part,
                        lane,
                    });
                }
                Err(why) => self.reports.ended(run, self.now, self.now, Outcome::Failed(why.to_owned())),
            }
        }
        None
    }

    fn server_lost(&mut self) {
        if matches!(self.link, Link::Lost | Link::Away { retry: Some(_) }) || self.go_away() {
            return;
        }
        self.link = Link::Lost;
        // Nobody is there to hear what runs on: it must not wait for anybody.
        self.forget_listeners();
        if self.config.on_server_lost != OnServerLost::FinishRunning || self.lanes.running() == 0 {
            self.leave(Exit::ServerLost);
        }
    }

    /// The server was looked for long enough.
    pub(super) fn give_up(&mut self) {
        self.leave(Exit::ServerLost);
    }

    /// Says what is left to say where somebody listens, kills what runs, and ends.
    fn leave(&mut self, exit: Exit) {
        if matches!(self.link, Link::Up(_)) {
            self.report();
            let reason = match exit {
                Exit::TimeLimit => Some(LossReason::TimeLimitReached),
                // In a batch job the signal is the batch system's: what runs here is not to blame.
                Exit::Interrupted if self.config.allocation.is_some() => Some(LossReason::Interrupted),
                _ => None,
            };
            if let Some(reason) = reason {
                self.say(FromWorker::Leaving { reason });
            }
        }
        let runs = self.lanes.runs().map(|run| WorkerOutput::Stop { run, how: StopHow::Leave });
        self.outputs.extend(runs);
        self.outputs.push_back(WorkerOutput::Exit(exit));
        self.link = Link::Left;
        self.lanes = Lanes::default();
        self.bodies.clear();
    }

    fn report(&mut self) {
        if matches!(self.link, Link::Up(_))
            && let Some(report) = self.reports.make(self.now)
        {
            self.say(FromWorker::Report(report));
        }
    }

    /// Puts a message behind all other outputs, into the last batch where that is possible.
    pub(super) fn say(&mut self, message: FromWorker) {
        if let Link::Up(session) = &mut self.link {
            session.said = self.now;
        }
        match self.outputs.back_mut() {
            Some(WorkerOutput::Send(batch)) => batch.push(message),
            _ => self.outputs.push_back(WorkerOutput::Send(vec![message])),
        }
    }

    fn next_beat(&self) -> Option<Tick> {
        match &self.link {
            Link::Up(session) => Some(session.said.after(self.heartbeat)),
            _ => None,
        }
    }
}
