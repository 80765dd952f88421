use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::OpenOptionsExt,
    },
    path::Path,
};

use anyhow::{Context as _, anyhow, bail};
use clap::{Args as _, FromArgMatches};
use tracing::warn;

use super::{Options, args::DirectivesArg};
use crate::parse::{Directives, HEAD_MAX};

/// What a script says about how it is submitted.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Options in its `#HQ` lines.
    pub(super) options: Options,
    /// The interpreter that it names, with arguments.
    pub(super) shebang: Vec<OsString>,
}

/// Reads the `#HQ` lines of `program` or of the standard input, as `mode` says.
///
/// # Errors
/// When they cannot be read, or are no options of a submit.
pub(super) fn read(mode: DirectivesArg, program: &OsStr, stdin: Option<&[u8]>) -> anyhow::Result<Found> {
    match (mode, stdin) {
        (DirectivesArg::Off, _) => Ok(Found::default()),
        (DirectivesArg::Stdin, None) => bail!("You have to use `--stdin` when you specify `--directives=stdin`"),
        (DirectivesArg::Stdin, Some(data)) => parse(data, "the standard input", false),
        (DirectivesArg::File, _) => {
            let head = head(program).with_context(|| format!("Could not read directives from {}", name(program)))?;
            parse(&head, &name(program), stdin.is_none())
        }
        (DirectivesArg::Auto, _) if !program.as_bytes().ends_with(b".sh") => Ok(Found::default()),
        (DirectivesArg::Auto, _) => match head(program) {
            Ok(head) => parse(&head, &name(program), stdin.is_none()),
            // It may exist only where tasks run.
            Err(error) => {
                warn!("{} cannot be read here: `#HQ` lines in it have no effect: {error}", name(program));
                Ok(Found::default())
            }
        },
    }
}

fn name(program: &OsStr) -> String {
    format!("`{}`", program.display())
}

fn head(path: &OsStr) -> io::Result<Vec<u8>> {
    // A pipe of that name must not hold us up.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(Path::new(path))?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut head = Vec::new();
    file.take(HEAD_MAX as u64 + 1).read_to_end(&mut head)?;
    Ok(head)
}

fn parse(script: &[u8], source: &str, with_shebang: bool) -> anyhow::Result<Found> {
    let bad = |reason: String| anyhow!("Invalid `#HQ` directives in {source}: {reason}");
    let Directives { shebang, words } = Directives::parse(script).map_err(bad)?;
    let command = Options::augment_args(clap::Command::new("#HQ").no_binary_name(true).disable_help_flag(true));
    let matches = command.try_get_matches_from(words.into_iter().map(OsString::from_vec));
    let options = matches.and_then(|matches| Options::from_arg_matches(&matches));
    let options = options.map_err(|error| bad(first_line(&error)))?;
    let shebang = if with_shebang { shebang } else { vec![] };
    Ok(Found { options, shebang: shebang.into_iter().map(OsString::from_vec).collect() })
}

/// What is wrong, without the advice that is meant for a command line.
fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn found(mode: DirectivesArg, program: &Path, stdin: Option<&str>) -> Result<Found, String> {
        read(mode, program.as_os_str(), stdin.map(str::as_bytes)).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn where_they_are_read_from() {
        let dir = tempfile::tempdir().expect("a directory");
        let (script, other) = (dir.path().join("a.sh"), dir.path().join("a.py"));
        for path in [&script, &other] {
            fs::write(path, "#!/bin/x -y\n#HQ --name file\n").expect("write");
        }
        let input = Some("#!/bin/z\n#HQ --name input\n");
        use DirectivesArg::{Auto, File, Off, Stdin};
        for (mode, program, stdin, name, shebang) in [
            (Auto, &script, None, Some("file"), 2),
            (Auto, &other, None, None, 0),
            (Auto, &script, input, Some("file"), 0),
            (File, &other, None, Some("file"), 2),
            (File, &other, input, Some("file"), 0),
            (Stdin, &script, input, Some("input"), 0),
            (Off, &script, input, None, 0),
        ] {
            let found = found(mode, program, stdin).expect("reads");
            assert_eq!((found.options.name.as_deref(), found.shebang.len()), (name, shebang), "{mode:?} {stdin:?}");
        }
        let error = found(Stdin, &script, None).expect_err("no input");
        assert_eq!(error, "You have to use `--stdin` when you specify `--directives=stdin`");
        let missing = dir.path().join("no.sh");
        assert!(found(Auto, &missing, None).is_ok(), "it may exist elsewhere");
        assert!(found(File, &missing, None).expect_err("missing").contains("No such file"));
        assert!(found(File, dir.path(), None).expect_err("a directory").contains("not a regular file"));
    }

    #[test]
    fn only_options_of_tasks_are_taken() {
        for (line, phrase) in [
            ("--foo", "unexpected argument '--foo' found"),
            ("--wait", "unexpected argument '--wait' found"),
            ("--job 1", "unexpected argument '--job' found"),
            ("--stdin", "unexpected argument '--stdin' found"),
            ("--directives off", "unexpected argument '--directives' found"),
            ("--help", "unexpected argument '--help' found"),
            ("echo", "unexpected argument 'echo' found"),
            ("--name a --name b", "cannot be used multiple times"),
            ("--cpus 0", "Zero resources cannot be requested"),
            ("--name \"a", "a quote does not end in line 1"),
        ] {
            let error = parse(format!("#HQ {line}\n").as_bytes(), "`x`", true).expect_err(line).to_string();
            assert!(error.starts_with("Invalid `#HQ` directives in `x`: ") && error.contains(phrase), "{error}");
        }
    }
}
