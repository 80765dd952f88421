use std::{
    fs,
    io::{self, Read as _},
    path::Path,
};

use anyhow::{Context as _, bail};
use clap::{ValueEnum, builder::PossibleValue};
use hq_sim::workload::{self, Format, Input, ReadError, Workload};

use super::Args;

/// The format of an input.
#[derive(Clone, Copy, Debug)]
pub(super) struct FormatArg(Format);

impl ValueEnum for FormatArg {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [FormatArg; Format::ALL.len()] = {
            let mut all = [FormatArg(Format::Jobs); Format::ALL.len()];
            let mut i = 0;
            while i < all.len() {
                all[i] = FormatArg(Format::ALL[i]);
                i += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(self.0.name().into())
    }
}

/// What is to run, as the options want it.
///
/// # Errors
/// For what cannot be read, with its place and what to do.
pub(super) fn read(args: &Args) -> anyhow::Result<Input> {
    let name = if is_stdin(&args.input) { "standard input".into() } else { args.input.display().to_string() };
    let text = read_text(&args.input).with_context(|| format!("cannot read {name}"))?;
    let format = args.format.map(|FormatArg(format)| format);
    let input = workload::read(&short_name(&args.input), &text, format, args.graph.as_deref());
    let mut input = input.map_err(|error| match error {
        ReadError::Unknown => anyhow::Error::from(error).context(format!("{name}: use --format")),
        ReadError::Several(_) | ReadError::NoGraph { .. } => {
            anyhow::Error::from(error).context(format!("{name}: use --graph NAME"))
        }
        error => anyhow::Error::from(error).context(name.clone()),
    })?;
    if let Some(limit) = args.limit_jobs {
        input.workload = first(&input.workload, limit)?;
    }
    if args.perfect_estimates {
        input.workload = input.workload.with_perfect_estimates();
    }
    if args.critical_path_first {
        input.workload = input.workload.by_b_level();
    }
    if input.workload.jobs().is_empty() {
        bail!("{name}: there is nothing to run in it");
    }
    Ok(input)
}

/// The first tasks; those they wait for are among them, since these come first.
fn first(workload: &Workload, limit: usize) -> anyhow::Result<Workload> {
    let jobs = workload.jobs().iter().take(limit).cloned().collect();
    Ok(Workload::new(workload.name(), jobs)?)
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn short_name(path: &Path) -> String {
    match path.file_name() {
        Some(name) if !is_stdin(path) => name.to_string_lossy().into_owned(),
        _ => "standard input".to_owned(),
    }
}

const GZIP: &[u8] = &[0x1f, 0x8b];

/// A text from a file or from standard input.
///
/// # Errors
/// Also for what is compressed, and for what is not UTF-8.
pub(super) fn read_text(path: &Path) -> anyhow::Result<String> {
    let bytes = if is_stdin(path) {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes)?;
        bytes
    } else {
        fs::read(path)?
    };
    if bytes.starts_with(GZIP) {
        bail!("it is compressed; decompress it first: gzip -dc {} | hq simulate -", path.display());
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.len() - before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1) + 1;
        anyhow::anyhow!("line {line}, byte {column}: it is not text (UTF-8)")
    })
}
