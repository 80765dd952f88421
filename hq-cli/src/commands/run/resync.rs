//! The ends of tasks out of the books of the server, where it has dropped what happened or was started again.

use anyhow::bail;
use hq_client::{CallError, EventStream};
use hq_core::{ClientRequest, DetailPart, IdList, JobDetail, Refusal, TaskState, WallTime, WorkerId};

use super::{
    ends::Exit,
    follow::{Follow, HALTED, RunEnded, is_lost},
};
use crate::output::Output;

impl Follow<'_> {
    /// The server went away: looks for the one that follows it, binds the job to this process once more and listens. What
    /// happened meanwhile is in its books.
    ///
    /// # Errors
    /// If none is looked for, if it does not come back in time, and if it does not know the job any more.
    pub(super) async fn come_back(&mut self) -> anyhow::Result<EventStream> {
        while self.server.come_back().await? {
            match self.take_up().await {
                Err(error) if is_lost(&error) => {}
                result => return result,
            }
        }
        bail!("the server is gone (with --reconnect-timeout, `hq run` goes on where it is started again)")
    }

    async fn take_up(&mut self) -> anyhow::Result<EventStream> {
        match self.server.call(ClientRequest::Bind(self.job)).await {
            // It was closed meanwhile: what has ended is known still.
            Ok(_) | Err(CallError::Refused(Refusal::NotOpen(_))) => {}
            Err(CallError::Refused(Refusal::NoJob(job))) => {
                bail!("job {job} is over, and the server does not know any more how: see `hq journal report`")
            }
            Err(error) => return Err(error.into()),
        }
        let stream = self.server.subscribe(None, Some(vec![self.job])).await?;
        if let Some(how) = self.state.halted {
            // It may not have heard of it, and what was spared may wait to be run again.
            self.cancel(how, HALTED).await?;
        }
        Ok(stream)
    }

    /// Takes all ends that have not been heard of.
    ///
    /// # Errors
    /// As [`follow`](Self::follow).
    pub(super) async fn resync(&mut self, out: &mut Output) -> anyhow::Result<()> {
        let server = self.server;
        let mut details = server.job_details(self.job, DetailPart::default());
        while let Some(piece) = details.next().await? {
            let (ended, never) = ends(&piece.detail);
            for run in ended {
                self.end(run, out).await?;
            }
            never.iter().for_each(|(state, ids)| self.state.never(ids, *state));
        }
        Ok(())
    }
}

/// Runs that have come to their ends, and tasks that never will.
fn ends(detail: &JobDetail) -> (Vec<RunEnded>, Vec<(TaskState, IdList)>) {
    let host = |worker: Option<&WorkerId>| {
        let name = worker.and_then(|worker| detail.workers.iter().find(|(id, _)| id == worker));
        name.map(|(_, name)| name.clone()).unwrap_or_default()
    };
    let is_never = |state: &TaskState| matches!(state, TaskState::Canceled | TaskState::Aborted);
    let mut ended = vec![];
    let mut never: Vec<_> = detail.rest.iter().filter(|(state, _)| is_never(state)).cloned().collect();
    for task in &detail.tasks {
        let exit = match task.state {
            TaskState::Waiting | TaskState::Running => continue,
            TaskState::Canceled | TaskState::Aborted => {
                never.push((task.state, IdList::range(task.number.0, 1)));
                continue;
            }
            TaskState::Finished => Exit::default(),
            TaskState::Failed => Exit::of_error(task.error.as_deref().unwrap_or_default()),
        };
        let at = task.ended.or(task.started).unwrap_or(WallTime(0));
        let (id, host) = (task.number.0, host(task.workers.first()));
        ended.push(RunEnded { id, host, started: task.started.unwrap_or(at), ended: at, exit });
    }
    (ended, never)
}

#[cfg(test)]
mod tests {
    use hq_core::TaskInfo;

    use super::*;
    use crate::{commands::run::follow::Progress, testing::samples};

    #[test]
    fn the_books_tell_what_was_not_heard_and_nothing_twice() {
        let mut detail = samples::running_array();
        let state = |task: &mut TaskInfo, state| (task.state, task.error) = (state, Some("exit code 3".to_owned()));
        state(&mut detail.tasks[1], TaskState::Failed);
        state(&mut detail.tasks[5], TaskState::Canceled);
        detail.rest = vec![(TaskState::Waiting, IdList::range(18, 1)), (TaskState::Aborted, IdList::range(19, 1))];
        let (ended, never) = ends(&detail);
        let ids: Vec<_> = ended.iter().map(|run| (run.id, run.exit.is_success())).collect();
        assert_eq!(ids, [(10, true), (11, false), (12, true), (13, true)]);
        assert!(ended.iter().all(|run| run.host.starts_with("worker") && run.ended > run.started));
        let mut progress = Progress::of(10);
        assert!(progress.is_first_end(12) && !progress.is_first_end(12));
        for _ in 0..2 {
            never.iter().for_each(|(state, ids)| progress.never(ids, *state));
            let counts = &progress.counts;
            assert_eq!((counts.canceled, counts.aborted, counts.waiting), (1, 1, 8));
        }
    }
}
