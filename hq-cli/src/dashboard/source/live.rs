use std::{collections::BTreeSet, time::Duration};

use hq_client::{CallError, EventBatch, EventStream};
use hq_core::{
    ClientReply, ClientRequest, DetailPart, DetailPlace, Event, EventKind, IdList, JobDetail, JobId, JobInfo, Selector,
    SubmitInfo, TaskState, WorkerId, WorkerInfo,
};
use tokio::{
    sync::{mpsc, watch},
    time::{MissedTickBehavior, interval},
};

use super::super::model::{LINES_MAX, News, RunningTask, Sight, Tab, Wish};
use crate::{
    output::now,
    server::{Server, unexpected},
};

/// How often a server is asked.
const LOOK: Duration = Duration::from_millis(500);
/// Batches of events that are read between two looks. What comes faster is not read: the server then says that events are
/// lost, which costs it nothing, and all is looked at anew.
const BATCHES_MAX: u32 = 200;
/// Changed jobs that are asked for at a time; with more, all are.
const CHANGED_MAX: usize = 500;
/// Looks between two looks at all jobs, at least.
const WHOLE_EVERY: u32 = 10;
/// Jobs, the newest, whose running tasks are looked at.
pub(super) const RUNNING_JOBS_MAX: usize = 8;
/// Tasks of a worker that are shown.
const RUNNING_MAX: usize = 64;

/// Tells what a server does, until it goes away or nobody listens.
///
/// # Errors
/// Where the server refuses.
pub(in crate::dashboard) async fn live(
    server: &Server,
    mut wishes: watch::Receiver<Wish>,
    news: mpsc::Sender<News>,
) -> anyhow::Result<()> {
    let mut stream = server.subscribe(None, None).await?;
    let mut looker = Looker::new(server, news);
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut room = 0;
    loop {
        let result = tokio::select! {
            changed = wishes.changed() => {
                if changed.is_err() {
                    return Ok(());
                }
                let wish = *wishes.borrow_and_update();
                looker.look(&wish, false).await
            }
            _ = looks.tick() => {
                room = BATCHES_MAX;
                let wish = *wishes.borrow_and_update();
                looker.look(&wish, true).await
            }
            batch = next(&mut stream, room) => {
                room = room.saturating_sub(1);
                match batch {
                    Ok(EventBatch::Events(events)) => looker.hear(events).await,
                    Ok(EventBatch::Reset { .. }) => {
                        looker.all_jobs = true;
                        looker.workers = true;
                        Ok(())
                    }
                    Err(error) => Err(error),
                }
            }
        };
        match result {
            Ok(()) => {}
            Err(CallError::Lost(_)) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// The next batch, where there is room for it.
async fn next(stream: &mut EventStream, room: u32) -> Result<EventBatch, CallError> {
    if room == 0 {
        return std::future::pending().await;
    }
    stream.next().await.unwrap_or_else(|| Err(CallError::Lost("the stream has ended".to_owned())))
}

/// Knows what has changed since it looked last.
struct Looker<'a> {
    server: &'a Server,
    news: mpsc::Sender<News>,
    all_jobs: bool,
    changed: BTreeSet<JobId>,
    /// Workers came or went.
    workers: bool,
    /// Jobs with tasks that run.
    running: BTreeSet<JobId>,
    /// Submits of the job that is shown: they can be large, and are asked for once.
    submits: Option<(JobId, Vec<SubmitInfo>)>,
    looks: u32,
    /// When all jobs were looked at last.
    whole: Option<u32>,
    was_past: bool,
}

impl<'a> Looker<'a> {
    fn new(server: &'a Server, news: mpsc::Sender<News>) -> Self {
        Self {
            server,
            news,
            all_jobs: true,
            changed: BTreeSet::new(),
            workers: true,
            running: BTreeSet::new(),
            submits: None,
            looks: 0,
            whole: None,
            was_past: false,
        }
    }

    /// Nobody listens any more only when the dashboard ends.
    async fn tell(&self, sight: Sight) {
        let _ = self.news.send(News { of: None, sight }).await;
    }

    async fn hear(&mut self, events: Vec<Event>) -> Result<(), CallError> {
        for event in events {
            if let Some(job) = event.kind.job() {
                self.changed.insert(job);
            }
            match event.kind {
                EventKind::WorkerConnected { .. } | EventKind::WorkerLost { .. } => self.workers = true,
                EventKind::WorkerOverview { worker, state } => self.tell(Sight::Hardware(worker, state)).await,
                EventKind::QueueCreated { queue, .. } => {
                    self.tell(Sight::QueueChanged { queue, at: event.at, removed: false }).await;
                }
                EventKind::QueueRemoved { queue } => {
                    self.tell(Sight::QueueChanged { queue, at: event.at, removed: true }).await;
                }
                EventKind::JobSubmitted { job, .. } if self.submits.as_ref().is_some_and(|(of, _)| *of == job) => {
                    self.submits = None;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Looks at what changed and at what is shown.
    async fn look(&mut self, wish: &Wish, is_tick: bool) -> Result<(), CallError> {
        self.looks = self.looks.wrapping_add(u32::from(is_tick));
        let comes_back = std::mem::replace(&mut self.was_past, wish.at.is_some()) && wish.at.is_none();
        self.all_jobs |= comes_back;
        self.workers |= comes_back;
        self.look_at_jobs(comes_back).await?;
        if wish.at.is_some() {
            return Ok(());
        }
        // How many tasks run is part of the page of workers.
        if self.workers || (wish.tab == Tab::Workers && is_tick && self.looks.is_multiple_of(2)) {
            self.workers = false;
            self.tell(Sight::Workers(self.newest_workers().await?)).await;
        }
        match wish.tab {
            Tab::Jobs => self.look_at_job(wish).await,
            Tab::Workers => self.look_at_worker(wish).await,
            Tab::Queues => self.look_at_queues(wish).await,
        }
    }

    async fn look_at_jobs(&mut self, at_once: bool) -> Result<(), CallError> {
        self.all_jobs |= self.changed.len() > CHANGED_MAX;
        let rested = self.whole.is_none_or(|last| self.looks.wrapping_sub(last) >= WHOLE_EVERY);
        if self.all_jobs && (rested || at_once) {
            self.all_jobs = false;
            self.whole = Some(self.looks);
            self.changed.clear();
            let lines = self.newest_jobs().await?;
            self.running = lines.iter().filter(|job| job.counts.running > 0).map(|job| job.id).collect();
            self.tell(Sight::Jobs { at: now(), whole: true, lines, gone: vec![] }).await;
        }
        if self.changed.is_empty() {
            return Ok(());
        }
        // The newest first: the rest has its turn.
        let mut asked = BTreeSet::new();
        while asked.len() < CHANGED_MAX
            && let Some(job) = self.changed.pop_last()
        {
            asked.insert(job);
        }
        let ids = IdList::from_numbers(asked.iter().map(|job| job.0)).unwrap_or_default();
        let lines = self.server.jobs(Selector::Ids(ids)).await?;
        for job in &lines {
            asked.remove(&job.id);
            match job.counts.running {
                0 => self.running.remove(&job.id),
                _ => self.running.insert(job.id),
            };
        }
        self.running.retain(|job| !asked.contains(job));
        self.tell(Sight::Jobs { at: now(), whole: false, lines, gone: asked.into_iter().collect() }).await;
        Ok(())
    }

    async fn newest_jobs(&self) -> Result<Vec<JobInfo>, CallError> {
        let last = self.server.jobs(Selector::Last).await?.pop();
        let Some(last) = last else { return Ok(vec![]) };
        self.server.jobs(newest(last.id.0)).await
    }

    async fn newest_workers(&self) -> Result<Vec<WorkerInfo>, CallError> {
        let last = self.server.workers(Selector::Last).await?.pop();
        let Some(last) = last else { return Ok(vec![]) };
        self.server.workers(newest(last.id.0)).await
    }

    /// The chosen job: its submits once, and the tasks around the chosen one.
    async fn look_at_job(&mut self, wish: &Wish) -> Result<(), CallError> {
        let Some(job) = wish.job else { return Ok(()) };
        if self.submits.as_ref().is_none_or(|(of, _)| *of != job) {
            let mut submits = vec![];
            let mut details = self.server.job_details(job, part(wish, DetailPlace::default()));
            while let Some(piece) = details.next().await? {
                if piece.is_last {
                    submits = piece.detail.submits.clone();
                    self.tell(Sight::Job(Box::new(piece.detail))).await;
                }
            }
            self.submits = Some((job, submits));
            return Ok(());
        }
        let Some((_, submits)) = &self.submits else { return Ok(()) };
        let from = DetailPlace { job, submits: submits.len() as u32, ..DetailPlace::default() };
        if let Some(mut detail) = self.page(job, part(wish, from)).await? {
            // Some may have come meanwhile.
            let fresh = std::mem::replace(&mut detail.submits, submits.clone());
            detail.submits.extend(fresh);
            self.tell(Sight::Job(Box::new(detail))).await;
        }
        Ok(())
    }

    /// Tasks that run on the chosen worker: as many as there are in one answer.
    async fn look_at_worker(&self, wish: &Wish) -> Result<(), CallError> {
        let Some(worker) = wish.worker else { return Ok(()) };
        let mut details = vec![];
        for job in self.running.iter().rev().take(RUNNING_JOBS_MAX) {
            details.extend(self.page(*job, running_part(*job)).await?);
        }
        self.tell(Sight::Running { worker, tasks: running_on(worker, details) }).await;
        Ok(())
    }

    async fn look_at_queues(&self, wish: &Wish) -> Result<(), CallError> {
        match self.server.call(ClientRequest::Queues).await? {
            ClientReply::Queues(queues) => self.tell(Sight::Queues(queues)).await,
            other => return Err(unexpected(other)),
        }
        let Some(queue) = wish.queue else { return Ok(()) };
        match self.server.call(ClientRequest::Allocations(queue)).await {
            Ok(ClientReply::Allocations(lines)) => self.tell(Sight::Allocations(queue, lines)).await,
            Ok(other) => return Err(unexpected(other)),
            // It has been removed.
            Err(CallError::Refused(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// One answer, and nothing of what does not fit into it.
    async fn page(&self, job: JobId, part: DetailPart) -> Result<Option<JobDetail>, CallError> {
        let jobs = job.into();
        match self.server.call(ClientRequest::JobDetails { jobs, part }).await? {
            ClientReply::JobDetails(page) => Ok(page.jobs.into_iter().next()),
            other => Err(unexpected(other)),
        }
    }
}

/// Ids up to the last one, as many as lines are kept.
fn newest(last: u32) -> Selector {
    let first = last.saturating_sub(LINES_MAX - 1);
    Selector::Ids(IdList::range(first, last - first + 1))
}

/// Tasks that are shown.
pub(super) fn part(wish: &Wish, from: DetailPlace) -> DetailPart {
    DetailPart { from, first: wish.tasks.0, last: wish.tasks.1, ..DetailPart::default() }
}

/// Tasks of a job that run, without its submits.
pub(super) fn running_part(job: JobId) -> DetailPart {
    let from = DetailPlace { job, submits: u32::MAX, ..DetailPlace::default() };
    DetailPart { from, states: vec![TaskState::Running], ..DetailPart::default() }
}

/// Those of them that run on a worker: the first ones.
pub(super) fn running_on(worker: WorkerId, details: Vec<JobDetail>) -> Vec<RunningTask> {
    let tasks = details.into_iter().flat_map(|detail| {
        let job = detail.info.id;
        detail.tasks.into_iter().map(move |info| RunningTask { job, info })
    });
    tasks.filter(|task| task.info.workers.contains(&worker)).take(RUNNING_MAX).collect()
}
