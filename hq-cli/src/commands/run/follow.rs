//! What becomes of the tasks: their outputs, the log, runs once more, the end of all.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs,
    io::{self, IsTerminal, Write},
    path::Path,
    time::Instant,
};

use hq_client::{CallError, EventBatch, EventStream};
use hq_core::{
    ClientRequest, Event, EventKind, FinishedTask, IdList, JobId, TaskCounts, TaskState, WallTime, WorkerId,
};
use tracing::warn;

use super::{
    ends::{End, Exit},
    halt::{Halt, How, On},
    joblog::JobLog,
    plan::Plan,
    print::{output, print},
};
use crate::{
    output::{Output, task_bar},
    server::Server,
};

/// What is said of tasks that are cancelled for `--halt`.
pub(super) const HALTED: &str = "hq run --halt";

/// Tasks of an open job on their way.
pub(super) struct Follow<'a> {
    pub(super) plan: &'a Plan,
    pub(super) server: &'a Server,
    pub(super) job: JobId,
    /// Where the outputs are that are printed; none: they are the user's files.
    pub(super) outputs: Option<&'a Path>,
    pub(super) log: Option<JobLog>,
    pub(super) halt: Option<Halt>,
    pub(super) bar: bool,
    /// Print in order.
    pub(super) in_order: bool,
    /// Numbers of all tasks, in order.
    pub(super) seqs: Vec<u32>,
    pub(super) state: Progress,
}

/// How far it is.
#[derive(Debug)]
pub(super) struct Progress {
    /// Ids whose ends are known.
    ended: HashSet<u32>,
    /// Tasks that have ended and wait to be printed in order, and whether they ended well.
    waiting: BTreeMap<u32, bool>,
    /// Tasks that were printed, counted from the first one.
    printed: usize,
    hosts: HashMap<WorkerId, String>,
    pub(super) counts: TaskCounts,
    /// No more is run.
    pub(super) halted: Option<How>,
    begun: Instant,
}

impl Progress {
    pub(super) fn of(tasks: u64) -> Self {
        Self {
            ended: HashSet::new(),
            waiting: BTreeMap::new(),
            printed: 0,
            hosts: HashMap::new(),
            counts: TaskCounts { waiting: tasks, ..TaskCounts::default() },
            halted: None,
            begun: Instant::now(),
        }
    }

    /// Whether the end of that run was not known before.
    pub(super) fn is_first_end(&mut self, id: u32) -> bool {
        self.ended.insert(id)
    }

    /// Tasks that do not run, or no further, which may be known.
    pub(super) fn never(&mut self, ids: &IdList, end: TaskState) {
        let count = ids.iter().filter(|id| self.ended.insert(*id)).count() as u64;
        let count = count.min(self.counts.waiting);
        self.counts.waiting -= count;
        *self.counts.of_mut(end) += count;
    }
}

/// The end of a run.
pub(super) struct RunEnded {
    pub(super) id: u32,
    pub(super) host: String,
    pub(super) started: WallTime,
    pub(super) ended: WallTime,
    pub(super) exit: Exit,
}

impl Follow<'_> {
    /// Until all tasks have ended.
    ///
    /// # Errors
    /// Where the server is gone and does not come back, where it refuses something, and where nothing can be printed or
    /// logged.
    pub(super) async fn follow(&mut self, mut stream: EventStream, out: &mut Output) -> anyhow::Result<()> {
        while self.state.counts.waiting > 0 {
            match self.hear_batch(stream.next().await, out).await {
                Ok(()) => self.draw_bar(),
                Err(error) if is_lost(&error) => {
                    stream = self.come_back().await?;
                    // As where some of what happened cannot be told any more.
                    match self.resync(out).await {
                        Err(error) if !is_lost(&error) => return Err(error),
                        _ => self.draw_bar(),
                    }
                }
                Err(error) => return Err(error),
            }
        }
        if self.bar && io::stderr().is_terminal() {
            _ = writeln!(io::stderr());
        }
        Ok(())
    }

    async fn hear_batch(
        &mut self,
        batch: Option<Result<EventBatch, CallError>>,
        out: &mut Output,
    ) -> anyhow::Result<()> {
        match batch {
            Some(Ok(EventBatch::Events(events))) => {
                for event in events {
                    self.hear(event, out).await?;
                }
                Ok(())
            }
            // What comes behind this may tell of ends once more.
            Some(Ok(EventBatch::Reset { .. })) => self.resync(out).await,
            Some(Err(error)) => Err(error.into()),
            None => Err(CallError::Lost("the server ended the stream of events".to_owned()).into()),
        }
    }

    async fn hear(&mut self, event: Event, out: &mut Output) -> anyhow::Result<()> {
        match event.kind {
            EventKind::TasksFinished { workers, tasks, .. } => {
                let host = self.host(workers.first().copied()).await;
                for FinishedTask { task, started, ended, .. } in tasks {
                    let (host, exit) = (host.clone(), Exit::default());
                    self.end(RunEnded { id: task.0, host, started, ended, exit }, out).await?;
                }
            }
            EventKind::TaskFailed { task, error, run, .. } => {
                let host = self.host(run.as_ref().and_then(|run| run.workers.first().copied())).await;
                let (started, ended) = (run.map_or(event.at, |run| run.started), event.at);
                self.end(RunEnded { id: task.0, host, started, ended, exit: Exit::of_error(&error) }, out).await?;
            }
            // What was spared since it ran may run again: it waits now.
            EventKind::TaskRetried { .. } if self.state.halted.is_some() => self.cancel(How::Soon, HALTED).await?,
            EventKind::TasksCanceled { tasks, .. } => self.state.never(&tasks, TaskState::Canceled),
            EventKind::TasksAborted { tasks, .. } => self.state.never(&tasks, TaskState::Aborted),
            _ => {}
        }
        Ok(())
    }

    /// A run has ended, which may be known.
    pub(super) async fn end(&mut self, run: RunEnded, out: &mut Output) -> anyhow::Result<()> {
        let RunEnded { id, host, started, ended, exit } = run;
        if !self.state.is_first_end(id) {
            return Ok(());
        }
        let printed = self.outputs.map_or(0, |dir| fs::metadata(output(dir, id, "out")).map_or(0, |data| data.len()));
        let end = End { seq: id, host, started, ended, printed, exit };
        if let Some(log) = &mut self.log {
            log.add(&end, &self.plan.command(id))?;
        }
        let counts = &mut self.state.counts;
        counts.waiting = counts.waiting.saturating_sub(1);
        *counts.of_mut(if exit.is_success() { TaskState::Finished } else { TaskState::Failed }) += 1;
        self.print(id, exit.is_success(), out).await?;
        self.check_halt().await
    }

    async fn check_halt(&mut self) -> anyhow::Result<()> {
        let Some(halt) = self.halt.filter(|_| self.state.halted.is_none()) else { return Ok(()) };
        let counts = &self.state.counts;
        let reached = match halt.on {
            On::Fail => counts.failed,
            On::Success => counts.finished,
            On::Done => counts.failed + counts.finished,
        };
        if reached < halt.threshold(self.seqs.len() as u64) {
            return Ok(());
        }
        self.halt(halt.how, &format!("--halt: {reached} tasks have come to that")).await
    }

    async fn halt(&mut self, how: How, why: &str) -> anyhow::Result<()> {
        self.state.halted = Some(how);
        if self.state.counts.waiting > 0 {
            let what = match how {
                How::Now => "the others are cancelled",
                How::Soon => "no more are started",
            };
            warn!("{why}; {what}");
            self.cancel(how, HALTED).await?;
        }
        Ok(())
    }

    pub(super) async fn cancel(&mut self, how: How, reason: &str) -> anyhow::Result<()> {
        let jobs = self.job.into();
        let reason = Some(reason.to_owned());
        self.server
            .call(match how {
                How::Now => ClientRequest::CancelJobs { jobs, reason },
                How::Soon => ClientRequest::CancelWaiting { jobs, reason },
            })
            .await?;
        Ok(())
    }

    /// The name of a worker's host.
    async fn host(&mut self, worker: Option<WorkerId>) -> String {
        let Some(worker) = worker else { return String::new() };
        if let Some(host) = self.state.hosts.get(&worker) {
            return host.clone();
        }
        let found = self.server.workers(worker.into()).await.unwrap_or_default();
        let host = found.first().map_or_else(|| worker.to_string(), |worker| worker.config.hostname.clone());
        self.state.hosts.insert(worker, host.clone());
        host
    }

    /// What a task printed, or in order what those did that have ended.
    async fn print(&mut self, id: u32, ended_well: bool, out: &mut Output) -> anyhow::Result<()> {
        if !self.in_order {
            return self.print_one(id, ended_well, out).await;
        }
        self.state.waiting.insert(id, ended_well);
        while let Some(id) = self.seqs.get(self.state.printed).copied()
            && let Some(well) = self.state.waiting.remove(&id)
        {
            self.print_one(id, well, out).await?;
            self.state.printed += 1;
        }
        Ok(())
    }

    /// What is left to be printed where tasks before were cancelled.
    pub(super) async fn print_rest(&mut self, out: &mut Output) -> anyhow::Result<()> {
        for (id, ended_well) in std::mem::take(&mut self.state.waiting) {
            self.print_one(id, ended_well, out).await?;
        }
        Ok(())
    }

    async fn print_one(&self, id: u32, ended_well: bool, out: &mut Output) -> anyhow::Result<()> {
        let Some(dir) = self.outputs else { return Ok(()) };
        print(dir, id, ended_well, out).await?;
        self.remove_outputs(id);
        Ok(())
    }

    fn remove_outputs(&self, id: u32) {
        if let Some(dir) = self.outputs {
            // They go with their directory at last.
            ["out", "err"].into_iter().for_each(|channel| _ = fs::remove_file(output(dir, id, channel)));
        }
    }

    fn draw_bar(&self) {
        if !self.bar || !io::stderr().is_terminal() {
            return;
        }
        let line = task_bar(&self.state.counts, self.state.begun.elapsed().as_secs());
        // Nothing depends on this line.
        _ = write!(io::stderr(), "\r\x1b[2K{line}");
    }
}

/// Whether the connection ended, so that a server that comes back can be asked.
pub(super) fn is_lost(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(CallError::Lost(_)))
}
