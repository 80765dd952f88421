use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use serde_json::json;

use crate::{context::Context, output::Mode};

/// Options of `doc`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq doc\n  hq doc resources\n  hq doc --open autoalloc")]
pub(crate) struct Args {
    /// Show it in a browser
    #[arg(long)]
    open: bool,
    /// About what
    area: Option<Area>,
}

/// What the manual is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Area {
    /// Jobs and tasks.
    #[value(aliases = ["jobs", "tasks"])]
    Job,
    /// Arrays of tasks.
    Taskarray,
    /// Resources of tasks and workers.
    Resources,
    /// Workers.
    #[value(aliases = ["workers"])]
    Worker,
    /// Workers asked for by themselves.
    #[value(aliases = ["pbs", "slurm"])]
    Autoalloc,
    /// The Python API.
    #[value(aliases = ["python"])]
    PythonApi,
    /// Commands at a glance.
    Cheatsheet,
    /// What is new.
    Changelog,
    /// Questions that are often asked.
    Faq,
}

/// Prints where the manual of this version is.
pub(crate) fn run(args: &Args, context: &mut Context) -> anyhow::Result<()> {
    let url = url(args.area);
    if args.open {
        let status = Command::new("xdg-open").arg(&url).stdin(Stdio::null()).stdout(Stdio::null()).status();
        let status = status.with_context(|| format!("cannot run xdg-open; the address is {url}"))?;
        if !status.success() {
            bail!("no browser shows {url}: xdg-open ended with {status}");
        }
    }
    match context.out.mode() {
        Mode::Cli => {
            context.out.line(&url)?;
            context.out.line(&format!(
                "This version is not published there yet. Here, without a network: {}",
                local(args.area)
            ))
        }
        Mode::Json => context.out.json(&json!({ "url": url })),
        Mode::Quiet => Ok(()),
    }
}

/// What of it is in this program.
const fn local(area: Option<Area>) -> &'static str {
    match area {
        None | Some(Area::Cheatsheet | Area::Changelog | Area::Faq | Area::PythonApi) => {
            "`hq COMMAND --help` with examples; all of it as manual pages: `hq generate-man DIR`"
        }
        Some(Area::Job | Area::Taskarray) => "`hq submit --help`, `hq job --help`, `hq task --help`, `hq run --help`",
        Some(Area::Resources) => {
            "`hq submit --help` (--cpus, --resource), `hq worker start --help`, `hq worker hwdetect`"
        }
        Some(Area::Worker) => "`hq worker --help`, `hq worker start --help`",
        Some(Area::Autoalloc) => "`hq alloc --help`, `hq alloc add --help`",
    }
}

fn url(area: Option<Area>) -> String {
    let root = concat!("https://docs.rs/hq-cli/", env!("CARGO_PKG_VERSION"), "/hq_cli/");
    match area.and_then(|area| area.to_possible_value()) {
        Some(area) => format!("{root}#{}", area.get_name()),
        None => root.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_and_their_other_names() {
        for (text, name) in [
            ("job", "job"),
            ("jobs", "job"),
            ("tasks", "job"),
            ("taskarray", "taskarray"),
            ("resources", "resources"),
            ("workers", "worker"),
            ("pbs", "autoalloc"),
            ("slurm", "autoalloc"),
            ("python", "python-api"),
            ("cheatsheet", "cheatsheet"),
            ("changelog", "changelog"),
            ("faq", "faq"),
        ] {
            let area = Area::from_str(text, false).expect("an area");
            assert!(url(Some(area)).ends_with(&format!("{}/hq_cli/#{name}", env!("CARGO_PKG_VERSION"))), "{text}");
        }
        assert!(url(None).ends_with("/hq_cli/"));
    }
}
