//! What the system takes at the start of a program, checked before anything is submitted.

use std::path::Path;

use anyhow::bail;
use hq_core::{ProgramSpec, Stdio};
use rustix::process::{Resource, getrlimit};

/// Bytes of an argument, or of a variable with its name, that Linux takes.
const TEXT_MAX: usize = (128 << 10) - 1;
/// Bytes of an entry: it is the value of `HQ_ENTRY`.
pub(crate) const ENTRY_MAX: usize = TEXT_MAX - "HQ_ENTRY=".len();
/// Bytes of the standard input, which all tasks share and which goes in one message to the server.
pub(crate) const PAYLOAD_MAX: usize = 60 << 20;
/// Bytes of all entries, of sweeps, and of arguments of `hq run`: they go in as many messages as it takes, and into one append of a journal.
pub(crate) const ENTRIES_MAX: usize = 512 << 20;
/// Bytes of a path that Linux takes.
const PATH_MAX: usize = 4095;
/// Linux never takes more arguments and variables together, and a quarter of the stack at most.
const ARGUMENTS_MAX: u64 = 6 << 20;
const ARGUMENTS_MIN: u64 = 128 << 10;

/// Whether a program like this can be started at all, given the length of its longest entry.
///
/// # Errors
/// Says what is too long.
pub(crate) fn check(spec: &ProgramSpec, longest_entry: usize) -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Stack).current.map_or(ARGUMENTS_MAX, |stack| stack / 4);
    check_within(spec, longest_entry, limit.clamp(ARGUMENTS_MIN, ARGUMENTS_MAX))
}

fn check_within(spec: &ProgramSpec, longest_entry: usize, limit: u64) -> anyhow::Result<()> {
    let mut total = longest_entry as u64;
    for (n, arg) in spec.args.iter().enumerate() {
        let what = || if n == 0 { "the program's name".to_owned() } else { format!("argument {n} of the program") };
        text(arg, arg.len(), what)?;
        total += cost(arg.len());
    }
    for (name, value) in &spec.env {
        let what = || format!("the environment variable `{}`", shown(name));
        text(name, 0, what)?;
        text(value, name.len() + 1 + value.len(), what)?;
        total += cost(name.len() + 1 + value.len());
    }
    if total > limit {
        bail!(
            "the arguments and environment variables of the program have {total} bytes together: at most {limit} are \
             possible; put what is large into files"
        );
    }
    path(&spec.cwd, "the working directory")?;
    for (stdio, what) in [(&spec.stdout, "the path for stdout"), (&spec.stderr, "the path for stderr")] {
        match stdio {
            Stdio::File { path: template, .. } => path(template, what)?,
            Stdio::Stream { dir } => path(dir, "the path of the stream directory")?,
            Stdio::Null | Stdio::Live => {}
        }
    }
    Ok(())
}

/// With its end, and the pointer to it.
const fn cost(len: usize) -> u64 {
    len as u64 + 1 + 8
}

fn text(bytes: &[u8], len: usize, what: impl Fn() -> String) -> anyhow::Result<()> {
    if bytes.contains(&0) {
        bail!("{} holds a zero byte, which no program can be given", what());
    }
    if len > TEXT_MAX {
        bail!("{} has {len} bytes: at most {TEXT_MAX} are possible; put what is large into a file", what());
    }
    Ok(())
}

fn path(bytes: &[u8], what: &str) -> anyhow::Result<()> {
    text(bytes, 0, || what.to_owned())?;
    if bytes.len() > PATH_MAX {
        bail!("{what} has {} bytes: at most {PATH_MAX} are possible", bytes.len());
    }
    Ok(())
}

fn shown(name: &[u8]) -> String {
    name.escape_ascii().to_string().chars().take(64).collect()
}

/// The error for a file whose content is more than a submit can carry.
pub(crate) fn too_much(source: &Path) -> anyhow::Error {
    anyhow::anyhow!(
        "`{}` holds more than {} MiB for one submit: divide it, or put the data into files and submit their names",
        source.display(),
        ENTRIES_MAX >> 20
    )
}

#[cfg(test)]
mod tests {
    use hq_core::{Blob, OnClose};

    use super::*;

    fn blob(len: usize) -> Blob {
        vec![b'x'; len].into()
    }

    #[test]
    fn what_no_program_can_be_given_is_refused() {
        let program = || ProgramSpec { args: vec![blob(4)], ..ProgramSpec::default() };
        type Spoil = fn(&mut ProgramSpec);
        let cases: [(Spoil, Option<&str>); 12] = [
            (|_| {}, None),
            (|p| p.args.push(blob(TEXT_MAX)), None),
            (|p| p.args.push(blob(TEXT_MAX + 1)), Some("argument 1 of the program has 131072 bytes")),
            (|p| p.args[0] = b"a\0b"[..].into(), Some("the program's name holds a zero byte")),
            (|p| p.env.push((blob(1), blob(TEXT_MAX - 2))), None),
            (|p| p.env.push((blob(1), blob(2 << 20))), Some("the environment variable `x` has 2097154 bytes")),
            (|p| p.env.push((blob(1), b"\0"[..].into())), Some("the environment variable `x` holds a zero byte")),
            (|p| p.env.extend((0..100_000).map(|_| (blob(2), blob(2)))), None),
            (|p| p.env.extend((0..100_000).map(|_| (blob(9), blob(9)))), Some("have 2800013 bytes together")),
            (|p| p.cwd = blob(4096), Some("the working directory has 4096 bytes")),
            (
                |p| p.stdout = Stdio::File { path: blob(5000), on_close: OnClose::Keep },
                Some("the path for stdout has 5000 bytes"),
            ),
            (|p| p.cwd = b"\0"[..].into(), Some("the working directory holds a zero byte")),
        ];
        for (n, (spoil, phrase)) in cases.into_iter().enumerate() {
            let mut spec = program();
            spoil(&mut spec);
            match (check_within(&spec, 0, 2 << 20), phrase) {
                (Ok(()), None) => {}
                (Err(error), Some(phrase)) => assert!(error.to_string().contains(phrase), "{n}: {error}"),
                (result, _) => panic!("{n}: {result:?}"),
            }
        }
        let large = check_within(&program(), 2 << 20, 2 << 20).expect_err("with its entry");
        assert!(large.to_string().contains("2097165 bytes together"), "{large}");
    }
}
