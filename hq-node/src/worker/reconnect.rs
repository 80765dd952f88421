//! What a worker does that lost its server and may come back.

use hq_core::{FromWorker, OnServerLost, Resume, Resumed, Span, Tick, Welcome};

use super::{
    StopHow, WorkerNode, WorkerOutput,
    machine::{Link, Session},
    way::Way,
};

impl WorkerNode {
    /// The server is there and this worker belongs to it; what it says may be as old as the wait for it.
    pub(super) fn begin_session(&mut self, since: Tick, welcome: Welcome) {
        let half = Span(self.heartbeat.0 / 2);
        let fresh_from = if self.now.since(since) > half { self.now.after(half) } else { self.now };
        match (&mut self.way, self.config.on_server_lost) {
            (Some(way), _) => way.arrived(welcome.clone()),
            (way, OnServerLost::Reconnect { timeout }) => *way = Some(Way::new(timeout, welcome.clone())),
            _ => {}
        }
        self.link = Link::Up(Session { welcome, heard: self.now, said: self.now, fresh_from });
    }

    /// The link is gone, or could not be made; false where this worker does not come back.
    pub(super) fn go_away(&mut self) -> bool {
        let Some(way) = &mut self.way else { return false };
        let retry = way.again(self.now);
        self.link = Link::Away { retry: Some(retry) };
        // What was said into a dead link is said again over the next one, as far as it still matters.
        self.outputs.retain(|output| !matches!(output, WorkerOutput::Send(_)));
        self.forget_listeners();
        true
    }

    /// What time brings to a worker without a server, or with one that says nothing.
    pub(super) fn mind_link(&mut self) {
        if self.way.as_ref().and_then(Way::ends).is_some_and(|ends| ends <= self.now) {
            return self.give_up();
        }
        if let Link::Away { retry } = &mut self.link
            && retry.is_some_and(|at| at <= self.now)
        {
            *retry = None;
            self.outputs.push_back(WorkerOutput::Connect);
        }
        if self.silent_at().is_some_and(|at| at <= self.now) && self.go_away() {
            self.outputs.push_back(WorkerOutput::Disconnect);
        }
    }

    /// When [`mind_link`](Self::mind_link) has something to do.
    pub(super) fn link_alarm(&self) -> Option<Tick> {
        let retry = match &self.link {
            Link::Away { retry } => *retry,
            _ => None,
        };
        [retry, self.silent_at(), self.way.as_ref().and_then(Way::ends)].into_iter().flatten().min()
    }

    /// When a link counts as dead on which the server says nothing. It speaks twice per heartbeat.
    fn silent_at(&self) -> Option<Tick> {
        self.way.as_ref()?;
        let heartbeat = self.heartbeat.0;
        match &self.link {
            Link::Up(session) => {
                Some(session.heard.max(session.fresh_from).after(Span(heartbeat.saturating_add(heartbeat / 2))))
            }
            Link::Greeted(since) | Link::Resuming(since) => Some(since.after(Span(heartbeat.saturating_mul(2)))),
            _ => None,
        }
    }

    /// A new link is there: says who this worker was and what it has, or hello where it is nobody.
    pub(super) fn say_who(&mut self) {
        let Some(was) = self.way.as_ref().and_then(|way| way.was.clone()) else { return self.say_hello() };
        self.link = Link::Resuming(self.now);
        let resume = Resume {
            worker: was.worker,
            epoch: was.epoch,
            token: was.token,
            acked: self.reports.acked(),
            reports: self.reports.again(self.now),
            grants: self.lanes.inventory(self.now),
        };
        self.say(FromWorker::Resume(Box::new(resume)));
    }

    /// Says hello as a new worker, with the time that it has left.
    pub(super) fn say_hello(&mut self) {
        let mut config = self.config.clone();
        if self.way.is_some() {
            config.time_limit = self.ends.map(|ends| ends.since(self.now));
        }
        self.link = Link::Greeted(self.now);
        self.say(FromWorker::Hello(Box::new(config)));
    }

    /// It is the worker that it was: goes on with what it may keep.
    pub(super) fn resumed(&mut self, since: Tick, resumed: Resumed) {
        self.begin_session(since, resumed.welcome);
        self.bodies.clear();
        let killed = self.lanes.keep(&resumed.kept);
        self.condemn(killed);
    }

    /// Nobody knows this worker: what it has is nobody's, and it begins anew.
    pub(super) fn forgotten(&mut self) {
        if let Some(way) = &mut self.way {
            way.was = None;
        }
        let killed = self.lanes.condemn_all();
        self.condemn(killed);
        self.bodies.clear();
        self.reports.restart();
        self.say_hello();
    }

    fn condemn(&mut self, runs: Vec<hq_core::RunId>) {
        self.outputs.extend(runs.into_iter().map(|run| WorkerOutput::Stop { run, how: StopHow::Leave }));
    }

    /// The server tells anew who listens.
    pub(super) fn forget_listeners(&mut self) {
        let jobs = std::mem::take(&mut self.listened).into_iter();
        self.outputs.extend(jobs.map(|(job, (session, _))| WorkerOutput::Listen { job, session, credit: None }));
    }
}
