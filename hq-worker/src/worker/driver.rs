use std::{collections::HashMap, future::pending, sync::Arc, time::Duration};

use hq_core::{FromWorker, HardwareState, Outcome, RunId, ToWorker};
use hq_node::{Exit, StartOrder, StopHow, WorkerInput, WorkerNode, WorkerOutput};
use hq_transport::{ConnectError, Link, Transport, TypedReceiver, TypedSender};
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc},
    task::JoinHandle,
    time::{Instant, sleep_until, timeout_at},
};

use super::{WorkerOptions, clock::Clock, ends::Ends, writer};
use crate::{Done, Runners, TaskRunner};

/// How long a leaving worker waits for what it kills and for its last words.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// Outputs that are carried out before the link and the timers get their turn.
const TURN: u32 = 8_192;

/// Runs a worker until it has to leave: told to by its server, by its time limit, by the loss of its server (if that is
/// not found again in time, where it may reconnect) or by [`WorkerHandle::interrupt`](crate::WorkerHandle::interrupt). What then still runs is killed and waited for, up to 5
/// seconds.
///
/// Must be called inside a tokio runtime with time enabled. Signals are the caller's business.
///
/// # Cancel safety
/// Dropping the future drops the link; what runs is left to its runners, which programs do not survive.
pub async fn run_worker(options: WorkerOptions) -> Exit {
    let WorkerOptions { config, link, runners, handle, mut overviews, way_back } = options;
    let clock = Clock::start();
    let mut driver = Driver {
        node: WorkerNode::new(config, clock.now()),
        clock,
        runners,
        ends: Arc::default(),
        batch: vec![],
        running: HashMap::new(),
        outbox: vec![],
        words: vec![],
        batches: None,
        link: None,
        writer: None,
        way_back,
        attempt: None,
    };
    driver.take_link(link);
    let exit = loop {
        if let Some(exit) = driver.work() {
            break exit;
        }
        let deadline = driver.node.poll_timeout().map(|tick| clock.instant(tick));
        let input = tokio::select! {
            () = handle.interrupted.notified() => Some(WorkerInput::Interrupted),
            input = receive(&mut driver.link) => Some(input),
            made = made(&mut driver.attempt) => {
                driver.attempt = None;
                driver.tried(made);
                None
            }
            () = driver.ends.some() => None,
            state = next(&mut overviews) => Some(WorkerInput::Overview(Box::new(state))),
            is_open = flush(driver.batches.as_ref(), &mut driver.outbox) => {
                driver.words.clear();
                if !is_open {
                    driver.fall_silent();
                }
                None
            }
            () = sleep(deadline) => {
                driver.node.handle_timeout(clock.now());
                None
            }
        };
        if let Some(input) = input {
            driver.handle(input);
        }
    };
    driver.leave().await;
    exit
}

/// The machine and what it drives.
struct Driver {
    node: WorkerNode,
    clock: Clock,
    runners: Runners,
    ends: Arc<Ends>,
    /// Kept for its memory; empty.
    batch: Vec<(RunId, Outcome)>,
    /// Who carries out which run.
    running: HashMap<RunId, Arc<dyn TaskRunner>>,
    /// What waits for the writer: one batch as soon as it is free. The machine bounds its reports itself.
    outbox: Vec<FromWorker>,
    /// Room of the words in the outbox, or on their way to it.
    words: Vec<OwnedSemaphorePermit>,
    /// The way to the writer; none once the link is down.
    batches: Option<mpsc::Sender<Vec<FromWorker>>>,
    link: Option<TypedReceiver<ToWorker>>,
    writer: Option<JoinHandle<()>>,
    way_back: Option<Arc<dyn Transport>>,
    /// A link that is being made.
    attempt: Option<JoinHandle<Result<Link, ConnectError>>>,
}

impl Driver {
    /// Does what the machine wants, until it wants nothing; leaves some for later where runs end as fast as they start.
    fn work(&mut self) -> Option<Exit> {
        for _ in 0..TURN {
            // Ends that came while runs were being started go into the same report.
            self.hand_in_ends();
            match self.node.poll_output()? {
                WorkerOutput::Send(messages) => self.send(messages),
                WorkerOutput::Start(order) => self.start(order),
                WorkerOutput::Stop { run, how } => self.stop(run, how),
                WorkerOutput::Listen { job, session, credit } => {
                    self.runners.all().for_each(|runner| runner.listen(job, session, credit));
                }
                WorkerOutput::Connect => self.connect(),
                WorkerOutput::Disconnect => self.drop_link(),
                WorkerOutput::Exit(exit) => return Some(exit),
            }
        }
        self.ends.remind();
        None
    }

    fn hand_in_ends(&mut self) {
        self.ends.take(&mut self.batch);
        let now = self.clock.now();
        // After the ends were taken and before they are told: a run's words come before its end.
        for word in self.ends.take_words() {
            // Without a link nothing waits for its turn.
            self.words.extend(word.room.filter(|_| self.batches.is_some()));
            self.node.handle_input(now, WorkerInput::Notify { run: word.run, message: word.message });
        }
        for (job, output) in self.ends.take_prints() {
            self.node.handle_input(now, WorkerInput::Printed { job, output });
        }
        if self.batch.is_empty() {
            return;
        }
        for (run, outcome) in self.batch.drain(..) {
            self.running.remove(&run);
            self.node.handle_input(now, WorkerInput::Ended { run, outcome });
        }
    }

    fn handle(&mut self, input: WorkerInput) {
        if matches!(input, WorkerInput::LinkDown) {
            self.drop_link();
        }
        self.node.handle_input(self.clock.now(), input);
    }

    fn connect(&mut self) {
        match self.way_back.clone() {
            Some(way_back) => self.attempt = Some(tokio::spawn(async move { way_back.connect().await })),
            None => self.node.handle_input(self.clock.now(), WorkerInput::LinkDown),
        }
    }

    /// An attempt to find the server again is over.
    fn tried(&mut self, made: Result<Link, String>) {
        match made {
            Ok(link) => {
                tracing::info!("a server is there again");
                self.take_link(link);
            }
            Err(why) => {
                tracing::debug!("the server is not there: {why}");
                self.node.handle_input(self.clock.now(), WorkerInput::LinkDown);
            }
        }
    }

    fn take_link(&mut self, link: Link) {
        let (batches, receiver) = mpsc::channel(1);
        self.batches = Some(batches);
        self.link = Some(TypedReceiver::new(link.receiver));
        self.writer = Some(tokio::spawn(writer::write(TypedSender::new(link.sender), receiver)));
        self.node.handle_input(self.clock.now(), WorkerInput::LinkUp);
    }

    /// The link is over, on whichever side.
    fn drop_link(&mut self) {
        self.link = None;
        self.fall_silent();
        if let Some(writer) = self.writer.take_if(|_| self.way_back.is_some()) {
            writer.abort();
            tracing::warn!("the server is gone; this worker looks for it");
        }
    }

    /// The server takes no more words. What it said before that is heard all the same: its end of the link tells when it
    /// is gone.
    fn fall_silent(&mut self) {
        self.batches = None;
        self.outbox.clear();
        self.words.clear();
    }

    fn send(&mut self, messages: Vec<FromWorker>) {
        if self.batches.is_none() {
            return;
        }
        // While the writer is held up, one sign of life is as good as many.
        let is_stuck = matches!(self.outbox.last(), Some(FromWorker::Heartbeat));
        if is_stuck && matches!(messages[..], [FromWorker::Heartbeat]) {
            return;
        }
        self.outbox.extend(messages);
    }

    fn start(&mut self, order: StartOrder) {
        let done = Done::new(order.run, self.ends.clone());
        let Some(runner) = self.runners.get(&order.body.kind) else {
            let kind = &order.body.kind;
            done.end(Outcome::Failed(format!("this worker cannot run tasks of kind `{kind}`")));
            return;
        };
        self.running.insert(order.run, runner.clone());
        runner.start(order, done);
    }

    fn stop(&self, run: RunId, how: StopHow) {
        if let Some(runner) = self.running.get(&run) {
            runner.stop(run, how);
        }
    }

    /// Kills what runs and says the last words, side by side.
    async fn leave(mut self) {
        let deadline = Instant::now() + LAST_WAIT;
        for (run, runner) in &self.running {
            runner.stop(*run, StopHow::Leave);
        }
        // The link is heard no more, and stays open until the last words are out: an end with unread data could lose them.
        let link = self.link.take();
        let last_words = async {
            if let Some(batches) = self.batches.take()
                && !self.outbox.is_empty()
            {
                let _ = batches.send(std::mem::take(&mut self.outbox)).await;
            }
            // The last sender is gone: the writer says good-bye and ends.
            if let Some(writer) = &mut self.writer {
                let _ = writer.await;
            }
        };
        if timeout_at(deadline, last_words).await.is_err()
            && let Some(writer) = &self.writer
        {
            writer.abort();
        }
        if let Some(attempt) = &self.attempt {
            attempt.abort();
        }
        drop(link);
        let mut batch = Vec::new();
        while !self.running.is_empty() {
            self.ends.take(&mut batch);
            for (run, _) in batch.drain(..) {
                self.running.remove(&run);
            }
            if self.running.is_empty() || timeout_at(deadline, self.ends.some()).await.is_err() {
                break;
            }
        }
        if !self.running.is_empty() {
            tracing::warn!("{} tasks could not be ended in time; they are left behind", self.running.len());
        }
    }
}

/// The next news from the link; for ever without one.
async fn receive(link: &mut Option<TypedReceiver<ToWorker>>) -> WorkerInput {
    let Some(receiver) = link else { return pending().await };
    match receiver.recv().await {
        Ok(Some(messages)) => WorkerInput::Messages(messages),
        Ok(None) => WorkerInput::LinkDown,
        Err(error) => {
            tracing::debug!("the link to the server is gone: {error}");
            WorkerInput::LinkDown
        }
    }
}

/// The outcome of an attempt; for ever where none is under way.
async fn made(attempt: &mut Option<JoinHandle<Result<Link, ConnectError>>>) -> Result<Link, String> {
    let Some(attempt) = attempt else { return pending().await };
    match attempt.await {
        Ok(made) => made.map_err(|error| {
            let address = error.to_string();
            format!("{address}: {}", error.into_cause())
        }),
        Err(error) => Err(error.to_string()),
    }
}

/// Hands the outbox to the writer as one batch; for ever where there is nothing to hand over. False when the writer is
/// gone. Cancel safe: nothing is taken before the writer is free.
async fn flush(batches: Option<&mpsc::Sender<Vec<FromWorker>>>, outbox: &mut Vec<FromWorker>) -> bool {
    match batches {
        Some(batches) if !outbox.is_empty() => match batches.reserve().await {
            Ok(permit) => {
                permit.send(std::mem::take(outbox));
                true
            }
            Err(_) => false,
        },
        _ => pending().await,
    }
}

/// The next look at the machine; for ever where there are no more.
async fn next(overviews: &mut Option<mpsc::Receiver<HardwareState>>) -> HardwareState {
    if let Some(receiver) = overviews {
        if let Some(state) = receiver.recv().await {
            return state;
        }
        *overviews = None;
    }
    pending().await
}

async fn sleep(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => pending().await,
    }
}
