use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::Command;
use clap_mangen::Man;

use crate::{args, context::Context};

/// Options of `generate-man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  hq generate-man ~/.local/share/man/man1 && man hq-job-list")]
pub(crate) struct Args {
    /// Where the pages go; made if it is missing
    directory: PathBuf,
}

/// Writes a manual page for each command.
pub(crate) fn run(args: &Args, _: &mut Context) -> anyhow::Result<()> {
    let directory = &args.directory;
    fs::create_dir_all(directory).with_context(|| format!("cannot make {directory:?}"))?;
    let mut root = args::command();
    root.build();
    write(&root, "hq", directory)
}

fn write(command: &Command, name: &str, directory: &Path) -> anyhow::Result<()> {
    let path = directory.join(format!("{name}.1"));
    let mut page = Vec::new();
    let titled = command.clone().display_name(name.to_owned());
    Man::new(titled).title(name).render(&mut page).with_context(|| format!("cannot write the page of {name}"))?;
    fs::write(&path, page).with_context(|| format!("cannot write {path:?}"))?;
    command.get_subcommands().try_for_each(|sub| write(sub, &format!("{name}-{}", sub.get_name()), directory))
}
