//! Entries of tasks: the lines of a file, or the elements of an array in JSON. Files are read once, from the beginning to
//! the end, and only what is wanted of them is kept, so that pipes and files of any size will do.

mod json;
mod lines;

use std::{fs::File, path::Path};

use anyhow::{Context as _, bail};
use hq_core::{IdList, Parts};
use tracing::warn;

use crate::program::{ENTRIES_MAX, ENTRY_MAX, too_much};

pub(super) use json::read as from_json;
pub(super) use lines::read as each_line;

/// Larger files are warned of.
const LARGE: u64 = 100 << 20;
/// What the end of an entry costs in the message, at most.
const END_COST: usize = 5;

/// Entries, as far as they are wanted.
#[derive(Debug)]
pub(super) struct Entries<'a> {
    file: &'a Path,
    /// Numbers of the wanted entries; none: all of them.
    wanted: Option<&'a IdList>,
    /// Entries seen.
    seen: u32,
    /// Numbers of those that are kept, ascending.
    kept: Vec<u32>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Bytes that they may have.
    max: usize,
}

impl<'a> Entries<'a> {
    fn new(file: &'a Path, wanted: Option<&'a IdList>) -> Self {
        Self { file, wanted, seen: 0, kept: vec![], bytes: vec![], ends: vec![], max: ENTRIES_MAX }
    }

    /// Whether the next entry is kept.
    fn wants_next(&self) -> bool {
        self.wanted.is_none_or(|ids| ids.index_of(self.seen).is_some())
    }

    /// Whether no entry is kept any more.
    fn has_all(&self) -> bool {
        self.wanted.is_some_and(|ids| ids.max().is_none_or(|last| last < self.seen))
    }

    /// The next entry is not kept.
    fn skip(&mut self) -> anyhow::Result<()> {
        let Some(seen) = self.seen.checked_add(1) else {
            bail!("`{}` has more than {} entries", self.file.display(), u32::MAX);
        };
        self.seen = seen;
        Ok(())
    }

    /// The next entry. `what` says what it is, with its number.
    fn keep(&mut self, entry: &[u8], what: &str) -> anyhow::Result<()> {
        let number = u64::from(self.seen) + 1;
        if entry.contains(&0) {
            bail!("{what} {number} of `{}` holds a zero byte: it cannot be an entry of a task", self.file.display());
        }
        if entry.len() > ENTRY_MAX {
            bail!(
                "{what} {number} of `{}` has more than {ENTRY_MAX} bytes: no program can be given that in its environment; \
                 put it into a file and submit its name",
                self.file.display()
            );
        }
        self.bytes.extend_from_slice(entry);
        self.ends.push(self.bytes.len());
        self.kept.push(self.seen);
        if self.bytes.len() + END_COST * self.ends.len() > self.max {
            return Err(too_much(self.file));
        }
        self.skip()
    }

    fn get(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }

    /// Length of the longest entry.
    pub(super) fn longest(&self) -> usize {
        (0..self.ends.len()).map(|index| self.get(index).len()).max().unwrap_or(0)
    }

    /// The numbers of the tasks and their entries, in the order of the numbers wanted.
    ///
    /// # Errors
    /// Too much for one submit.
    pub(super) fn into_tasks(self) -> anyhow::Result<(IdList, Parts)> {
        let ids = self.wanted.map_or_else(|| IdList::range(0, self.seen), |ids| ids.below(self.seen));
        let entry = |id| self.kept.binary_search(&id).map_or(&[][..], |index| self.get(index));
        let parts = Parts::new(ids.iter().map(entry)).ok_or_else(|| too_much(self.file))?;
        Ok((ids, parts))
    }
}

fn open(path: &Path) -> anyhow::Result<File> {
    let file = File::open(path).with_context(|| format!("cannot open `{}`", path.display()))?;
    let len = file.metadata().map_or(0, |data| data.len());
    if len > LARGE {
        warn!("`{}` is large: {} MiB. Consider to pass names of files instead of data.", path.display(), len >> 20);
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write, process::Command, thread};

    use super::*;

    type Read = for<'a> fn(&'a Path, Option<&'a IdList>) -> anyhow::Result<Entries<'a>>;

    /// As `ids: entry|entry`, or the error.
    fn shown(read: Read, path: &Path, wanted: Option<&str>) -> String {
        let wanted = wanted.map(|text| IdList::parse(text).expect("ids"));
        let tasks = read(path, wanted.as_ref()).and_then(Entries::into_tasks);
        tasks.map_or_else(
            |error| format!("error {error:#}").replace(&path.display().to_string(), "F"),
            |(ids, parts)| {
                let entries: Vec<_> = (0..parts.len()).map(|i| parts.get(i).escape_ascii().to_string()).collect();
                format!("{ids}: {}", entries.join("|"))
            },
        )
    }

    fn of_content(read: Read, content: &[u8], wanted: Option<&str>) -> String {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(content).expect("write");
        shown(read, file.path(), wanted)
    }

    #[test]
    fn lines() {
        let cases: [(&[u8], Option<&str>, &str); 9] = [
            (b"a\nb\n", None, "0-1: a|b"),
            (b"a\nb", None, "0-1: a|b"),
            (b"a\n\n c ", None, "0-2: a|| c "),
            (b"", None, ": "),
            (b"a\r\nb\r\n", None, "0-1: a\\r|b\\r"),
            (b"\xff\n", None, "0: \\xff"),
            (b"a\n\0\n", None, "error line 2 of `F` holds a zero byte: it cannot be an entry of a task"),
            (b"a\nb\nc\n", Some("2,0,7"), "2,0: c|a"),
            (b"a\nb\nc\nd", Some("1-9:2"), "1-3:2: b|d"),
        ];
        for (content, wanted, expected) in cases {
            assert_eq!(of_content(each_line, content, wanted), expected, "{content:?}");
        }
    }

    #[test]
    fn elements() {
        let cases: [(&str, Option<&str>, &str); 12] = [
            (r#"[{"x": [1, 2,3]}, "Th ree", 1.50, null ]"#, None, r#"0-3: {\"x\":[1,2,3]}|\"Th ree\"|1.50|null"#),
            (r#"[{"b": 1, "a": "\" , "}]"#, None, r#"0: {\"b\":1,\"a\":\"\\\" , \"}"#),
            ("\n[\n123456789012345678901234567890\n]\n", None, "0: 123456789012345678901234567890"),
            ("[]", None, ": "),
            ("[1,2,3]", Some("2,0,7"), "2,0: 3|1"),
            ("{}", None, "error The top element of the provided JSON file has to be an array: `F`"),
            ("1", None, "error The top element of the provided JSON file has to be an array: `F`"),
            ("", None, "error `F` is not valid JSON: EOF while parsing a value at line 1 column 0"),
            ("[1,", None, "error `F` is not valid JSON: EOF while parsing a value at line 1 column 3"),
            ("[1 2]", None, "error `F` is not valid JSON: expected `,` or `]` at line 1 column 4"),
            ("[1] 2", None, "error `F` is not valid JSON: trailing characters at line 1 column 5"),
            ("[\"\0\"]", None, ""),
        ];
        for (content, wanted, expected) in cases {
            let found = of_content(from_json, content.as_bytes(), wanted);
            if expected.is_empty() {
                assert!(found.starts_with("error `F` is not valid JSON: control character"), "{found}");
            } else {
                assert_eq!(found, expected, "{content}");
            }
        }
        let found = of_content(from_json, b"[\"\xff\"]", None);
        assert!(found.starts_with("error `F` is not valid JSON: "), "{found}");
    }

    #[test]
    fn what_is_too_large_or_endless_is_refused() {
        let long = vec![b'x'; ENTRY_MAX + 1];
        assert_eq!(of_content(each_line, &long[1..], None).len(), "0: ".len() + ENTRY_MAX);
        let too_long = "has more than 131062 bytes";
        assert!(of_content(each_line, &long, None).contains(too_long));
        assert!(of_content(each_line, &[&long[..], b"\nb"].concat(), Some("1")).ends_with(": b"), "it is not wanted");
        let json = [b"[\"", &long[..], b"\"]"].concat();
        assert!(of_content(from_json, &json, None).contains(too_long));
        assert!(of_content(from_json, &[b"[", &vec![b'['; 1 << 20][..]].concat(), None).contains(too_long));
        let mut entries = Entries { max: 32, ..Entries::new(Path::new("F"), None) };
        assert!(entries.keep(b"0123456789", "line").and_then(|()| entries.keep(b"01234567", "line")).is_ok());
        let found = entries.keep(b"", "line").expect_err("five bytes more for its end").to_string();
        assert!(found.contains("`F` holds more than 512 MiB for one submit"), "{found}");
        let zero = Path::new("/dev/zero");
        assert!(shown(each_line, zero, None).contains("line 1 of `F` holds a zero byte"));
        assert!(shown(from_json, zero, None).contains("is not valid JSON: expected value at line 1 column 1"));
        assert!(shown(each_line, Path::new("/"), None).contains("Is a directory"));
        assert!(shown(each_line, Path::new("/no"), None).contains("cannot open"));
    }

    #[test]
    fn pipes_are_read_to_their_end() {
        let dir = tempfile::tempdir().expect("a directory");
        let pipe = dir.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        for (read, content, expected) in
            [(each_line as Read, "a\nb\n", "0-1: a|b"), (from_json as Read, "[1, 2]", "0-1: 1|2")]
        {
            let writer = thread::spawn({
                let pipe = pipe.clone();
                move || fs::write(pipe, content)
            });
            assert_eq!(shown(read, &pipe, None), expected);
            writer.join().expect("no panic").expect("written");
        }
    }
}
