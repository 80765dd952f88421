use std::collections::{BTreeMap, BTreeSet};

use hq_core::{FailCause, FromWorker, LinkId, Outcome, Rng, RunId, Span, Tick, ToWorker, WorkerConfig, WorkerId};
use hq_node::{StartOrder, StopHow, WorkerInput, WorkerNode, WorkerOutput};

use super::{
    network::Peer,
    world::{Down, Event, Up, World},
};
use crate::{
    Planted,
    body::RunSpec,
    invariants::{Freshness, What},
};

/// A worker's process, and the runs on its node.
#[derive(Debug)]
pub(super) struct WorkerHost {
    node: WorkerNode,
    pub(super) link: Option<LinkId>,
    /// Its clock began that much earlier than the simulation's.
    ahead: Span,
    is_alive: bool,
    frozen_until: Option<Tick>,
    /// Who the server took it for last.
    id: WorkerId,
    /// Per run the number of its planned end, and who began it.
    runs: BTreeMap<RunId, (u64, WorkerId)>,
    tokens: u64,
    rng: Rng,
}

impl WorkerHost {
    pub(super) const fn is_alive(&self) -> bool {
        self.is_alive
    }

    pub(super) fn next_timeout(&self) -> Option<Tick> {
        if !self.is_alive || self.frozen_until.is_some() {
            return None;
        }
        self.node.poll_timeout().map(|at| at.before(self.ahead))
    }
}

/// A failure of any cause. It draws from numbers of its own: other seeds stay what they are.
fn failure(mut rng: Rng) -> Outcome {
    let cause = match rng.below(12) {
        0..=4 => FailCause::Exit(rng.range(1, 4) as i32),
        5 => FailCause::Signal(9),
        6 => FailCause::OutOfMemory,
        7 => FailCause::NoStart,
        8 => FailCause::Crash, // which a worker cannot know
        _ => FailCause::Other,
    };
    Outcome::failed_of(cause, "it was to fail")
}

impl World {
    pub(super) fn arrive(&mut self, config: WorkerConfig) {
        let now = self.now;
        if self.server.node.is_none() {
            return self.plan(now.after(Span::millis(100)), Event::Arrive(Box::new(config)));
        }
        let worker = self.workers.len();
        let link = self.net.open(Peer::Worker(worker), self.server.life);
        let ahead = Span(self.rng.below(1 << 40));
        let host = WorkerHost {
            node: WorkerNode::new(config, now.after(ahead)),
            link: Some(link),
            ahead,
            is_alive: true,
            frozen_until: None,
            id: WorkerId(0),
            runs: BTreeMap::new(),
            tokens: 0,
            rng: self.rng.fork(),
        };
        self.workers.push(host);
        if let Some(at) = self.net.up(now, link) {
            self.plan(at, Event::ToServer(link, Up::Opened));
        }
        if let Some(at) = self.net.down(now, link) {
            self.plan(at, Event::ToWorker(link, Down::Opened));
        }
    }

    /// It looks for the server once.
    fn connect_again(&mut self, worker: usize) {
        let (now, life) = (self.now, self.server.life);
        let link = self.net.open(Peer::Worker(worker), life);
        self.workers[worker].link = Some(link);
        // An attempt may also find nobody, or get lost.
        let is_there = self.server.node.is_some() && (self.is_healed || self.rng.chance(80));
        if !is_there {
            let after = Span(self.rng.range(100, 500_000));
            return self.plan(now.after(after), Event::ToWorker(link, Down::Closed));
        }
        if let Some(at) = self.net.up(now, link) {
            self.plan(at, Event::ToServer(link, Up::Opened));
        }
        if let Some(at) = self.net.down(now, link) {
            self.plan(at, Event::ToWorker(link, Down::Opened));
        }
    }

    /// It ends its link.
    fn hang_up(&mut self, worker: usize) {
        let Some(link) = self.workers[worker].link.take() else { return };
        if let Some(known) = self.net.links.get_mut(&link) {
            known.peer_open = false;
        }
        if let Some(at) = self.net.up(self.now, link) {
            self.plan(at, Event::ToServer(link, Up::Closed));
        }
    }

    /// Who the server takes it for.
    fn worker_id(&self, worker: usize) -> WorkerId {
        let link = self.workers[worker].link.and_then(|link| self.net.links.get(&link));
        link.and_then(|link| link.worker).unwrap_or(self.workers[worker].id)
    }

    pub(super) fn worker_timeout(&mut self, worker: usize) {
        let host = &mut self.workers[worker];
        host.node.handle_timeout(self.now.after(host.ahead));
        self.drain_worker(worker);
    }

    fn worker_input(&mut self, worker: usize, input: WorkerInput) {
        let host = &mut self.workers[worker];
        if host.is_alive {
            host.node.handle_input(self.now.after(host.ahead), input);
            self.drain_worker(worker);
        }
    }

    pub(super) fn worker_hears(&mut self, link: LinkId, down: Down<ToWorker>) {
        let Some(known) = self.net.links.get_mut(&link) else { return };
        let Peer::Worker(worker) = known.peer else { return };
        if let Some(until) = self.workers[worker].frozen_until {
            return self.plan(until, Event::ToWorker(link, down));
        }
        if !known.peer_open || known.is_cut && !matches!(down, Down::Closed) {
            return;
        }
        match down {
            Down::Opened => self.worker_input(worker, WorkerInput::LinkUp),
            Down::Said(messages) => self.worker_input(worker, WorkerInput::Messages(messages)),
            Down::Closed => {
                known.peer_open = false;
                self.worker_input(worker, WorkerInput::LinkDown);
            }
        }
    }

    pub(super) fn run_ends(&mut self, worker: usize, run: RunId, token: u64, how: Outcome) {
        let host = &mut self.workers[worker];
        if let Some(until) = host.frozen_until {
            return self.plan(until, Event::RunEnds { worker, run, token, how });
        }
        let Some((_, id)) = host.runs.get(&run).copied().filter(|(planned, _)| *planned == token) else { return };
        host.runs.remove(&run);
        self.watch.see(self.server.tick(self.now), What::Ended(id, run));
        self.worker_input(worker, WorkerInput::Ended { run, outcome: how });
    }

    fn drain_worker(&mut self, worker: usize) {
        let at = self.server.tick(self.now);
        let id = self.worker_id(worker);
        self.workers[worker].id = id;
        while let Some(output) = self.workers[worker].node.poll_output() {
            self.watch.trace.push(format_args!("{} worker {id} {output:?}", self.now.0));
            match output {
                WorkerOutput::Send(messages) => self.send_up(worker, messages),
                WorkerOutput::Start(order) => {
                    self.watch.see(at, What::Started(id, &order));
                    if self.sim.planted == Some(Planted::DoubleStart) {
                        self.watch.see(at, What::Started(id, &order));
                    }
                    self.start_run(worker, &order);
                }
                WorkerOutput::Stop { run, how } => self.stop_run(worker, run, how),
                // Simulated programs print nothing.
                WorkerOutput::Listen { .. } => {}
                WorkerOutput::Connect => self.connect_again(worker),
                WorkerOutput::Disconnect => self.hang_up(worker),
                WorkerOutput::Exit(_) => {
                    self.worker_is_gone(worker);
                }
            }
        }
    }

    fn start_run(&mut self, worker: usize, order: &StartOrder) {
        let host = &mut self.workers[worker];
        let spec = RunSpec::read(&order.part).or_else(|| RunSpec::read(&order.body.shared));
        let spec = spec.unwrap_or(RunSpec { takes: Span(host.rng.range(0, 500_000)), fails_percent: 5 });
        let how =
            if host.rng.chance(spec.fails_percent.into()) { failure(host.rng.clone()) } else { Outcome::Finished };
        host.tokens += 1;
        let token = host.tokens;
        host.runs.insert(order.run, (token, order.worker));
        if spec.takes == Span::ZERO && host.rng.chance(50) {
            // A runner may call back before it returns.
            self.run_ends(worker, order.run, token, how);
        } else {
            self.plan(self.now.after(spec.takes), Event::RunEnds { worker, run: order.run, token, how });
        }
    }

    fn stop_run(&mut self, worker: usize, run: RunId, how: StopHow) {
        if self.sim.planted == Some(Planted::DeafToStop) {
            self.workers[worker].runs.remove(&run);
            return;
        }
        let host = &mut self.workers[worker];
        let obeys = how != StopHow::Interrupt || host.rng.chance(60);
        let Some((_, id)) = host.runs.get(&run).copied().filter(|_| obeys) else { return };
        host.tokens += 1;
        let token = host.tokens;
        host.runs.insert(run, (token, id));
        let after = Span(host.rng.range(0, 50_000));
        let how = Outcome::Failed("it was stopped by a signal".to_owned());
        self.plan(self.now.after(after), Event::RunEnds { worker, run, token, how });
    }

    fn send_up(&mut self, worker: usize, mut messages: Vec<FromWorker>) {
        if let Some(planted) = self.sim.planted {
            messages.retain(|message| planted.up(message));
        }
        let Some(link) = self.workers[worker].link else { return };
        let Some(at) = self.net.up(self.now, link) else { return };
        for message in &messages {
            let counts_once = matches!(
                message,
                FromWorker::Report(_)
                    | FromWorker::Recalled { .. }
                    | FromWorker::Leaving { .. }
                    | FromWorker::Resume(_)
            );
            if counts_once && self.rng.chance(self.doubled_percent()) {
                let later = if self.rng.chance(50) { at } else { at.after(Span(self.rng.range(1, 20_000_000))) };
                // Planned first, so it is put off by an instant to come second.
                let again = Up::Worker(vec![message.clone()], Freshness::Doubled);
                self.plan(later.after(Span(1)), Event::ToServer(link, again));
            }
        }
        self.plan(at, Event::ToServer(link, Up::Worker(messages, Freshness::New)));
    }

    pub(super) fn crash(&mut self, worker: usize) {
        let id = self.worker_id(worker);
        self.watch.trace.push(format_args!("{} worker {id} crashes", self.now.0));
        self.worker_is_gone(worker);
    }

    fn worker_is_gone(&mut self, worker: usize) {
        let (at, id) = (self.server.tick(self.now), self.worker_id(worker));
        let host = &mut self.workers[worker];
        host.is_alive = false;
        let mut ids: BTreeSet<WorkerId> = std::mem::take(&mut host.runs).into_values().map(|(_, id)| id).collect();
        ids.insert(id);
        for id in ids {
            self.watch.see(at, What::Gone(id));
        }
        let host = &mut self.workers[worker];
        let Some(link) = host.link else { return };
        if let Some(known) = self.net.links.get_mut(&link) {
            known.peer_open = false;
        }
        if let Some(at) = self.net.up(self.now, link) {
            self.plan(at, Event::ToServer(link, Up::Closed));
        }
    }

    pub(super) fn freeze(&mut self, worker: usize, until: Tick) {
        let id = self.worker_id(worker);
        let host = &mut self.workers[worker];
        if host.frozen_until.is_none() {
            self.watch.trace.push(format_args!("{} worker {id} stands still until {}", self.now.0, until.0));
            host.frozen_until = Some(until);
            self.plan(until, Event::Thaw(worker));
        }
    }

    pub(super) fn thaw(&mut self, worker: usize) {
        self.workers[worker].frozen_until = None;
    }
}
