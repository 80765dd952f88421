//! The command and its lists of arguments.

use std::{
    ffi::OsString,
    fs,
    io::{self, Read},
    os::unix::ffi::OsStringExt,
    path::Path,
};

use anyhow::{Context as _, bail};

use crate::program::ENTRIES_MAX;

/// What the words of a command line say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The command, as a shell reads it.
    pub(super) command: Vec<u8>,
    /// Lists of arguments, in order.
    pub(super) lists: Vec<List>,
}

/// Where arguments come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct List {
    /// They go with those of the list before, one by one.
    pub(super) zipped: bool,
    pub(super) values: Vec<Vec<u8>>,
}

/// Reads the words: the command, and behind `:::` arguments, behind `::::` files with an argument per line; with `+` they go
/// with the list before. Without any list, arguments are the lines that `stdin` gives.
///
/// # Errors
/// For files that cannot be read, and lists that do not go together.
pub(super) fn read(words: Vec<OsString>, stdin: impl FnOnce() -> anyhow::Result<Vec<u8>>) -> anyhow::Result<Line> {
    let mut line = Line::default();
    let mut from_files = false;
    for word in words.into_iter().map(OsString::into_vec) {
        let begins = match &word[..] {
            b":::" => Some((false, false)),
            b":::+" => Some((false, true)),
            b"::::" => Some((true, false)),
            b"::::+" => Some((true, true)),
            _ => None,
        };
        match (begins, line.lists.last_mut()) {
            (Some((_, true)), None) => bail!("`{}` needs a list before it", String::from_utf8_lossy(&word)),
            (Some((files, zipped)), _) => {
                from_files = files;
                line.lists.push(List { zipped, values: vec![] });
            }
            (None, Some(list)) if from_files => list.values.extend(file_lines(&word)?),
            (None, Some(list)) => list.values.push(word),
            (None, None) => {
                if !line.command.is_empty() {
                    line.command.push(b' ');
                }
                line.command.extend(word);
            }
        }
    }
    if line.command.is_empty() {
        bail!("there is no command before `:::`");
    }
    if line.lists.is_empty() {
        line.lists.push(List { zipped: false, values: lines(&stdin()?) });
    }
    for pair in line.lists.windows(2) {
        if let [before, list] = pair
            && list.zipped
            && list.values.len() != before.values.len()
        {
            bail!(
                "`:::+` needs as many arguments as the list before: {}, not {}",
                before.values.len(),
                list.values.len()
            );
        }
    }
    Ok(line)
}

fn file_lines(name: &[u8]) -> anyhow::Result<Vec<Vec<u8>>> {
    let path = OsString::from_vec(name.to_vec());
    let bytes =
        fs::read(Path::new(&path)).with_context(|| format!("cannot read arguments from `{}`", path.display()))?;
    Ok(lines(&bytes))
}

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if text.is_empty() { vec![] } else { text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect() }
}

/// Standard input to its end.
pub(super) fn stdin() -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().take(ENTRIES_MAX as u64 + 1).read_to_end(&mut bytes).context("cannot read standard input")?;
    if bytes.len() > ENTRIES_MAX {
        bail!("standard input holds more than {} MiB of arguments: divide them", ENTRIES_MAX >> 20);
    }
    Ok(bytes)
}

impl Line {
    /// How many combinations there are; none past what a job can have.
    pub(super) fn count(&self) -> Option<u32> {
        let mut sizes = self.lists.iter().filter(|list| !list.zipped).map(|list| list.values.len() as u64);
        let count = sizes.try_fold(1_u64, u64::checked_mul)?;
        u32::try_from(count).ok().filter(|count| *count < u32::MAX)
    }

    /// The arguments of combination `index`, one of each list: that of the last list changes fastest.
    pub(super) fn at(&self, index: u32) -> Vec<&[u8]> {
        let mut rest = index as usize;
        let mut values = Vec::with_capacity(self.lists.len());
        // From the last list on; those that are zipped wait for the place in their first list.
        let mut waiting = 0;
        for (n, list) in self.lists.iter().enumerate().rev() {
            waiting += 1;
            if list.zipped {
                continue;
            }
            let place = rest % list.values.len().max(1);
            rest /= list.values.len().max(1);
            let group = self.lists[n..n + waiting].iter().rev();
            values.extend(group.map(|list| list.values.get(place).map(Vec::as_slice).unwrap_or_default()));
            waiting = 0;
        }
        values.reverse();
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::table;

    /// Rows `line`: words; standard input holds the lines `p` and `q`.
    #[test]
    fn vectors() {
        table::check("run_line.txt", |_, text| {
            let words = text.split_whitespace().map(OsString::from).collect();
            match read(words, || Ok(b"p\nq\n".to_vec())) {
                Ok(line) => {
                    let count = line.count().expect("few");
                    let shown = |i| {
                        let values = line.at(i);
                        values.iter().map(|v| String::from_utf8_lossy(v).into_owned()).collect::<Vec<_>>().join(",")
                    };
                    let all: Vec<_> = (0..count).map(shown).collect();
                    format!("{} ({count}) {}", String::from_utf8_lossy(&line.command), all.join(" "))
                }
                Err(error) => format!("error {error:#}"),
            }
        });
    }
}
