use std::collections::{BTreeMap, BTreeSet};

use hq_core::{
    Call, CancelOutcome, ClientReply, ClientRequest, CloseOutcome, JobId, JobTarget, LinkId, Reply, RequestId, Rng,
    Span,
};

use super::{
    Act, Simulation,
    network::Peer,
    world::{Down, Event, Up, World},
};

/// A client, and what the server has promised it.
#[derive(Debug)]
pub(super) struct ClientHost {
    link: Option<LinkId>,
    calls: u64,
    /// Jobs that were answered, open ones apart.
    jobs: BTreeSet<JobId>,
    open: BTreeSet<JobId>,
    closed: BTreeSet<JobId>,
    canceled: BTreeMap<JobId, u64>,
    rng: Rng,
}

impl ClientHost {
    pub(super) const fn new(rng: Rng) -> Self {
        Self {
            link: None,
            calls: 0,
            jobs: BTreeSet::new(),
            open: BTreeSet::new(),
            closed: BTreeSet::new(),
            canceled: BTreeMap::new(),
            rng,
        }
    }

    fn hear(&mut self, reply: &ClientReply) {
        match reply {
            ClientReply::Submitted { job } => _ = self.jobs.insert(*job),
            ClientReply::Opened { job } => {
                self.jobs.insert(*job);
                self.open.insert(*job);
            }
            ClientReply::Closed(outcomes) => {
                for (job, _) in outcomes.iter().filter(|(_, outcome)| *outcome != CloseOutcome::NotFound) {
                    self.open.remove(job);
                    self.closed.insert(*job);
                }
            }
            ClientReply::Canceled(outcomes) => {
                for (job, outcome) in outcomes {
                    if let CancelOutcome::Canceled { canceled, .. } = outcome {
                        self.canceled.insert(*job, *canceled);
                    }
                }
            }
            _ => {}
        }
    }
}

impl World {
    pub(super) fn connect(&mut self, client: usize) {
        if self.server.node.is_none() {
            return self.plan(self.now.after(Span::millis(100)), Event::Connect(client));
        }
        let link = self.net.open(Peer::Client(client), self.server.life);
        self.clients[client].link = Some(link);
        if let Some(at) = self.net.up(self.now, link) {
            self.plan(at, Event::ToServer(link, Up::Opened));
        }
    }

    pub(super) fn client_hears(&mut self, link: LinkId, down: Down<Reply>) {
        let Some(known) = self.net.links.get_mut(&link) else { return };
        let Peer::Client(client) = known.peer else { return };
        match down {
            Down::Opened => {}
            Down::Said(replies) => {
                for reply in replies {
                    self.clients[client].hear(&reply.reply);
                }
            }
            Down::Closed => {
                known.peer_open = false;
                if self.clients[client].link == Some(link) {
                    self.clients[client].link = None;
                    self.plan(self.now.after(Span::millis(50)), Event::Connect(client));
                }
            }
        }
    }

    pub(super) fn act(&mut self, client: usize, act: Act) {
        let host = &mut self.clients[client];
        let Some(link) = host.link else {
            return self.plan(self.now.after(Span::millis(100)), Event::Act(client, Box::new(act)));
        };
        let request = match act {
            Act::Ask(request) => request,
            Act::Attach(mut submit) => {
                let open: Vec<JobId> = host.open.iter().copied().collect();
                if !open.is_empty() && Simulation::is_new(&submit) {
                    submit.job = JobTarget::Attach(*host.rng.pick(&open));
                }
                ClientRequest::Submit(submit)
            }
            Act::AboutJob(request) => {
                let last = host.jobs.last().map_or(1, |job| job.0 + 1);
                request(JobId(host.rng.range(1, last.into()) as u32))
            }
        };
        if self.is_healed && matches!(request, ClientRequest::StopWorkers(_)) {
            self.acts_left -= 1; // Late; it was not meant for those that have come to end everything well.
            return;
        }
        host.calls += 1;
        let call = Call { id: RequestId(host.calls), request };
        self.watch.trace.push(format_args!("{} client {client} asks {call:?}", self.now.0));
        match self.net.up(self.now, link) {
            Some(at) => self.plan(at, Event::ToServer(link, Up::Client(vec![call]))),
            None => self.acts_left -= 1,
        }
    }

    /// What a reply has told is so after a restart as well. Jobs that were forgotten since are left out.
    pub(super) fn check_promises(&mut self) {
        let model = &self.watch.model;
        let forgotten = &self.server.forgotten;
        let mut broken = None;
        for host in &self.clients {
            for job in host.jobs.iter().filter(|job| !forgotten.contains(job)) {
                match model.jobs.get(job) {
                    None => broken = Some(format!("job {job} was answered and is not there after a restart")),
                    Some(known) if known.is_open && host.closed.contains(job) => {
                        broken = Some(format!("job {job} was closed and is open after a restart"));
                    }
                    Some(_) => {
                        let canceled = host.canceled.get(job).copied().unwrap_or(0);
                        if model.counts(*job).canceled < canceled {
                            broken = Some(format!(
                                "{canceled} tasks of job {job} were cancelled and are not after a restart"
                            ));
                        }
                    }
                }
            }
        }
        if let Some(how) = broken {
            self.watch.fail(how);
        }
    }
}
