use std::{fs::OpenOptions, io::Write, os::unix::fs::OpenOptionsExt, path::PathBuf};

use anyhow::{Context as _, bail};
use hq_core::{Event, Span, WallTime};

use crate::{
    context::Context,
    journal::{
        FileLog,
        report::{Tally, Window, page},
    },
    parse,
};

/// Options of `journal report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq journal report ~/hq.journal report.html
  hq journal report ~/hq.journal report.html --start-time 1h --end-time 2h")]
pub(crate) struct Args {
    /// The journal
    journal: PathBuf,
    /// Where the page goes
    output: PathBuf,
    /// From so long after the server's start on
    #[arg(long, value_name = "DURATION", value_parser = parse::reader(parse::span))]
    start_time: Option<Span>,
    /// Until so long after the server's start
    #[arg(long, value_name = "DURATION", value_parser = parse::reader(parse::span))]
    end_time: Option<Span>,
}

/// Writes a page about what is in a journal.
pub(crate) fn run(args: &Args, _: &mut Context) -> anyhow::Result<()> {
    // Twice through the file, so that what is remembered does not grow with the tasks.
    let (mut first, mut last) = (None, WallTime(0));
    each_event(args, |event| {
        first.get_or_insert(event.at);
        last = last.max(event.at);
    })?;
    let Some(first) = first else { bail!("{:?} has no events", args.journal) };
    let after = |span: Span| WallTime(first.0.saturating_add(span.0));
    let window =
        Window { start: args.start_time.map_or(first, after), end: args.end_time.map_or(last, after).min(last) };
    if window.start > window.end {
        bail!("nothing is left: the journal ends {} after its start", Span(last.0.saturating_sub(first.0)));
    }
    let mut tally = Tally::new(window);
    each_event(args, |event| tally.see(event))?;
    let html = page(&tally.finish());
    let path = &args.output;
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| file.write_all(html.as_bytes()));
    written.with_context(|| format!("cannot write {path:?}"))
}

fn each_event(args: &Args, mut see: impl FnMut(&Event)) -> anyhow::Result<()> {
    let mut log = FileLog::open(&args.journal)?;
    let mut events = Vec::new();
    while log.next_events(&mut events)?.is_some() {
        events.drain(..).for_each(|event| see(&event));
    }
    Ok(())
}
