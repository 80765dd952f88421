use std::{ffi::OsString, path::Path};

use clap::{
    FromArgMatches, Subcommand,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::{GlobalArgs, global};
use crate::commands::Command;

/// The whole parser: the tree of commands, each with the global options.
pub(crate) fn command() -> clap::Command {
    global::add(tree())
}

fn tree() -> clap::Command {
    let root = clap::Command::new("hq")
        .bin_name("hq")
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .about("Runs graphs of tasks on clusters and on this machine")
        .after_help(
            "Examples:\n  hq server start &\n  hq server wait\n  hq worker start &\n  hq submit echo 'Hello world'\n  \
             hq job wait last\n  hq job cat last stdout",
        )
        .subcommand_required(true)
        .arg_required_else_help(true);
    Command::augment_subcommands(root)
}

/// Reads a command line whose first word is the program's name.
///
/// # Errors
/// What clap wants to be shown: help and version too.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<(GlobalArgs, Command), clap::Error> {
    let mut root = command();
    let matches = root.try_get_matches_from_mut(by_name(args)).map_err(help_without_command)?;
    let global = GlobalArgs::from_matches(&matches, &mut root)?;
    let command = Command::from_arg_matches(&matches).map_err(|error| error.format(&mut root))?;
    Ok((global, command))
}

/// The name that Snakemake's submit command may have: see `hq job status --help`.
const SMK_SUBMIT: &str = "hq-smk-submit";

/// Called by that name, the program submits and prints the id alone.
fn by_name(args: impl IntoIterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    let mut args = args.into_iter().peekable();
    let is_submit = args.peek().is_some_and(|name| Path::new(name).file_name() == Some(SMK_SUBMIT.as_ref()));
    let name = args.next();
    let words = if is_submit { &["--output-mode=quiet", "submit"][..] } else { &[] };
    name.into_iter().chain(words.iter().map(OsString::from)).chain(args)
}

/// Shows the help of a group whose command is missing, also where options or the environment say something.
fn help_without_command(error: clap::Error) -> clap::Error {
    let group = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(group)) if error.kind() == ErrorKind::MissingSubcommand => group.clone(),
        _ => return error,
    };
    // With nothing but the group itself, clap shows its help.
    global::add_options(tree()).try_get_matches_from(group.split(' ')).err().unwrap_or(error)
}
