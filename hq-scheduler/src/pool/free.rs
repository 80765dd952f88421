use std::collections::BTreeMap;

use hq_core::{Amount, Piece};

use super::shape::{GroupShape, ResourceShape};

/// What is free of one resource. Two states that are free of the same are equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Free {
    /// An amount without identity.
    Sum(Amount),
    /// Single indices.
    Indexed(Indexed),
}

/// Which indices are free, wholly or in part.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Indexed {
    /// A bit for each index that is wholly free; each group starts a word of its own.
    words: Vec<u64>,
    /// How many bits are set in each group.
    pub(super) whole: Vec<u32>,
    /// How many are set in all.
    pub(super) whole_total: u32,
    /// Of each index that is partly used and partly free: how much is free.
    pub(super) parts: BTreeMap<u32, Amount>,
}

impl Free {
    /// All free.
    pub(super) fn new(shape: &ResourceShape) -> Self {
        if shape.groups.is_empty() { Self::Sum(shape.total) } else { Self::Indexed(Indexed::new(shape)) }
    }

    /// Whether nothing is in use.
    pub(super) fn is_all(&self, shape: &ResourceShape) -> bool {
        match self {
            Self::Sum(amount) => *amount == shape.total,
            Self::Indexed(indexed) => indexed.whole_total == shape.count(),
        }
    }

    /// All that is free, in one figure.
    pub(super) fn amount(&self) -> Amount {
        match self {
            Self::Sum(amount) => *amount,
            Self::Indexed(indexed) => {
                let parts: u64 = indexed.parts.values().map(|part| part.parts()).sum();
                Amount::from_parts(Amount::units(indexed.whole_total).parts() + parts)
            }
        }
    }

    /// The most that one request could get: a fraction comes from a single index.
    pub(super) fn largest(&self) -> Amount {
        match self {
            Self::Sum(amount) => *amount,
            Self::Indexed(indexed) => {
                let part = indexed.parts.values().max().map_or(0, |part| part.parts());
                Amount::from_parts(Amount::units(indexed.whole_total).parts() + part)
            }
        }
    }

    /// Whether that much can be had now, whatever the policy.
    pub(super) fn holds(&self, amount: Amount) -> bool {
        match self {
            Self::Sum(free) => *free >= amount,
            // The second test says it all, the first one is cheap.
            Self::Indexed(indexed) => amount.whole() < u64::from(indexed.whole_total) || amount <= self.largest(),
        }
    }
}

impl Indexed {
    fn new(shape: &ResourceShape) -> Self {
        let words = shape.groups.iter().flat_map(|group| {
            let last = group.words() - 1;
            let rest = group.size - last as u32 * 64;
            (0..=last).map(move |at| if at < last || rest == 64 { u64::MAX } else { (1 << rest) - 1 })
        });
        Self {
            words: words.collect(),
            whole: shape.groups.iter().map(|group| group.size).collect(),
            whole_total: shape.count(),
            parts: BTreeMap::new(),
        }
    }

    /// How much is free of an index of `group`.
    pub(super) fn of(&self, group: GroupShape, index: u32) -> Amount {
        let (word, bit) = bit(group, index);
        if self.words[word] & bit != 0 { Amount::ONE } else { self.parts.get(&index).copied().unwrap_or_default() }
    }

    /// Bits of the whole indices of a word that are free.
    pub(super) fn word(&self, word: usize) -> u64 {
        self.words[word]
    }

    /// Takes these whole indices of group number `at`, all of which are free, or makes them free, none of which is.
    pub(super) fn flip(&mut self, at: usize, word: usize, bits: u64) {
        let n = bits.count_ones();
        if self.words[word] & bits == 0 {
            self.whole[at] += n;
            self.whole_total += n;
        } else {
            self.whole[at] -= n;
            self.whole_total -= n;
        }
        self.words[word] ^= bits;
    }

    /// Makes exactly `amount`, at most one unit, of an index of group number `at` free.
    pub(super) fn set(&mut self, group: GroupShape, at: usize, index: u32, amount: Amount) {
        let (word, bit) = bit(group, index);
        let was = self.words[word] & bit != 0;
        let is = amount == Amount::ONE;
        if was != is {
            self.words[word] ^= bit;
            if is {
                self.whole[at] += 1;
                self.whole_total += 1;
            } else {
                self.whole[at] -= 1;
                self.whole_total -= 1;
            }
        }
        if is || amount.is_zero() {
            self.parts.remove(&index);
        } else {
            self.parts.insert(index, amount);
        }
    }

    /// The partly free index of `group` of which `part` can be had and the least is left over, and what is free of it.
    pub(super) fn best_part(&self, group: GroupShape, part: Amount) -> Option<(Amount, u32)> {
        let inside = self.parts.range(group.start..group.start + group.size);
        inside.filter(|(_, free)| **free >= part).map(|(index, free)| (*free, *index)).min()
    }

    /// Appends the `n` lowest wholly free indices of `group`, which has that many.
    pub(super) fn push_lowest(&self, group: GroupShape, n: u32, pieces: &mut Vec<Piece>) {
        let mut left = n;
        for at in 0..group.words() {
            let mut word = self.words[group.words_at + at];
            while word != 0 && left > 0 {
                let index = group.start + at as u32 * 64 + word.trailing_zeros();
                pieces.push(Piece { index, amount: Amount::ONE });
                word &= word - 1;
                left -= 1;
            }
            if left == 0 {
                return;
            }
        }
    }
}

/// The word and the bit of an index of `group`.
pub(super) const fn bit(group: GroupShape, index: u32) -> (usize, u64) {
    let offset = index - group.start;
    (group.words_at + offset as usize / 64, 1 << (offset % 64))
}
