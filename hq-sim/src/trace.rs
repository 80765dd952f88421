use std::{
    collections::VecDeque,
    fmt::{self, Write},
};

/// What went in and out, in order: a digest of all of it, and the last lines.
#[derive(Clone, Debug)]
pub struct Trace {
    keep: usize,
    lines: VecDeque<String>,
    len: u64,
    digest: Digest,
}

/// FNV-1a over the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Digest(u64);

impl Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}

impl Trace {
    /// An empty one that keeps its last `keep` lines.
    pub const fn new(keep: usize) -> Self {
        Self { keep, lines: VecDeque::new(), len: 0, digest: Digest(0xcbf2_9ce4_8422_2325) }
    }

    /// Adds a line.
    pub fn push(&mut self, line: fmt::Arguments<'_>) {
        self.len += 1;
        if self.keep == 0 {
            // Neither fails: the sink takes everything.
            _ = self.digest.write_fmt(line);
            return;
        }
        if self.lines.len() == self.keep {
            self.lines.pop_front();
        }
        let text = line.to_string();
        _ = self.digest.write_str(&text);
        self.lines.push_back(text);
    }

    /// The lines that are kept.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    /// How many lines there were.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// True without any.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Depends on every byte of every line.
    pub const fn digest(&self) -> u64 {
        self.digest.0
    }
}
