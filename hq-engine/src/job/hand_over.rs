use hq_core::{ClientReply, ClientRequest, JobId, JobTarget, Selector, Seq, Submit};

use super::{Handed, Job, Plan};
use crate::{EngineError, EngineHandle, JobHandle};

impl Job {
    pub(crate) async fn hand_over(self, engine: &EngineHandle) -> Result<JobHandle, EngineError> {
        let Plan { spec, mut submits, handed } = Plan::new(self, engine.closures())?;
        let (job, since) = if submits.len() == 1 {
            submit(engine, submits.remove(0)).await?
        } else {
            // Kinds of bodies differ: the job is open until all submits are in.
            let (reply, since) = engine.call_since(ClientRequest::OpenJob(spec)).await?;
            let ClientReply::Opened { job } = reply else { return Err(EngineError::Unexpected(Box::new(reply))) };
            let selector: Selector = job.into();
            for part in submits {
                if let Err(e) = submit(engine, Submit { job: JobTarget::Attach(job), ..part }).await {
                    let reason = Some("the rest of the job was refused".to_owned());
                    engine.call(ClientRequest::CancelJobs { jobs: selector.clone(), reason }).await?;
                    engine.call(ClientRequest::CloseJobs(selector)).await?;
                    return Err(e);
                }
            }
            engine.call(ClientRequest::CloseJobs(selector)).await?;
            (job, since)
        };
        if !handed.is_empty() {
            keep(engine, job, handed).await?;
        }
        Ok(JobHandle::new(job, Some(since), engine.clone()))
    }
}

async fn submit(engine: &EngineHandle, submit: Submit) -> Result<(JobId, Seq), EngineError> {
    match engine.call_since(ClientRequest::Submit(Box::new(submit))).await? {
        (ClientReply::Submitted { job }, since) => Ok((job, since)),
        (other, _) => Err(EngineError::Unexpected(Box::new(other))),
    }
}

/// Keeps the closures of a job until it has ended.
async fn keep(engine: &EngineHandle, job: JobId, handed: Handed) -> Result<(), EngineError> {
    let request = ClientRequest::WaitJobs { jobs: job.into(), until_closed: true };
    engine.ask(request, crate::driver::Answer::Keep(handed)).await.map(|_| ())
}
