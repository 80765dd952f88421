use std::{future::ready, path::Path};

use hq_client::{CallError, EventBatch, EventStream};
use hq_core::{ClientReply, ClientRequest, Selector, Seq, ServerInfo, WallTime};
use tracing::debug;

use super::{FileLog, rebuilt::rebuilt};
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
    let (told, reorder) = (EventLines::default(), Reorder::new(REORDER));
    let mut printer = Printer { told, filter, reorder, lines: vec![] };
    let from = match journal(server, &info).await? {
        Some(mut log) => {
            while log.tell(&mut printer.told, &mut printer.lines)? {
                // A stop belongs to an earlier life of the server.
                printer.lines.retain(|line| line.kind() != "server-stop");
                printer.print(out)?;
            }
            log.next_seq()
        }
        None => Seq(1),
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
                Ok(EventBatch::Events(events)) => {
                    let fresh = events.iter().filter(|event| event.at > until);
                    fresh.for_each(|event| printer.told.tell(event, &mut printer.lines));
                }
                Ok(EventBatch::Reset { .. }) => {
                    debug!("the server does not remember all that happened; it is told by what is there now");
                    let workers = server.workers(Selector::All).await?;
                    let jobs = server.whole_jobs().await?;
                    let events = rebuilt(&info, &workers, &jobs);
                    until = events.last().map_or(until, |event| event.at);
                    events.iter().for_each(|event| printer.told.tell(event, &mut printer.lines));
                }
                Err(CallError::Lost(_)) => {}
                Err(error) => return Err(error.into()),
            }
            printer.print(out)?;
        }
        if count == 0 {
            printer.finish(out)?;
            return Ok(Past { told: printer.told, stream, until });
        }
    }
}

/// The server's journal, with everything in it that has happened, if this process can read it.
async fn journal(server: &Server, info: &ServerInfo) -> Result<Option<FileLog>, CallError> {
    let Some(path) = &info.journal else { return Ok(None) };
    match server.call(ClientRequest::FlushJournal).await {
        Ok(_) => {}
        // What could be made safe is in the file; what could not is told by the server.
        Err(CallError::Refused(refusal)) => debug!("{refusal}"),
        Err(error) => return Err(error),
    }
    match FileLog::open(Path::new(path)) {
        Ok(log) if log.server_uid() == Some(&info.server_uid) => Ok(Some(log)),
        Ok(_) => Ok(None),
        Err(error) => {
            debug!("the journal cannot be read from here: {error:#}");
            Ok(None)
        }
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
