use std::collections::BTreeMap;

use hq_core::{
    Call, ClientRequest, FromWorker, JobSpec, JobTarget, LinkId, Profile, Reply, Request, Rng, RunId, Seq, Span,
    Submit, TaskIds, Tick, ToWorker, WorkerConfig, WorkerId,
};

use super::{
    Act, Faults, Simulation,
    client_host::ClientHost,
    network::{Network, Peer},
    server_host::ServerHost,
    watch::Watch,
    worker_host::WorkerHost,
};
use crate::{
    body::RunSpec,
    invariants::{Freshness, What},
    report::Report,
    trace::Trace,
};

/// Something that happens at a moment.
#[derive(Debug)]
pub(super) enum Event {
    /// Reaches the server.
    ToServer(LinkId, Up),
    /// Reaches a worker.
    ToWorker(LinkId, Down<ToWorker>),
    /// Reaches a client.
    ToClient(LinkId, Down<Reply>),
    /// The disk of that life has everything up to here.
    Durable { life: u64, seq: Seq },
    /// A run is over, unless it was to end at another time since.
    RunEnds { worker: usize, run: RunId, token: u64, how: hq_core::Outcome },
    /// A worker's process begins.
    Arrive(Box<WorkerConfig>),
    /// A client connects.
    Connect(usize),
    /// A client does something.
    Act(usize, Box<Act>),
    /// A dark link ends for both.
    Cut(LinkId),
    /// A stopped worker goes on.
    Thaw(usize),
    /// The server begins a life.
    Boot,
    /// Something goes wrong.
    Fault(Fault),
    /// Nothing goes wrong any more.
    Heal,
}

/// What a peer's end of a link brings to the server.
#[derive(Debug)]
pub(super) enum Up {
    Opened,
    Worker(Vec<FromWorker>, Freshness),
    Client(Vec<Call>),
    Closed,
}

/// What the server's end of a link brings to a peer.
#[derive(Debug)]
pub(super) enum Down<T> {
    Opened,
    Said(Vec<T>),
    Closed,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    Crash,
    Freeze,
    Partition,
    Break,
    Restart,
}

/// More events in one instant than that mean that the machines do not come to rest.
const INSTANT_MAX: u64 = 1_000_000;

/// Everything there is, and what is going to happen.
#[derive(Debug)]
pub(super) struct World {
    pub(super) sim: Simulation,
    pub(super) now: Tick,
    queue: BTreeMap<(Tick, u64), Event>,
    queued: u64,
    pub(super) rng: Rng,
    pub(super) net: Network,
    pub(super) server: ServerHost,
    pub(super) workers: Vec<WorkerHost>,
    pub(super) clients: Vec<ClientHost>,
    pub(super) watch: Watch,
    pub(super) is_healed: bool,
    /// Acts to come, and requests on their way.
    pub(super) acts_left: u64,
    events: u64,
    instant: u64,
}

impl World {
    pub(super) fn new(mut sim: Simulation) -> Self {
        let mut rng = Rng::new(sim.seed);
        let net = Network::new(sim.faults.delay, rng.fork());
        let watch = Watch::new(sim.faults.delay.1, sim.patience, Trace::new(sim.keep));
        let (acts, arrivals) = (std::mem::take(&mut sim.acts), sim.workers.clone());
        let mut world = Self {
            clients: (0..sim.clients).map(|_| ClientHost::new(rng.fork())).collect(),
            server: ServerHost::default(),
            workers: vec![],
            now: Tick(0),
            queue: BTreeMap::new(),
            queued: 0,
            rng,
            net,
            watch,
            is_healed: false,
            acts_left: acts.len() as u64,
            events: 0,
            instant: 0,
            sim,
        };
        world.plan(Tick(0), Event::Boot);
        for client in 0..world.clients.len() {
            world.plan(Tick(0), Event::Connect(client));
        }
        for (at, config) in arrivals {
            world.plan(Tick(0).after(at), Event::Arrive(Box::new(config)));
        }
        for (i, (at, act)) in acts.into_iter().enumerate() {
            world.plan(Tick(0).after(at), Event::Act(i % world.clients.len(), Box::new(act)));
        }
        if let Some((after, _)) = &world.sim.heal {
            world.plan(Tick(0).after(*after), Event::Heal);
        }
        for fault in [Fault::Crash, Fault::Freeze, Fault::Partition, Fault::Break, Fault::Restart] {
            world.plan_fault(fault);
        }
        world
    }

    pub(super) fn plan(&mut self, at: Tick, event: Event) {
        self.queued += 1;
        self.queue.insert((at, self.queued), event);
    }

    /// Runs to the end.
    pub(super) fn run(&mut self) -> Result<Report, String> {
        let mut deadline = Tick(0).after(self.sim.limit);
        let mut waits_for_heal = self.sim.heal.is_some();
        while !self.is_done() {
            if waits_for_heal && self.is_healed {
                waits_for_heal = false;
                deadline = self.now.after(self.sim.limit);
            }
            if !self.step(deadline)? {
                break;
            }
        }
        if self.sim.heal.is_some()
            && let Some(task) = self.watch.model.unfinished.first()
        {
            let known = self.watch.model.tasks.get(task);
            return Err(format!(
                "liveness: {} tasks have not ended, first {task}: {known:?}",
                self.watch.model.unfinished.len()
            ));
        }
        self.come_to_rest()?;
        let mut report = self.watch.meter.report(&self.watch.model);
        report.events = self.events;
        report.restarts = self.server.life.saturating_sub(1);
        report.ended = self.now;
        self.close()?;
        report.digest = self.watch.trace.digest();
        Ok(report)
    }

    fn is_done(&self) -> bool {
        self.acts_left == 0 && self.watch.model.unfinished.is_empty() && (self.sim.heal.is_none() || self.is_healed)
    }

    /// Lanes close, the dead leave.
    fn come_to_rest(&mut self) -> Result<(), String> {
        if !self.watch.model.unfinished.is_empty() {
            return Ok(());
        }
        let until = self.now.after(Span::secs(60));
        while !self.watch.model.grants.is_empty() && self.step(until)? {}
        if let Some(node) = &self.server.node {
            self.watch.see(self.server.tick(self.now), What::Over(node.scheduler()));
        }
        self.check()
    }

    /// What was left is probed; then the server is told to end.
    fn close(&mut self) -> Result<(), String> {
        if self.sim.heal.is_some() {
            self.probe()?;
        }
        self.interrupt_server();
        let until = self.now.after(Span::secs(20));
        while self.server.node.is_some() && self.step(until)? {}
        self.check()?;
        if self.server.node.is_some() {
            return Err("liveness: the server was told to end and did not".to_owned());
        }
        Ok(())
    }

    /// A gang of all workers of a group runs only where each of them is really free.
    fn probe(&mut self) -> Result<(), String> {
        let workers = &self.watch.model.workers;
        let members = workers.values().filter(|worker| worker.config.group == "default").count() as u32;
        let before: Vec<WorkerId> = workers.keys().copied().collect();
        if members == 0 {
            return Ok(());
        }
        let target = JobTarget::New(JobSpec::default());
        let profile = Profile::new(Request::gang(members));
        let body = RunSpec::takes(Span(1)).blob();
        let probe = Submit::array(target, TaskIds::Next(1), hq_core::PROGRAM_KIND, body, profile);
        self.acts_left += 1;
        self.plan(self.now, Event::Act(0, Box::new(Act::Ask(ClientRequest::Submit(Box::new(probe))))));
        let until = self.now.after(Span::secs(30));
        while !self.is_done() && self.step(until)? {}
        // One that leaves by its own limits takes the probe's ground away.
        if !self.is_done() && self.watch.model.workers.keys().copied().eq(before) {
            return Err(format!("liveness: {members} workers have nothing to do, and a gang of them does not run"));
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        self.watch.broken().map_or(Ok(()), |how| Err(how.to_owned()))
    }

    /// The next thing, timers first; says whether there was one before `until`.
    fn step(&mut self, until: Tick) -> Result<bool, String> {
        self.events += 1;
        let event = self.queue.first_key_value().map(|((at, _), _)| *at);
        let server = self.server.next_timeout();
        let worker = (0..self.workers.len()).filter_map(|i| Some((self.workers[i].next_timeout()?, i))).min();
        let timers = server.into_iter().chain(worker.map(|(at, _)| at)).min();
        let Some(at) = event.into_iter().chain(timers).min() else { return Ok(false) };
        if at > until {
            self.now = self.now.max(until);
            return Ok(false);
        }
        self.instant = if at > self.now { 0 } else { self.instant + 1 };
        if self.instant > INSTANT_MAX {
            return Err("the machines do not come to rest".to_owned());
        }
        self.now = self.now.max(at);
        if server == Some(at) {
            self.server_timeout();
        } else if let Some((_, i)) = worker.filter(|(due, _)| *due == at) {
            self.worker_timeout(i);
        } else if let Some((_, event)) = self.queue.pop_first() {
            self.happen(event);
        }
        self.check()?;
        Ok(true)
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::ToServer(link, up) => {
                self.acts_left -= u64::from(matches!(up, Up::Client(_)));
                self.server_hears(link, up);
            }
            Event::ToWorker(link, down) => self.worker_hears(link, down),
            Event::ToClient(link, down) => self.client_hears(link, down),
            Event::Durable { life, seq } => self.durable(life, seq),
            Event::RunEnds { worker, run, token, how } => self.run_ends(worker, run, token, how),
            Event::Arrive(config) => self.arrive(*config),
            Event::Connect(client) => self.connect(client),
            Event::Act(client, act) => self.act(client, *act),
            Event::Cut(link) => self.cut(link),
            Event::Thaw(worker) => self.thaw(worker),
            Event::Boot => self.boot(),
            Event::Fault(fault) => self.fault(fault),
            Event::Heal => self.heal(),
        }
    }

    fn plan_fault(&mut self, fault: Fault) {
        let faults: &Faults = &self.sim.faults;
        let mean = match fault {
            Fault::Crash => faults.crash,
            Fault::Freeze => faults.freeze,
            Fault::Partition => faults.partition,
            Fault::Break => faults.cut,
            Fault::Restart => faults.restart,
        };
        if mean > Span::ZERO && !self.is_healed {
            let after = Span(self.rng.range(mean.0 / 4, mean.0.saturating_mul(2)));
            self.plan(self.now.after(after), Event::Fault(fault));
        }
    }

    fn fault(&mut self, fault: Fault) {
        if self.is_healed {
            return;
        }
        let alive: Vec<usize> = (0..self.workers.len()).filter(|i| self.workers[*i].is_alive()).collect();
        match fault {
            Fault::Restart => self.kill_server(),
            _ if alive.is_empty() => {}
            Fault::Crash => {
                let worker = *self.rng.pick(&alive);
                self.crash(worker);
                if self.rng.chance(60) {
                    self.another_worker();
                }
            }
            Fault::Freeze => {
                let worker = *self.rng.pick(&alive);
                let until = self.now.after(Span(self.rng.range(1_000, 30_000_000)));
                self.freeze(worker, until);
            }
            Fault::Break => {
                let worker = *self.rng.pick(&alive);
                if let Some(link) = self.workers[worker].link {
                    self.break_link(link);
                }
            }
            Fault::Partition => {
                let worker = *self.rng.pick(&alive);
                if let Some(link) = self.workers[worker].link {
                    self.darken(link);
                }
            }
        }
        self.plan_fault(fault);
    }

    /// One more worker of those that the simulation began with.
    pub(super) fn another_worker(&mut self) {
        if !self.sim.workers.is_empty() {
            let config = self.rng.pick(&self.sim.workers).1.clone();
            let after = Span(self.rng.range(0, 3_000_000));
            self.plan(self.now.after(after), Event::Arrive(Box::new(config)));
        }
    }

    fn darken(&mut self, link: LinkId) {
        let cut = self.now.after(Span(self.rng.range(10_000, 40_000_000)));
        if let Some(dark) = self.net.links.get_mut(&link).filter(|known| !known.is_dark) {
            dark.is_dark = true;
            self.watch.trace.push(format_args!("{} link {link} is dark", self.now.0));
            self.plan(cut, Event::Cut(link));
        }
    }

    /// A link breaks at this moment; its ends learn of it, each in its own time.
    fn break_link(&mut self, link: LinkId) {
        let (one, other) = (self.net.arrival(self.now), self.net.arrival(self.now));
        let Some(known) = self.net.links.get_mut(&link).filter(|known| !known.is_cut && !known.is_dark) else { return };
        known.is_cut = true;
        self.watch.trace.push(format_args!("{} link {link} breaks", self.now.0));
        self.plan(one, Event::ToServer(link, Up::Closed));
        self.plan(other, Event::ToWorker(link, Down::Closed));
    }

    /// Both ends of a dark link learn that it is gone.
    fn cut(&mut self, link: LinkId) {
        let Some(peer) = self.net.links.get(&link).map(|link| link.peer) else { return };
        self.server_hears(link, Up::Closed);
        match peer {
            Peer::Worker(_) => self.worker_hears(link, Down::Closed),
            Peer::Client(_) => self.client_hears(link, Down::Closed),
        }
    }

    fn heal(&mut self) {
        self.is_healed = true;
        self.net.heal();
        self.watch.trace.push(format_args!("{} healed", self.now.0));
        let dark: Vec<LinkId> = self.net.links.iter().filter(|(_, link)| link.is_dark).map(|(id, _)| *id).collect();
        for link in dark {
            self.cut(link);
        }
        // Who stands still wakes up when it was to, with what was said to it meanwhile.
        // Later than a wish to stop all workers that is still under way.
        let arrival = self.now.after(Span::secs(60));
        for config in self.sim.heal.clone().map(|(_, workers)| workers).unwrap_or_default() {
            self.plan(arrival, Event::Arrive(Box::new(config)));
        }
    }
}
