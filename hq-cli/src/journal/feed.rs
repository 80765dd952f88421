use std::{future::ready, path::Path};

use hq_client::{CallError, EventBatch, EventStream};
use hq_core::{ClientReply, ClientRequest, DetailPart, Selector, Seq, ServerInfo, WallTime};
use tracing::{debug, warn};

use super::{
    FileLog,
    rebuilt::{cluster_events, job_events},
};
use crate::{
    commands::Filter,
    output::Output,
    server::{Server, unexpected},
    view::{EventLine, EventLines, Reorder},
};

/// Lines that are held back so that they come in the order of their times.
const REORDER: usize = 65_536;

/// What follows the past.
pub(crate) struct Past {
    /// What has been told.
    pub(crate) told: EventLines,
    /// What comes next.
    pub(crate) stream: EventStream,
    /// What is told already although it may come again: nothing after this moment.
    pub(crate) until: WallTime,
    /// Number of the last event that has been told.
    pub(crate) last: Seq,
}

/// Prints what has happened since the server's journal, or else the server, began: out of the journal file where it
/// can be reached, else from the server's memory.
///
/// # Errors
/// As for any call; and where the journal is damaged.
pub(crate) async fn tell_past(server: &Server, filter: &Filter, out: &mut Output) -> anyhow::Result<Past> {
    let info = match server.call(ClientRequest::ServerInfo).await? {
        ClientReply::Server(info) => info,
        other => return Err(unexpected(other).into()),
    };
    let printer = Printer { told: EventLines::default(), filter, reorder: Reorder::new(REORDER), lines: vec![] };
    tell_from(server, out, &info, printer, None).await
}

/// Prints what has happened since event `last` (none: since the beginning), as [`tell_past`] does, and what follows.
///
/// # Errors
/// As [`tell_past`].
pub(crate) async fn tell_missed(server: &Server, filter: &Filter, out: &mut Output, last: Seq) -> anyhow::Result<Past> {
    let info = match server.call(ClientRequest::ServerInfo).await? {
        ClientReply::Server(info) => info,
        other => return Err(unexpected(other).into()),
    };
    let printer = Printer { told: EventLines::default(), filter, reorder: Reorder::new(REORDER), lines: vec![] };
    tell_from(server, out, &info, printer, Some(last)).await
}

async fn tell_from(
    server: &Server,
    out: &mut Output,
    info: &ServerInfo,
    mut printer: Printer<'_>,
    after: Option<Seq>,
) -> anyhow::Result<Past> {
    let mut last = after.unwrap_or_default();
    let mut log = journal(server, info).await?;
    let from = match &mut log {
        Some(log) => {
            printer.read(log, after, out)?;
            last = last.max(log.last());
            log.next_seq()
        }
        None => last.next(),
    };
    let mut stream = server.subscribe(Some(from), None).await?;
    let mut until = WallTime(0);
    loop {
        // Whatever was sent before the answer to this is there by then.
        match server.call(ClientRequest::ServerInfo).await {
            Ok(_) | Err(CallError::Lost(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let mut count = 0;
        while let Some(batch) = at_once(&mut stream).await {
            count += 1;
            match batch {
                // What the server does not remember is in the file by now, behind what was read: nothing is told twice.
                Ok(EventBatch::Reset { .. }) if let Some(log) = &mut log => {
                    flush(server).await?;
                    printer.read(log, after, out)?;
                    last = last.max(log.last());
                    stream = server.subscribe(Some(log.next_seq()), None).await?;
                }
                Ok(EventBatch::Events(events)) => {
                    last = events.last().map_or(last, |event| last.max(event.seq));
                    let fresh = events.iter().filter(|event| event.at > until);
                    fresh.for_each(|event| printer.told.tell(event, &mut printer.lines));
                }
                Ok(EventBatch::Reset { .. }) if after.is_some() => {
                    warn!(
                        "Some events are lost: the server does not remember them, and its journal cannot be read here"
                    );
                }
                Ok(EventBatch::Reset { .. }) => {
                    debug!("the server does not remember all that happened; it is told by what is there now");
                    until = printer.rebuild(server, info, out).await?;
                }
                Err(CallError::Lost(_)) => {}
                Err(error) => return Err(error.into()),
            }
            printer.print(out)?;
        }
        if count == 0 {
            printer.finish(out)?;
            return Ok(Past { told: printer.told, stream, until, last });
        }
    }
}

/// The server's journal, with everything in it that has happened, if this process can read it.
async fn journal(server: &Server, info: &ServerInfo) -> Result<Option<FileLog>, CallError> {
    let Some(path) = &info.journal else { return Ok(None) };
    flush(server).await?;
    match FileLog::open(Path::new(path)) {
        Ok(log) if log.server_uid() == Some(&info.server_uid) => Ok(Some(log)),
        Ok(_) => Ok(None),
        Err(error) => {
            debug!("the journal cannot be read from here: {error:#}");
            Ok(None)
        }
    }
}

async fn flush(server: &Server) -> Result<(), CallError> {
    match server.call(ClientRequest::FlushJournal).await {
        Ok(_) => Ok(()),
        // What could be made safe is in the file; what could not is told by the server.
        Err(CallError::Refused(refusal)) => {
            debug!("{refusal}");
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// The next batch, if it is there.
async fn at_once(stream: &mut EventStream) -> Option<Result<EventBatch, CallError>> {
    tokio::select! {
        biased;
        batch = stream.next() => batch,
        () = ready(()) => None,
    }
}

struct Printer<'a> {
    told: EventLines,
    filter: &'a Filter,
    reorder: Reorder,
    /// Kept for its memory.
    lines: Vec<EventLine>,
}

impl Printer<'_> {
    /// Prints what the file has behind what was read of it, and behind event `after`.
    fn read(&mut self, log: &mut FileLog, after: Option<Seq>, out: &mut Output) -> anyhow::Result<()> {
        while log.tell(&mut self.told, &mut self.lines)? {
            // A stop belongs to an earlier life of the server.
            self.lines.retain(|line| line.kind() != "server-stop");
            if after.is_some_and(|after| log.last() <= after) {
                self.lines.clear();
            }
            self.print(out)?;
        }
        Ok(())
    }

    /// Prints what there is to be seen by what is there now, job by job: lines are in order as far as they are held back.
    /// Nothing of it happened after the moment that is returned.
    async fn rebuild(&mut self, server: &Server, info: &ServerInfo, out: &mut Output) -> anyhow::Result<WallTime> {
        let workers = server.workers(Selector::All).await?;
        let mut jobs = server.details(Selector::All, DetailPart::default());
        let (mut events, mut until) = (cluster_events(info, &workers), WallTime(0));
        loop {
            until = events.last().map_or(until, |event| until.max(event.at));
            events.iter().for_each(|event| self.told.tell(event, &mut self.lines));
            self.print(out)?;
            let Some(piece) = jobs.next().await? else { return Ok(until) };
            events = job_events(&piece);
        }
    }

    fn print(&mut self, out: &mut Output) -> anyhow::Result<()> {
        for line in self.lines.drain(..) {
            // Another life of the server: its clock may have been set back.
            if line.kind() == "server-start" {
                while let Some(line) = self.reorder.pop() {
                    line.write(|line| out.raw(line.as_bytes()))?;
                }
            }
            if !self.filter.wants(&line) {
                continue;
            }
            if let Some(line) = self.reorder.push(line) {
                line.write(|line| out.raw(line.as_bytes()))?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Output) -> anyhow::Result<()> {
        while let Some(line) = self.reorder.pop() {
            line.write(|line| out.raw(line.as_bytes()))?;
        }
        out.flush()
    }
}
