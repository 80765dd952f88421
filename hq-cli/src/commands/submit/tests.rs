//! What the tests of this module share, and how the command line is read.

use super::Args;
use crate::{args::parse, commands::Command};

/// The options of `hq submit` with these arguments.
pub(super) fn parse_submit(args: &[&str]) -> Args {
    match try_parse(args) {
        Ok(Command::Submit(args)) => *args,
        other => panic!("{args:?}: {other:?}"),
    }
}

fn try_parse(args: &[&str]) -> Result<Command, clap::Error> {
    parse(["hq", "submit"].iter().chain(args).map(Into::into)).map(|(_, command)| command)
}

#[test]
fn options_end_at_the_program() {
    for (args, expected) in [
        (&["echo", "--name", "x"][..], &["echo", "--name", "x"][..]),
        (&["--", "--odd", "-h"], &["--odd", "-h"]),
        (&["echo", "--", "a"], &["echo", "--", "a"]),
        (&["--wait", "echo", "--wait", "--wait"], &["echo", "--wait", "--wait"]),
    ] {
        assert_eq!(parse_submit(args).command, expected, "{args:?}");
    }
}

#[test]
fn bad_options_are_parse_errors() {
    for (args, phrase) in [
        (&[][..], "required"),
        (&["--wait"], "required"),
        (&["--foo", "p"], "unexpected argument '--foo' found"),
        (&["--nodes=2", "--cpus=1", "p"], "cannot be used with"),
        (&["--nodes=2", "--pin=omp", "p"], "cannot be used with"),
        (&["--name=a\nb", "p"], "newline"),
        (&["--cpus=0", "p"], "Zero resources cannot be requested"),
        (&["--resource=x=0", "p"], "Zero resources cannot be requested"),
        (&["--cpus=1 foo", "p"], "expected compact"),
        (&["--array=5-1", "p"], "Invalid range"),
        (&["--array=1-5,2", "p"], "Ranges overlap"),
        (&["--stdout=a:b", "p"], "rm-if-finished"),
        (&["--env=", "p"], "needs a name"),
        (&["--stream=", "p"], "a value is required"),
        (&["--crash-limit=0", "p"], "never-restart"),
        (&["--weight=0", "p"], "weight"),
        (&["--weight=-1", "p"], "weight"),
        (&["--priority=3000000000", "p"], "priority"),
        (&["--time-limit=1parsec", "p"], "duration"),
        (&["--name=a", "--name=b", "p"], "cannot be used multiple times"),
    ] {
        let error = try_parse(args).expect_err(phrase);
        assert_eq!(error.exit_code(), 2, "{args:?}");
        assert!(error.to_string().contains(phrase), "{args:?}: {error}");
    }
}

#[test]
fn a_whole_command_in_quotes_is_noticed() {
    for (program, expected) in [
        ("echo", None),
        ("/no/such/program", None),
        ("echo hello", Some("hq submit bash -c 'echo hello'")),
        ("echo it's", Some(r"hq submit bash -c 'echo it'\''s'")),
    ] {
        let said = super::run::quoted(program.as_ref());
        match expected {
            Some(end) => assert!(said.as_ref().is_some_and(|said| said.ends_with(end)), "{said:?}"),
            None => assert_eq!(said, None),
        }
    }
    let dir = tempfile::TempDir::new().expect("a directory");
    let script = dir.path().join("my script");
    std::fs::write(&script, "").expect("written");
    assert_eq!(super::run::quoted(script.as_os_str()), None, "it is there");
}
