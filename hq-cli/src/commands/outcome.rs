//! The exit code of who waits for jobs, where it is to tell how they ended.

use anyhow::bail;
use hq_core::{IdList, JobInfo, Selector, TaskState};

use crate::server::{Server, missing};

/// Tasks that were waited for did not all finish: the program ends with this exit code and says nothing more.
#[derive(Debug, thiserror::Error)]
#[error("not all tasks finished")]
pub(crate) struct NotAllFinished(pub(crate) u8);

/// Options of commands that wait.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct FailExitCode {
    /// Exit with CODE (1 if none is given) unless all tasks have finished; without this option the exit code is 0 however
    /// they end
    #[arg(
        long,
        value_name = "CODE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1",
        value_parser = clap::value_parser!(u8).range(1..)
    )]
    fail_exit_code: Option<u8>,
}

impl FailExitCode {
    /// Whether it was given.
    pub(crate) const fn is_given(self) -> bool {
        self.fail_exit_code.is_some()
    }

    /// The jobs that are meant now, where it will be looked how they have ended: `last` may be another one by then.
    ///
    /// # Errors
    /// Where the server cannot tell.
    pub(crate) async fn resolve(self, server: &Server, jobs: Selector) -> anyhow::Result<Selector> {
        Ok(match jobs {
            Selector::Last | Selector::All if self.is_given() => {
                let known = server.jobs(jobs).await?;
                Selector::Ids(IdList::from_numbers(known.iter().map(|job| job.id.0))?)
            }
            jobs => jobs,
        })
    }

    /// Looks how jobs have ended, if that is asked for.
    ///
    /// # Errors
    /// [`NotAllFinished`]; where a job is not there, or not any more; and where the server cannot tell.
    pub(crate) async fn check(self, server: &Server, jobs: Selector) -> anyhow::Result<()> {
        if !self.is_given() {
            return Ok(());
        }
        let known = server.jobs(jobs.clone()).await?;
        let ids: Vec<u32> = known.iter().map(|job| job.id.0).collect();
        if let Some(id) = missing(&jobs, &ids).first() {
            bail!("Job {id} was not found: how it ended is not known");
        }
        let has_failed = |job: &JobInfo| job.counts.of(TaskState::Finished) < job.counts.total();
        self.of(!known.iter().any(has_failed))
    }

    /// # Errors
    /// [`NotAllFinished`], where the option was given and not all is well.
    pub(crate) fn of(self, is_well: bool) -> anyhow::Result<()> {
        match self.fail_exit_code {
            Some(code) if !is_well => Err(NotAllFinished(code).into()),
            _ => Ok(()),
        }
    }
}
