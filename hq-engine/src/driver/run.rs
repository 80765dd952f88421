use std::sync::Arc;

use hq_core::{Call, ClientReply, ClientRequest, Fact, LinkId, Reply, RequestId, Seq, Tick};
use hq_journal::{Condensed, Journal};
use hq_node::{PeerRole, ServerInput, ServerNode, ServerOutput};
use hq_transport::{Listener, Role, Versions, memory};
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::{Input, Signals, local::LocalCalls, machine::Machine, peers::Peers, workers::Workers};
use crate::{
    scaling::{self, Carrier},
    serve::Serving,
};

/// Inputs that may wait.
const INPUTS_MAX: usize = 1024;
/// Inputs that make one batch at most.
const BATCH_MAX: usize = 1024;
/// The link of the handles of this process.
const LOCAL: LinkId = LinkId(1);

/// What a driver needs.
pub(crate) struct Start {
    pub(crate) node: ServerNode,
    pub(crate) journal: Option<Box<dyn Journal>>,
    pub(crate) signals: Arc<Signals>,
    pub(crate) versions: Versions,
    /// What asks for machines, and the facts to begin with.
    pub(crate) scaling: Option<(Carrier, Vec<Fact>)>,
}

/// Carries the server machine from the boot to its stop.
pub(crate) struct Driver {
    machine: Machine,
    inputs: mpsc::Receiver<Input>,
    sender: mpsc::WeakSender<Input>,
    signals: Arc<Signals>,
    local: LocalCalls,
    peers: Peers,
    workers: Workers,
    listeners: JoinSet<()>,
    serving: Option<Serving>,
    versions: Versions,
    scaling: Option<Carrier>,
    has_stopped: bool,
}

impl Driver {
    /// A driver, and the queue into it.
    pub(crate) fn new(Start { node, journal, signals, versions, scaling }: Start) -> (Self, mpsc::Sender<Input>) {
        let (sender, inputs) = mpsc::channel(INPUTS_MAX);
        let mut machine = Machine::new(node, journal, Arc::clone(&signals));
        let scaling = scaling.map(|(carrier, facts)| {
            machine.tell(machine.now(), ServerInput::Allocations(facts));
            carrier
        });
        let driver = Self {
            machine,
            inputs,
            sender: sender.downgrade(),
            signals,
            local: LocalCalls::default(),
            peers: Peers::new(LOCAL, sender.downgrade()),
            workers: Workers::default(),
            listeners: JoinSet::new(),
            serving: None,
            versions,
            scaling,
            has_stopped: false,
        };
        (driver, sender)
    }

    /// Runs until the machine stops. When it returns, all links, workers and the journal are closed, and no task of
    /// this engine is left.
    pub(crate) async fn run(mut self) -> Result<(), String> {
        let now = self.machine.now();
        self.machine
            .tell(now, ServerInput::LinkUp { link: LOCAL, role: PeerRole::Client, protocol: self.versions.protocol });
        let mut batch = Vec::new();
        loop {
            self.drain();
            if self.has_stopped {
                return self.end().await;
            }
            if let Some(scaling) = &mut self.scaling {
                scaling.submit_safe(Seq(self.machine.next_seq().0.saturating_sub(1)), self.machine.durable());
            }
            let timer = self.machine.timer();
            let mut answer = None;
            tokio::select! {
                count = self.inputs.recv_many(&mut batch, BATCH_MAX), if !self.inputs.is_closed() => {
                    // All handles are gone: nobody could ask for anything any more.
                    if count == 0 {
                        self.signals.interrupt();
                        self.inputs.close();
                    }
                }
                () = self.signals.heard() => {}
                () = sleep_until(timer.unwrap_or_else(Instant::now)), if timer.is_some() => {}
                said = next(self.scaling.as_mut()) => answer = said,
                () = self.peers.reap() => {}
                () = self.workers.reap() => {}
                Some(_) = self.listeners.join_next() => {}
            }
            let now = self.machine.now();
            self.machine.hear_signals(now);
            for input in batch.drain(..) {
                self.take(now, input);
            }
            self.scale(now, answer);
            self.machine.pass_time(now);
        }
    }

    fn scale(&mut self, now: Tick, answer: Option<scaling::Answer>) {
        let Some(scaling) = &mut self.scaling else { return };
        if let Some(answer) = answer {
            scaling.hear(now, answer);
        }
        scaling.look(now, self.machine.scheduler());
        let facts = scaling.take_facts();
        if !facts.is_empty() {
            self.machine.tell(now, ServerInput::Allocations(facts));
        }
    }

    fn take(&mut self, now: Tick, input: Input) {
        match input {
            Input::FromWorker { link, messages } => self.machine.tell(now, ServerInput::FromWorker { link, messages }),
            Input::FromClient { link, calls } => self.machine.tell(now, ServerInput::FromClient { link, calls }),
            Input::Ask { id, request, answer } => {
                self.local.note(id, &request, answer, self.machine.next_seq());
                self.ask(now, id, request);
            }
            Input::Attach { link, role } => {
                let protocol = link.peer.versions.protocol;
                if let Some((link, role)) = self.peers.attach(link, role) {
                    self.machine.tell(now, ServerInput::LinkUp { link, role, protocol });
                }
            }
            Input::Down { link } => {
                self.peers.close(link);
                self.machine.tell_down(now, link);
            }
            Input::Worker(worker) => {
                let (theirs, ours) = memory::pair(Role::Worker, self.versions.clone());
                self.workers.spawn(worker, theirs);
                self.take(now, Input::Attach { link: ours, role: Role::Worker });
            }
            Input::Pruned { link, id, result } => self.machine.tell(now, ServerInput::Pruned { link, id, result }),
            Input::Serve { serving, listeners } => {
                self.serving = Some(serving);
                for (listener, role) in listeners {
                    self.listeners.spawn(accept(listener, role, self.sender.clone()));
                }
            }
        }
    }

    fn ask(&mut self, now: Tick, id: RequestId, request: ClientRequest) {
        self.machine.tell(now, ServerInput::FromClient { link: LOCAL, calls: vec![Call { id, request }] });
    }

    /// Does all that the machine wants done.
    fn drain(&mut self) {
        while let Some(order) = self.machine.poll() {
            let (link, sent) = match order {
                ServerOutput::ToWorker { link, messages } => (link, self.peers.tell_worker(link, messages)),
                ServerOutput::ToClient { link: LOCAL, replies } => {
                    replies.into_iter().for_each(|reply| self.deliver(reply));
                    continue;
                }
                ServerOutput::ToClient { link, mut replies } => {
                    replies.iter_mut().for_each(|reply| self.amend(reply));
                    (link, self.peers.tell_client(link, replies))
                }
                ServerOutput::CloseLink { link } => {
                    self.peers.close(link);
                    continue;
                }
                ServerOutput::Stop => {
                    self.has_stopped = true;
                    return;
                }
                ServerOutput::Prune { link, id } => {
                    self.prune(link, id);
                    continue;
                }
                ServerOutput::Warn(text) => {
                    tracing::warn!("{text}");
                    continue;
                }
                // Done by the machine's carrier.
                ServerOutput::Append { .. } => continue,
            };
            if sent.is_err() {
                tracing::warn!("link {link} does not take what it is told: it is cut off");
                let now = self.machine.now();
                self.machine.tell_down(now, link);
            }
        }
    }

    fn prune(&mut self, link: LinkId, id: RequestId) {
        let inputs = self.sender.clone();
        self.machine.prune(Box::new(move |result| {
            match &result {
                Ok(Condensed { before, after }) => tracing::info!("the journal had {before} bytes and has {after}"),
                Err(error) => tracing::warn!("{error}"),
            }
            let result = result.map(drop).map_err(|error| error.to_string());
            // Nobody waits any more where the driver has ended.
            if let Some(inputs) = inputs.upgrade() {
                let _ = inputs.blocking_send(Input::Pruned { link, id, result });
            }
        }));
    }

    fn deliver(&mut self, mut reply: Reply) {
        self.amend(&mut reply);
        if let Some(unread) = self.local.deliver(reply) {
            let now = self.machine.now();
            self.ask(now, RequestId(0), ClientRequest::Abandon(unread));
        }
    }

    /// The machine does not know where its shell listens.
    fn amend(&self, reply: &mut Reply) {
        if let (ClientReply::Server(info), Some(serving)) = (&mut reply.reply, &self.serving) {
            serving.amend(info);
        }
    }

    async fn end(mut self) -> Result<(), String> {
        self.inputs.close();
        // Those that wait in the queue are told by its end.
        while self.inputs.recv().await.is_some() {}
        drop(self.local);
        self.listeners.shutdown().await;
        let scaling = async {
            if let Some(scaling) = self.scaling {
                scaling.end().await;
            }
        };
        tokio::join!(self.peers.end(), self.workers.end(), scaling);
        let closed = self.machine.close().await;
        if let Some(serving) = self.serving {
            serving.end();
        }
        closed
    }
}

/// The next answer of the allocator, or `None` when it is time to look; for ever without one.
async fn next(scaling: Option<&mut Carrier>) -> Option<scaling::Answer> {
    match scaling {
        Some(scaling) => scaling.next().await,
        None => std::future::pending().await,
    }
}

/// Takes peers in until the engine ends.
async fn accept(mut listener: Box<dyn Listener>, role: Role, inputs: mpsc::WeakSender<Input>) {
    loop {
        let link = match listener.accept().await {
            Ok(link) => link,
            Err(e) => return tracing::error!("no more {role}s are taken in at {}: {e}", listener.address()),
        };
        tracing::debug!("{role} {} connected", link.peer.address);
        let Some(inputs) = inputs.upgrade() else { return };
        if inputs.send(Input::Attach { link, role }).await.is_err() {
            return;
        }
    }
}
