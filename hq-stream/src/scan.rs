use std::io;

use crate::{
    ReadAt,
    frame::{BODY_MAX, Frame, MAGIC, MAGIC_ANY, MARKER, PREFIX_LEN, Prefix, decode},
};

/// Bytes in memory at a time: some frames.
const WINDOW: usize = 128 << 10;

/// What could not be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Places.
    pub places: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Bytes at the very end that begin a frame: its writer was ended in the middle, or is not through.
    pub tail: u64,
}

impl Damage {
    /// Whether something was overwritten or lost, rather than not written to its end.
    pub const fn is_none(self) -> bool {
        self.places == 0
    }
}

/// Reads frames one after the other, from one place of a file to another; what is damaged is passed over.
///
/// Takes 128 KiB of memory whatever the file holds.
#[derive(Debug)]
pub struct Scan<S> {
    source: S,
    /// The frame that begins there is the last.
    until: u64,
    window: Vec<u8>,
    /// Where in the file the window begins, and how much of it is filled.
    start: u64,
    filled: usize,
    /// Where in the window reading goes on.
    at: usize,
    /// Nothing comes after the window.
    is_last: bool,
    salt: Option<u32>,
    damage: Damage,
    /// Bytes passed over since the last whole frame.
    lost: u64,
    /// They begin like a frame that goes on past the end.
    may_be_tail: bool,
}

impl<S: ReadAt> Scan<S> {
    /// Reads a whole file; `None` where it is not one of ours, or of a later format.
    ///
    /// A file whose first bytes are damaged is read all the same if a frame is found in it.
    ///
    /// # Errors
    /// As the system says.
    pub fn new(source: S) -> io::Result<Option<Self>> {
        let mut scan = Self::part(source, 0..u64::MAX, None);
        scan.fill()?;
        let magic = &scan.window[..scan.filled.min(MAGIC.len())];
        if magic == MAGIC {
            scan.at = MAGIC.len();
        } else if magic.starts_with(MAGIC_ANY) && !scan.has_frame() {
            return Ok(None);
        }
        Ok(Some(scan))
    }

    /// Reads the frames that begin in `range`, with this salt.
    pub(crate) fn part(source: S, range: std::ops::Range<u64>, salt: Option<u32>) -> Self {
        Self {
            source,
            until: range.end,
            window: vec![],
            start: range.start,
            filled: 0,
            at: 0,
            is_last: false,
            salt,
            damage: Damage::default(),
            lost: 0,
            may_be_tail: false,
        }
    }

    /// The next frame that is whole, and the place where it begins; `None` at the end.
    ///
    /// # Errors
    /// As the system says.
    #[expect(clippy::should_implement_trait, reason = "what it gives is borrowed from it")]
    pub fn next(&mut self) -> io::Result<Option<(u64, Frame<'_>)>> {
        loop {
            if self.position() >= self.until {
                return Ok(None);
            }
            if self.filled - self.at < PREFIX_LEN + BODY_MAX && !self.is_last {
                self.fill()?;
            }
            if self.at >= self.filled {
                self.count_lost(self.may_be_tail);
                return Ok(None);
            }
            let Some(prefix) = self.whole_frame() else {
                self.resync();
                continue;
            };
            let begin = self.at;
            self.at += prefix.frame_len();
            self.count_lost(false);
            // Frames of a kind that a later version writes are none of ours.
            if decode(&self.window[begin + PREFIX_LEN..self.at]).is_some() {
                self.salt.get_or_insert(prefix.salt);
                let frame = decode(&self.window[begin + PREFIX_LEN..self.at]);
                return Ok(frame.map(|frame| (self.start + begin as u64, frame)));
            }
        }
    }

    /// The frame that [`next`](Self::next) gave last, if it began there.
    pub(crate) fn again(&self, begin: u64) -> Option<Frame<'_>> {
        let begin = usize::try_from(begin.checked_sub(self.start)?).ok()?;
        decode(self.window.get(begin + PREFIX_LEN..self.at)?)
    }

    /// What was passed over up to now.
    pub fn damage(&self) -> Damage {
        self.damage
    }

    /// The salt of the file, once a frame was read.
    pub(crate) const fn salt(&self) -> Option<u32> {
        self.salt
    }

    /// Where the next frame begins.
    pub(crate) const fn position(&self) -> u64 {
        self.start + self.at as u64
    }

    /// The frame at the current place, if it is whole and ours.
    fn whole_frame(&self) -> Option<Prefix> {
        let rest = &self.window[self.at..self.filled];
        let prefix = Prefix::read(rest)?;
        let is_ours = self.salt.is_none_or(|salt| salt == prefix.salt);
        let body = rest.get(PREFIX_LEN..PREFIX_LEN + prefix.body_len())?;
        (is_ours && prefix.fits(body)).then_some(prefix)
    }

    /// Goes on at the next marker in the window, or near its end.
    fn resync(&mut self) {
        let rest = &self.window[self.at..self.filled];
        if self.lost == 0 {
            self.may_be_tail = self.is_last && is_beginning(rest);
        }
        let found = rest[1..].windows(MARKER.len()).position(|bytes| bytes == MARKER);
        let skipped = match found {
            Some(at) => at + 1,
            None if self.is_last => rest.len(),
            // A marker may begin in the last bytes.
            None => rest.len().saturating_sub(MARKER.len() - 1).max(1),
        };
        self.at += skipped;
        self.lost += skipped as u64;
    }

    fn count_lost(&mut self, is_tail: bool) {
        let lost = std::mem::take(&mut self.lost);
        if is_tail {
            self.damage.tail += lost;
        } else {
            self.damage.places += u64::from(lost > 0);
            self.damage.bytes += lost;
        }
    }

    /// Moves the rest of the window to its front and reads on.
    fn fill(&mut self) -> io::Result<()> {
        self.window.resize(WINDOW, 0);
        self.window.copy_within(self.at..self.filled, 0);
        self.start += self.at as u64;
        self.filled -= self.at;
        self.at = 0;
        while self.filled < WINDOW {
            let n = self.source.read_at(&mut self.window[self.filled..], self.start + self.filled as u64)?;
            if n == 0 {
                self.is_last = true;
                break;
            }
            self.filled += n;
        }
        Ok(())
    }

    /// Whether a whole frame is in the window.
    fn has_frame(&self) -> bool {
        let window = &self.window[..self.filled];
        let mut starts = window.windows(MARKER.len()).enumerate().filter(|(_, bytes)| *bytes == MARKER);
        starts.any(|(at, _)| {
            let prefix = Prefix::read(&window[at..]);
            let body = |prefix: Prefix| window.get(at + PREFIX_LEN..at + prefix.frame_len());
            prefix.is_some_and(|prefix| body(prefix).is_some_and(|body| prefix.fits(body)))
        })
    }
}

/// Whether these bytes may begin a frame that is longer.
fn is_beginning(bytes: &[u8]) -> bool {
    match Prefix::read(bytes) {
        Some(prefix) => bytes.len() < prefix.frame_len(),
        None if bytes.len() < PREFIX_LEN => bytes.starts_with(&MARKER) || MARKER.starts_with(bytes),
        None => false,
    }
}
