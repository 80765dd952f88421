//! The log of tasks that ended, in the form of GNU parallel.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use hq_core::WallTime;

use super::ends::{End, Exit};

const HEADER: &str = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand";

/// A log that lines are added to.
#[derive(Debug)]
pub(super) struct JobLog {
    path: PathBuf,
    file: File,
}

impl JobLog {
    /// Opens the log; with `keep`, behind what it holds.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn open(path: &Path, keep: bool) -> anyhow::Result<Self> {
        let mut options = OpenOptions::new();
        let options = if keep { options.read(true).append(true) } else { options.write(true).truncate(true) };
        let unusable = || format!("cannot write the log `{}`", path.display());
        let mut file = options.create(true).open(path).with_context(unusable)?;
        if keep {
            cut_torn_line(&mut file).with_context(unusable)?;
        }
        let mut log = Self { path: path.to_owned(), file };
        if log.file.metadata().with_context(unusable)?.len() == 0 {
            log.write(HEADER)?;
        }
        Ok(log)
    }

    /// A task has ended.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn add(&mut self, end: &End, command: &str) -> anyhow::Result<()> {
        self.write(&line(end, command))
    }

    fn write(&mut self, line: &str) -> anyhow::Result<()> {
        let line = format!("{line}\n");
        self.file.write_all(line.as_bytes()).with_context(|| format!("cannot write the log `{}`", self.path.display()))
    }
}

/// A line that was not written to its end would spoil the next one.
fn cut_torn_line(file: &mut File) -> std::io::Result<()> {
    let end = file.metadata()?.len();
    let mut torn = end;
    let mut bytes = [0; 4096];
    while torn > 0 {
        let from = torn.saturating_sub(bytes.len() as u64);
        let bytes = &mut bytes[..(torn - from) as usize];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(bytes)?;
        if let Some(at) = bytes.iter().rposition(|byte| *byte == b'\n') {
            torn = from + at as u64 + 1;
            break;
        }
        torn = from;
    }
    if torn == 0 && end > 0 {
        // The header, or no log at all.
        let mut text = Vec::new();
        file.rewind()?;
        file.take(HEADER.len() as u64).read_to_end(&mut text)?;
        if text.len() as u64 != end || !HEADER.as_bytes().starts_with(&text) {
            return Err(std::io::Error::other("it is not one of `hq run`"));
        }
    }
    if torn < end { file.set_len(torn) } else { Ok(()) }
}

fn line(end: &End, command: &str) -> String {
    let seconds = |time: WallTime| time.0 as f64 / 1e6;
    let runtime = seconds(WallTime(end.ended.0.saturating_sub(end.started.0)));
    format!(
        "{}\t{}\t{:.3}\t{runtime:10.3}\t0\t{}\t{}\t{}\t{}",
        end.seq,
        end.host,
        seconds(end.started),
        end.printed,
        end.exit.code,
        end.exit.signal,
        command.replace(['\n', '\t'], " ")
    )
}

/// How each task in a log ended last; nothing where there is no log yet. A line that was not written to its end is no line.
///
/// # Errors
/// For what is no log.
pub(super) fn read(path: &Path) -> anyhow::Result<BTreeMap<u32, Exit>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read the log `{}`", path.display())),
    };
    let mut ends = BTreeMap::new();
    let mut reader = BufReader::new(file);
    let mut bytes = Vec::new();
    for number in 1_u32.. {
        bytes.clear();
        reader.read_until(b'\n', &mut bytes).with_context(|| format!("cannot read the log `{}`", path.display()))?;
        let Some(text) = bytes.strip_suffix(b"\n") else { break };
        let text = String::from_utf8_lossy(text);
        match parse(&text) {
            _ if text.starts_with("Seq\t") || text.is_empty() => {}
            Some((seq, exit)) => _ = ends.insert(seq, exit),
            None => bail!("line {number} of `{}` is not one of a log", path.display()),
        }
    }
    Ok(ends)
}

pub(crate) fn parse(line: &str) -> Option<(u32, Exit)> {
    let fields: Vec<&str> = line.splitn(9, '\t').collect();
    let [seq, _, _, _, _, _, code, signal, _] = fields[..] else { return None };
    Some((seq.parse().ok()?, Exit { code: code.parse().ok()?, signal: signal.parse().ok()? }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_come_back() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("log");
        assert_eq!(read(&path).expect("nothing yet"), BTreeMap::new());
        let end = |seq, code, signal| End {
            seq,
            host: "n1".into(),
            started: WallTime(1_769_844_765_042_000),
            ended: WallTime(1_769_844_766_542_000),
            printed: 12,
            exit: Exit { code, signal },
        };
        let mut log = JobLog::open(&path, false).expect("opens");
        log.add(&end(2, 0, 0), "echo\ta\nb").expect("writes");
        log.add(&end(1, 3, 0), "x").expect("writes");
        let mut log = JobLog::open(&path, true).expect("opens");
        log.add(&end(1, 0, 9), "x").expect("writes");
        let text = fs::read_to_string(&path).expect("reads");
        let row = "2\tn1\t1769844765.042\t     1.500\t0\t12\t0\t0\techo a b";
        assert_eq!(text.lines().take(2).collect::<Vec<_>>(), [HEADER, row]);
        let ends = BTreeMap::from([(1, Exit { code: 0, signal: 9 }), (2, Exit { code: 0, signal: 0 })]);
        assert_eq!(read(&path).expect("reads"), ends);
        fs::write(&path, text + "3\tn1\t1.0\t1.0\t0\t0\t0").expect("writes");
        assert_eq!(read(&path).expect("a torn line is none"), ends);
        // Nor is what comes behind it spoilt, however long it is.
        for torn in ["3\tn1\t1.0", &"x".repeat(10_000)] {
            let text = fs::read_to_string(&path).expect("reads");
            let whole = &text[..=text.rfind('\n').expect("a line")];
            fs::write(&path, format!("{whole}{torn}")).expect("writes");
            let mut log = JobLog::open(&path, true).expect("opens");
            log.add(&end(4, 0, 0), "y").expect("writes");
            assert_eq!(read(&path).expect("reads").len(), 3);
            assert!(fs::read_to_string(&path).expect("reads").starts_with(whole));
        }
        fs::write(&path, &HEADER[..9]).expect("writes");
        JobLog::open(&path, true).expect("opens").add(&end(1, 0, 0), "y").expect("writes");
        assert_eq!(read(&path).expect("reads").len(), 1);
        fs::write(&path, "hello").expect("writes");
        assert!(JobLog::open(&path, true).is_err(), "no log");
        fs::write(&path, "hello\n").expect("writes");
        assert!(read(&path).expect_err("no log").to_string().starts_with("line 1 of "));
    }
}
