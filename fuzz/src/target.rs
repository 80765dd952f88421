use crate::memory;

/// A decoder or parser, and what to feed it with.
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Feeds it. Panics where a promise is broken.
    pub run: fn(&[u8]),
    /// Inputs to begin with.
    pub seeds: Vec<Vec<u8>>,
    /// Bytes that it may have at a time: so many, and so many for each byte of the input.
    pub memory: (usize, usize),
    /// Whether one input takes more than some hundred microseconds.
    pub is_slow: bool,
}

/// What serde takes ahead for a list whose length is only claimed, for two lists in each other, and some.
const AHEAD: usize = 3 << 20;

impl Target {
    pub(crate) fn new<S: AsRef<[u8]>>(name: &'static str, run: fn(&[u8]), seeds: impl IntoIterator<Item = S>) -> Self {
        let seeds = seeds.into_iter().map(|seed| seed.as_ref().to_vec()).collect();
        Self { name, run, seeds, memory: (AHEAD, 256), is_slow: false }
    }

    /// For a whole machine or file behind the decoder, which has more besides.
    pub(crate) fn with_memory(self, base: usize, factor: usize) -> Self {
        Self { memory: (base, factor), ..self }
    }

    pub(crate) fn slow(self) -> Self {
        Self { is_slow: true, ..self }
    }
}

/// Runs a target on one input, and sees how much memory it takes at a time; that is counted only where
/// [`memory::Counting`] is the allocator.
///
/// # Panics
/// Where a promise is broken.
pub fn check(target: &Target, input: &[u8]) {
    let peak = memory::peak_of(|| (target.run)(input));
    let (base, factor) = target.memory;
    let most = base + factor * input.len();
    assert!(peak <= most, "{} takes {peak} bytes for an input of {}", target.name, input.len());
}
