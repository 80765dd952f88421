use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom},
    path::Path,
    time::Duration,
};

use anyhow::bail;
use hq_client::CallError;
use hq_core::{Instance, JobDetail, JobId, TaskInfo, TaskNumber, TaskOutput};
use hq_stream::{StreamDir, StreamError};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tracing::warn;

use super::cat::{Args, target, to_path};
use crate::{
    context::Context,
    listening::{Heard, Listening},
    output::Output,
    server::Server,
    view::{Programs, Target, TaskRow},
};

/// Workers write what they have read of streams after three quarters of a second.
const FILES_SETTLE: Duration = Duration::from_secs(1);
/// Files that tasks write themselves are looked at that often, which people take for at once.
const FILES_PERIOD: Duration = Duration::from_millis(200);
/// After so many looks, the server is asked which tasks have started and ended.
const LOOKS: u32 = 5;

/// Prints what there is of one job's output, and what comes, until the job has ended or the server is gone for good.
pub(super) async fn follow(args: &Args, job: JobId, server: &Server, context: &mut Context) -> anyhow::Result<()> {
    let mut live = Listening::new(server, job, server.listen(job).await?);
    // Looked at after we began to listen, so that nothing lies between.
    let Some(detail_now) = detail(server, job).await? else { bail!("Job {job} was forgotten") };
    let mut reader = Reader { args, detail: detail_now, places: BTreeMap::new(), over: BTreeSet::new(), last: None };
    reader.print_files(&mut context.out)?;
    context.out.flush()?;
    // What was printed before is in the files by then.
    let settled = sleep(FILES_SETTLE);
    tokio::pin!(settled);
    let mut is_settled = false;
    let mut looks = interval(FILES_PERIOD);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut count = 0_u32;
    loop {
        let heard = tokio::select! {
            heard = live.next() => heard?,
            _ = looks.tick() => {
                count = count.wrapping_add(1);
                if count.is_multiple_of(LOOKS) {
                    match detail(server, job).await {
                        Ok(Some(detail)) => reader.detail = detail,
                        // The end of the listening tells more.
                        Ok(None) | Err(_) => continue,
                    }
                }
                reader.print_own_files(&mut context.out)?;
                context.out.flush()?;
                continue;
            }
            () = &mut settled, if !is_settled => {
                is_settled = true;
                reader.print_files(&mut context.out)?;
                context.out.flush()?;
                continue;
            }
        };
        match heard {
            Heard::Outputs(outputs) => {
                for output in &outputs {
                    reader.print_live(output, &mut context.out)?;
                }
                context.out.flush()?;
            }
            Heard::End => break,
            Heard::Gone if live.resume().await? => {
                match detail(server, job).await {
                    Ok(Some(detail)) => reader.detail = detail,
                    // Heard at the next look.
                    Ok(None) | Err(CallError::Lost(_)) => {}
                    Err(error) => return Err(error.into()),
                }
                if reader.has_live() {
                    warn!("The server is back: what tasks printed meanwhile that goes into no file is lost");
                }
                // What was printed meanwhile is in files, or will be as above.
                reader.print_files(&mut context.out)?;
                context.out.flush()?;
                settled.set(sleep(FILES_SETTLE));
                is_settled = false;
            }
            Heard::Gone => return Ok(()),
        }
    }
    match detail(server, job).await? {
        Some(detail) => reader.detail = detail,
        None => warn!("Job {job} has left the books of the server: of tasks that started last nothing may be shown"),
    }
    reader.print_files(&mut context.out)
}

/// None where there is no such job any more.
async fn detail(server: &Server, job: JobId) -> Result<Option<JobDetail>, CallError> {
    server.whole_job(job.into(), true).await
}

/// Bytes of a stream that are printed at a time.
const PORTION: usize = 1 << 20;

/// How far the output of each task is printed.
struct Reader<'a> {
    args: &'a Args,
    detail: JobDetail,
    places: BTreeMap<TaskNumber, Place>,
    /// Runs that have ended and whose files are printed.
    over: BTreeSet<(TaskNumber, Instance)>,
    /// The task that was printed last.
    last: Option<TaskNumber>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    instance: Instance,
    /// Bytes of this run that are printed, or known to be lost.
    at: u64,
}

impl Reader<'_> {
    /// Prints from files and stream directories what is there and not printed.
    fn print_files(&mut self, out: &mut Output) -> anyhow::Result<()> {
        let detail = self.detail.clone();
        let (programs, mut dirs) = (Programs::new(&detail), BTreeMap::new());
        for info in detail.tasks.iter().filter(|info| info.started.is_some()) {
            if !self.is_wanted(info.number) {
                continue;
            }
            let row = &TaskRow { number: info.number, state: info.state, info: Some(info) };
            let target = target(&programs, row, self.args.channel);
            let instance = row.info.map_or(Instance(0), |info| info.instance);
            match &target {
                Target::None | Target::Live => {}
                Target::File(path) => self.print_file(to_path(path), row.number, instance, out)?,
                Target::Stream(dir) => {
                    let opened = dirs
                        .entry(dir.clone())
                        .or_insert_with(|| StreamDir::open(to_path(dir), Some(&detail.server_uid)).ok());
                    if let Some(stream) = opened {
                        self.print_stream(stream, row.number, instance, u64::MAX, out)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether something goes to those who listen and nowhere else.
    fn has_live(&self) -> bool {
        let programs = Programs::new(&self.detail);
        let started = self.detail.tasks.iter().filter(|info| self.is_wanted(info.number));
        let mut rows = started.map(|info| TaskRow { number: info.number, state: info.state, info: Some(info) });
        rows.any(|row| matches!(target(&programs, &row, self.args.channel), Target::Live))
    }

    /// The same of the files alone that tasks write themselves, and of runs that may have written more.
    fn print_own_files(&mut self, out: &mut Output) -> anyhow::Result<()> {
        let programs = Programs::new(&self.detail);
        let started = self.detail.tasks.iter().filter(|info| info.started.is_some());
        let is_over = |info: &TaskInfo| self.over.contains(&(info.number, info.instance));
        let open = started.filter(|info| self.is_wanted(info.number) && !is_over(info));
        let place = |info: &TaskInfo| {
            let row = TaskRow { number: info.number, state: info.state, info: Some(info) };
            (info.number, info.instance, info.state.is_end(), target(&programs, &row, self.args.channel))
        };
        let open: Vec<_> = open.map(place).collect();
        for (task, instance, is_end, target) in open {
            if let Target::File(path) = target {
                self.print_file(to_path(&path), task, instance, out)?;
            }
            if is_end {
                self.over.insert((task, instance));
            }
        }
        Ok(())
    }

    fn print_file(
        &mut self,
        path: &Path,
        task: TaskNumber,
        instance: Instance,
        out: &mut Output,
    ) -> anyhow::Result<()> {
        let place = self.place(task, instance);
        let Ok(mut file) = File::open(path) else { return Ok(()) };
        let len = file.metadata()?.len();
        if len > place.at {
            file.seek(SeekFrom::Start(place.at))?;
            self.head(task, out)?;
            // Not more than that, and how much it was: the file may grow meanwhile, or shrink.
            let mut fresh = BufReader::new(file.take(len - place.at));
            out.copy(&mut fresh)?;
            self.places.insert(task, Place { instance, at: len - fresh.get_ref().limit() });
        }
        Ok(())
    }

    /// Prints from a stream directory what comes before byte `end` and is not printed.
    fn print_stream(
        &mut self,
        stream: &StreamDir,
        task: TaskNumber,
        instance: Instance,
        end: u64,
        out: &mut Output,
    ) -> anyhow::Result<()> {
        let job = self.detail.info.id;
        if !stream.task(job, task).is_ok_and(|info| info.run.instance == instance) {
            return Ok(());
        }
        let mut place = self.place(task, instance);
        // Handed on in portions: an output may be large.
        let mut portion: Vec<u8> = vec![];
        let copied = stream.copy_pieces(job, task, self.args.channel.into(), |offset, bytes| {
            let begin = place.at.saturating_sub(offset).min(bytes.len() as u64) as usize;
            let stop = end.saturating_sub(offset).min(bytes.len() as u64) as usize;
            let fresh = bytes.get(begin..stop).unwrap_or_default();
            if fresh.is_empty() {
                return Ok(());
            }
            if offset > place.at {
                warn!("Task {task}: {} bytes of its output are lost", offset - place.at);
            }
            place.at = offset + stop as u64;
            portion.extend_from_slice(fresh);
            if portion.len() >= PORTION {
                self.head(task, out)?;
                out.raw(&std::mem::take(&mut portion))?;
            }
            anyhow::Ok(())
        });
        copied.or_else(|error| if error.is::<StreamError>() { Ok(()) } else { Err(error) })?;
        if !portion.is_empty() {
            self.head(task, out)?;
            out.raw(&portion)?;
        }
        self.places.insert(task, place);
        Ok(())
    }

    /// Prints what came through the server.
    fn print_live(&mut self, output: &TaskOutput, out: &mut Output) -> anyhow::Result<()> {
        let TaskOutput { task, instance, channel, offset, data } = output;
        if *channel != hq_core::Channel::from(self.args.channel) || !self.is_wanted(*task) {
            return Ok(());
        }
        if self.place(*task, *instance).at < *offset {
            self.fill(*task, *instance, *offset, out)?;
        }
        let place = self.place(*task, *instance);
        if place.at < *offset {
            warn!("Task {task}: {} bytes of its output came too early or too fast to be followed", offset - place.at);
        }
        let known = usize::try_from(place.at.saturating_sub(*offset)).unwrap_or(usize::MAX);
        if let Some(new) = data.get(known..).filter(|new| !new.is_empty()) {
            self.head(*task, out)?;
            out.raw(new)?;
            self.places.insert(*task, Place { instance: *instance, at: offset + data.len() as u64 });
        }
        Ok(())
    }

    /// Looks in the stream directory for what was not heard.
    fn fill(&mut self, task: TaskNumber, instance: Instance, end: u64, out: &mut Output) -> anyhow::Result<()> {
        let row = TaskRow { number: task, state: hq_core::TaskState::Running, info: None };
        let target = target(&Programs::new(&self.detail), &row, self.args.channel);
        let Target::Stream(dir) = target else { return Ok(()) };
        match StreamDir::open(to_path(&dir), Some(&self.detail.server_uid)) {
            Ok(stream) => self.print_stream(&stream, task, instance, end, out),
            Err(_) => Ok(()),
        }
    }

    fn is_wanted(&self, task: TaskNumber) -> bool {
        self.args.tasks.as_ref().is_none_or(|tasks| tasks.index_of(task.0).is_some())
    }

    /// Where a run is; a later run begins anew.
    fn place(&mut self, task: TaskNumber, instance: Instance) -> Place {
        let place = self.places.entry(task).or_insert(Place { instance, at: 0 });
        if place.instance < instance {
            if place.at > 0 {
                warn!("Task {task} was started again; its output begins anew");
            }
            *place = Place { instance, at: 0 };
        }
        *place
    }

    fn head(&mut self, task: TaskNumber, out: &mut Output) -> anyhow::Result<()> {
        if self.args.print_task_header && self.last != Some(task) {
            out.line(&format!("# Job {}, task {task}", self.detail.info.id))?;
        }
        self.last = Some(task);
        Ok(())
    }
}
