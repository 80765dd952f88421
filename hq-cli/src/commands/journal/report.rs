use std::{io::Write, path::PathBuf};

use anyhow::{Context as _, bail};
use hq_core::{Event, Span, WallTime};

use crate::{
    context::Context,
    journal::{
        FileLog,
        report::{Tally, Window, page},
    },
    output::PrivateFile,
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
    let mut file = PrivateFile::create(&args.output)?;
    file.write_all(html.as_bytes()).with_context(|| format!("cannot write {:?}", args.output))?;
    file.finish()
}

fn each_event(args: &Args, mut see: impl FnMut(&Event)) -> anyhow::Result<()> {
    let mut log = FileLog::open(&args.journal)?;
    let mut events = Vec::new();
    while log.next_events(&mut events)?.is_some() {
        events.drain(..).for_each(|event| see(&event));
    }
    Ok(())
}
