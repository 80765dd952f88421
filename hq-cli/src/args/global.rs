use std::{ffi::OsStr, path::PathBuf};

use clap::{
    Arg, ArgAction, ArgMatches, Command, ValueEnum,
    builder::{BoolishValueParser, EnumValueParser, ValueParser},
    error::ErrorKind,
    parser::ValueSource,
    value_parser,
};

use crate::output::{ColorPolicy, Mode};

/// Options that every command has, given at most once anywhere before the arguments of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GlobalArgs {
    /// Directory with access records.
    pub(crate) server_dir: PathBuf,
    /// When colours are used.
    pub(crate) colors: ColorPolicy,
    /// Form of the output.
    pub(crate) mode: ModeArg,
    /// The command: its words.
    pub(crate) command: String,
    /// More detailed logs.
    pub(crate) debug: bool,
}

/// What is needed to make a global option.
struct Global {
    id: &'static str,
    value: Option<&'static str>,
    env: Option<&'static str>,
    default: Option<&'static str>,
    parser: fn() -> ValueParser,
    help: &'static str,
}

const GLOBALS: [Global; 4] = [
    Global {
        id: "server-dir",
        value: Some("PATH"),
        env: Some("HQ_SERVER_DIR"),
        default: None,
        parser: || value_parser!(PathBuf),
        help: "Directory with access records [env: HQ_SERVER_DIR] [default: $HOME/.hq-server]",
    },
    Global {
        id: "colors",
        value: Some("POLICY"),
        env: None,
        default: Some("auto"),
        parser: || EnumValueParser::<ColorPolicy>::new().into(),
        help: "When colours are used [default: auto]",
    },
    Global {
        id: "output-mode",
        value: Some("MODE"),
        env: Some("HQ_OUTPUT_MODE"),
        default: Some("cli"),
        parser: || EnumValueParser::<ModeArg>::new().into(),
        help: "Form of the output [env: HQ_OUTPUT_MODE] [default: cli]",
    },
    Global {
        id: "debug",
        value: None,
        env: Some("HQ_DEBUG"),
        default: None,
        parser: || BoolishValueParser::new().into(),
        help: "More detailed logs [env: HQ_DEBUG]",
    },
];

/// Gives the global options to `root` and to all commands below it.
///
/// They are arguments of every level, not `global` ones of clap, which would let the same option be given at two
/// levels. Environment and defaults belong to the root alone, so that what the user wrote is always found.
pub(crate) fn add(root: Command) -> Command {
    let mut root = add_options(root);
    for global in &GLOBALS {
        root = root.mut_arg(global.id, |arg| {
            let arg = match global.env {
                // An empty variable is none.
                Some(env) if std::env::var_os(env).is_some_and(|value| !value.is_empty()) => {
                    arg.env(env).hide_env(true)
                }
                _ => arg,
            };
            match global.default {
                Some(default) => arg.default_value(default).hide_default_value(true),
                None => arg,
            }
        });
    }
    root
}

/// The same without environment and defaults.
pub(crate) fn add_options(mut command: Command) -> Command {
    for global in &GLOBALS {
        let action = if global.value.is_some() { ArgAction::Set } else { ArgAction::SetTrue };
        let arg = Arg::new(global.id)
            .long(global.id)
            .action(action)
            .value_parser((global.parser)())
            .value_name(global.value.unwrap_or_default())
            .help(global.help)
            .help_heading("Global options")
            .hide_short_help(true);
        command = command.arg(arg);
    }
    // One name, so that `-V` prints the same everywhere.
    command.disable_help_subcommand(true).display_name("hyperqueue").mut_subcommands(add_options)
}

impl GlobalArgs {
    /// Reads the global options, at whatever level they were given.
    ///
    /// # Errors
    /// When one is given at two levels.
    pub(crate) fn from_matches(matches: &ArgMatches, root: &mut Command) -> Result<Self, clap::Error> {
        let server_dir =
            find(matches, "server-dir", root)?.unwrap_or_else(|| default_dir(std::env::var_os("HOME").as_deref()));
        Ok(Self {
            server_dir,
            colors: find(matches, "colors", root)?.unwrap_or(ColorPolicy::Auto),
            mode: find(matches, "output-mode", root)?.unwrap_or(ModeArg::Cli),
            command: words(matches),
            debug: find(matches, "debug", root)?.unwrap_or(false),
        })
    }
}

fn find<T>(root: &ArgMatches, id: &str, command: &mut Command) -> Result<Option<T>, clap::Error>
where
    T: Clone + Send + Sync + 'static,
{
    let mut found = None;
    let mut level = Some(root);
    while let Some(matches) = level {
        if matches.value_source(id) == Some(ValueSource::CommandLine) {
            if found.is_some() {
                let text = format!("the argument '--{id}' cannot be used multiple times");
                return Err(command.error(ErrorKind::ArgumentConflict, text));
            }
            found = matches.get_one::<T>(id).cloned();
        }
        level = matches.subcommand().map(|(_, matches)| matches);
    }
    Ok(found.or_else(|| root.get_one::<T>(id).cloned()))
}

fn default_dir(home: Option<&OsStr>) -> PathBuf {
    match home {
        Some(home) if !home.is_empty() => PathBuf::from(home),
        _ => std::env::temp_dir(),
    }
    .join(".hq-server")
}

/// Form of the output, as the user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// Tables and sentences.
    Cli,
    /// One JSON document, as existing callers read it.
    Json,
    /// One JSON document of schema 1, see docs/schema/v1.json.
    JsonV1,
    /// Only what scripts need.
    Quiet,
}

impl ModeArg {
    /// What commands have to know of it.
    pub(crate) const fn mode(self) -> Mode {
        match self {
            Self::Cli => Mode::Cli,
            Self::Json | Self::JsonV1 => Mode::Json,
            Self::Quiet => Mode::Quiet,
        }
    }
}

/// The words of the command, without options: `job list`.
fn words(root: &ArgMatches) -> String {
    let mut words = Vec::new();
    let mut level = root.subcommand();
    while let Some((word, matches)) = level {
        words.push(word);
        level = matches.subcommand();
    }
    words.join(" ")
}

impl ValueEnum for ColorPolicy {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Auto, Self::Always, Self::Never]
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(
            match self {
                Self::Auto => "auto",
                Self::Always => "always",
                Self::Never => "never",
            }
            .into(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::parse;

    fn global(args: &[&str]) -> Result<GlobalArgs, i32> {
        let args = ["hq"].iter().chain(args).map(Into::into);
        parse(args).map(|(global, _)| global).map_err(|error| error.exit_code())
    }

    #[test]
    fn a_global_option_stands_at_any_level() {
        for args in [
            ["--server-dir=/d", "--output-mode=json", "--debug", "job", "list"],
            ["job", "--server-dir=/d", "--output-mode=json", "--debug", "list"],
            ["job", "list", "--server-dir=/d", "--output-mode=json", "--debug"],
            ["--debug", "job", "--server-dir=/d", "list", "--output-mode=json"],
        ] {
            let expected = GlobalArgs {
                server_dir: "/d".into(),
                colors: ColorPolicy::Auto,
                mode: ModeArg::Json,
                command: "job list".into(),
                debug: true,
            };
            assert_eq!(global(&args), Ok(expected), "{args:?}");
        }
    }

    #[test]
    fn a_global_option_is_given_once() {
        for args in [
            &["--server-dir=a", "job", "list", "--server-dir=a"][..],
            &["job", "--server-dir=a", "list", "--server-dir=a"],
            &["job", "list", "--server-dir=a", "--server-dir=a"],
            &["--debug", "job", "list", "--debug"],
            &["--colors=never", "job", "list", "--colors=always"],
        ] {
            assert_eq!(global(args), Err(2), "{args:?}");
        }
    }

    #[test]
    fn what_stands_after_a_program_is_its_own() {
        let given = global(&["submit", "--server-dir=a", "echo", "--server-dir=b", "-V", "--", "--debug"]);
        let given = given.expect("parses");
        assert_eq!((given.server_dir, given.debug), ("a".into(), false));
    }

    #[test]
    fn the_directory_is_at_home_or_else_temporary() {
        assert_eq!(default_dir(Some("/home/u".as_ref())), PathBuf::from("/home/u/.hq-server"));
        assert_eq!(default_dir(Some("".as_ref())), std::env::temp_dir().join(".hq-server"));
        assert_eq!(default_dir(None), std::env::temp_dir().join(".hq-server"));
    }
}
