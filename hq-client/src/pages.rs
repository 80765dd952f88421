use hq_core::{ClientReply, ClientRequest, DetailPart, JobDetail, JobInfo, Page, Selector, TaskNumber, WorkerInfo};

use crate::{CallError, Client, calls::unexpected};

impl Client {
    /// These jobs, by id.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn jobs(&self, jobs: Selector) -> Result<Vec<JobInfo>, CallError> {
        self.all_pages(jobs, ClientRequest::Jobs, |reply| match reply {
            ClientReply::Jobs(page) => Ok(page),
            other => Err(unexpected(other)),
        })
        .await
    }

    /// These workers, by id; with [`Selector::All`] also those that have ended.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn workers(&self, workers: Selector) -> Result<Vec<WorkerInfo>, CallError> {
        self.all_pages(workers, ClientRequest::Workers, |reply| match reply {
            ClientReply::Workers(page) => Ok(page),
            other => Err(unexpected(other)),
        })
        .await
    }

    async fn all_pages<T>(
        &self,
        mut selector: Selector,
        request: fn(Selector) -> ClientRequest,
        page: fn(ClientReply) -> Result<Page<T>, CallError>,
    ) -> Result<Vec<T>, CallError> {
        let mut items = Vec::new();
        loop {
            let page = page(self.call(request(selector.clone())).await?)?;
            items.extend(page.items);
            let Some(next) = page.next else { return Ok(items) };
            selector = selector.from(next);
        }
    }

    /// Jobs with what they are made of, piece by piece; of tasks, only those that `part` wants.
    pub const fn details(&self, jobs: Selector, part: DetailPart) -> Details<'_> {
        Details { client: self, jobs, part, current: None, ready: vec![], is_over: false }
    }

    /// Jobs with all they are made of, at once: for jobs of which one knows that they are small.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn whole_details(&self, jobs: Selector, bodies: bool) -> Result<Vec<JobDetail>, CallError> {
        let mut details = self.details(jobs, DetailPart::whole(bodies));
        let mut whole: Vec<JobDetail> = Vec::new();
        while let Some(piece) = details.next().await? {
            match whole.last_mut() {
                Some(job) if !piece.is_first => {
                    // The piece has all submits by now.
                    job.submits.clear();
                    job.append(piece.detail);
                }
                _ => whole.push(piece.detail),
            }
        }
        Ok(whole)
    }
}

/// Jobs in all details, as they come.
#[derive(Debug)]
pub struct Details<'a> {
    client: &'a Client,
    jobs: Selector,
    part: DetailPart,
    /// The job that goes on in the next piece: all of its submits that were told, and no task.
    current: Option<JobDetail>,
    /// What has come and was not given out, last first.
    ready: Vec<DetailPiece>,
    is_over: bool,
}

/// Some tasks of a job, by number, after those of the pieces before.
#[derive(Debug)]
pub struct DetailPiece {
    /// The job, with all its submits.
    pub detail: JobDetail,
    /// No piece of this job came before.
    pub is_first: bool,
    /// None comes after.
    pub is_last: bool,
}

impl Details<'_> {
    /// The next piece; nothing after the last.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn next(&mut self) -> Result<Option<DetailPiece>, CallError> {
        loop {
            if let Some(piece) = self.ready.pop() {
                return Ok(Some(piece));
            }
            if self.is_over {
                return Ok(None);
            }
            self.fetch().await?;
        }
    }

    async fn fetch(&mut self) -> Result<(), CallError> {
        let request = ClientRequest::JobDetails { jobs: self.jobs.clone(), part: self.part.clone() };
        let page = match self.client.call(request).await? {
            ClientReply::JobDetails(page) => page,
            other => return Err(unexpected(other)),
        };
        if let (Selector::Last, Some(job)) = (&self.jobs, page.jobs.first()) {
            // Another one may be the last by the time of the next piece.
            self.jobs = job.info.id.into();
        }
        let count = page.jobs.len();
        for (i, mut detail) in page.jobs.into_iter().enumerate() {
            let known = self.current.take().filter(|known| known.info.id == detail.info.id);
            let mut is_first = known.is_none();
            if let Some(known) = known {
                let fresh = std::mem::replace(&mut detail.submits, known.submits);
                detail.submits.extend(fresh);
                // Until all submits are there, nothing was given out.
                is_first = self.part.from.task == TaskNumber(0);
            }
            let goes_on = page.next.filter(|next| i + 1 == count && next.job == detail.info.id);
            if goes_on.is_some() {
                self.current =
                    Some(JobDetail { submits: detail.submits.clone(), tasks: vec![], rest: vec![], ..detail.clone() });
            }
            if goes_on.is_none_or(|next| next.task > TaskNumber(0)) {
                self.ready.push(DetailPiece { detail, is_first, is_last: goes_on.is_none() });
            }
        }
        self.ready.reverse();
        match page.next {
            Some(next) => self.part.from = next,
            None => self.is_over = true,
        }
        Ok(())
    }
}
