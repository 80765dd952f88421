use hq_core::Rng;

/// Makes inputs out of seeds. The same number gives the same inputs.
pub struct Mutator {
    rng: Rng,
}

/// Values at borders.
const BORDERS: [u64; 14] =
    [0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 1 << 31, (1 << 31) - 1, u32::MAX as u64, 1 << 62, 1 << 63, u64::MAX];
/// Pieces of words.
const WORDS: [&str; 22] = [
    "\n",
    ",",
    ":",
    "-",
    "=",
    "..",
    "[",
    "]",
    "\"",
    "'",
    "%{",
    "}",
    "0",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "-9223372036854775808",
    "0.00001",
    "1e309",
    "\\",
    "é",
    "\0",
];
/// Longer inputs are cut.
const LEN_MAX: usize = 4096;

impl Mutator {
    /// Begins with a number.
    pub fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed) }
    }

    /// A variant of one of the seeds, or bytes by chance.
    pub fn input(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut input = if seeds.is_empty() || self.rng.chance(3) {
            (0..self.rng.below(40)).map(|_| self.byte()).collect()
        } else {
            self.rng.pick(seeds).clone()
        };
        for _ in 0..self.rng.range(1, 4) {
            self.change(&mut input, seeds);
        }
        input.truncate(LEN_MAX);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let at = self.at(input);
        match self.rng.below(9) {
            0 if at < input.len() => input[at] ^= 1 << self.rng.below(8),
            1 if at < input.len() => input[at] = self.byte(),
            2 => input.truncate(at),
            3 => {
                let end = at + self.rng.below((input.len() - at + 1).min(16) as u64) as usize;
                drop(input.drain(at..end));
            }
            4 => {
                let piece = self.piece(input);
                input.splice(at..at, piece);
            }
            5 if !seeds.is_empty() => {
                let other = self.rng.pick(seeds).clone();
                let piece = self.piece(&other);
                let end = (at + piece.len()).min(input.len());
                input.splice(at..end, piece);
            }
            6 => {
                let word = self.rng.pick(&WORDS).as_bytes().to_vec();
                input.splice(at..at, word);
            }
            7 => {
                let value = *self.rng.pick(&BORDERS);
                let bytes = value.to_le_bytes()[..1 << self.rng.below(4)].to_vec();
                let end = (at + bytes.len()).min(input.len());
                input.splice(at..end, bytes);
            }
            _ => {
                // As postcard and LEB128 write numbers.
                let mut value = *self.rng.pick(&BORDERS);
                let mut bytes = vec![];
                while value >= 0x80 {
                    bytes.push(value as u8 | 0x80);
                    value >>= 7;
                }
                bytes.push(value as u8);
                let end = (at + 1).min(input.len());
                input.splice(at..end, bytes);
            }
        }
    }

    fn at(&mut self, input: &[u8]) -> usize {
        self.rng.below(input.len() as u64 + 1) as usize
    }

    fn byte(&mut self) -> u8 {
        self.rng.below(256) as u8
    }

    fn piece(&mut self, of: &[u8]) -> Vec<u8> {
        let from = self.at(of);
        let len = self.rng.below((of.len() - from + 1).min(64) as u64) as usize;
        of[from..from + len].to_vec()
    }
}
