//! Lists of task numbers.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

use crate::runs::{Tangle, apart};

/// Task numbers as runs with a step, in the order given: index to number and back in O(log runs).
///
/// A million consecutive numbers take as much room as one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Run>", into = "Vec<Run>")]
pub struct IdList {
    runs: Vec<Run>,
    /// Number of ids before each run.
    offsets: Vec<u64>,
    len: u64,
    /// Runs by their first number, in as many layers as are needed for spans not to interleave within a layer: nearly always
    /// one.
    layers: Vec<Vec<u32>>,
    /// The end as given of those runs whose steps miss it, to show it: the run, the end.
    ends: Vec<(u32, u32)>,
}

/// `count` numbers from `start` in steps of `step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The first number.
    pub start: u32,
    /// How many. In a serialised list, a run of 0 numbers is no run: it notes that the steps of the run before it were
    /// given up to `start`, as in `0-10:3`.
    pub count: u32,
    /// Distance of neighbours; not 0.
    pub step: u32,
}

impl Run {
    fn last(self) -> u32 {
        let last = u64::from(self.start) + (u64::from(self.count.max(1)) - 1) * u64::from(self.step);
        u32::try_from(last).unwrap_or(u32::MAX)
    }

    fn position(self, number: u32) -> Option<u64> {
        let distance = number.checked_sub(self.start)?;
        let index = distance / self.step.max(1);
        (distance.is_multiple_of(self.step.max(1)) && index < self.count).then_some(u64::from(index))
    }

    fn slice(self, from: u64, len: u64) -> Self {
        Self { start: self.start + from as u32 * self.step, count: len as u32, step: self.step }
    }
}

/// Why a text is not a list of task numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdListError {
    /// Something other than the syntax allows, at this byte.
    #[error("unexpected text at position {at}; expected a number, a range `1-10` or a stepped range `1-10:2`")]
    Syntax {
        /// Byte offset in the text.
        at: usize,
    },
    /// A number or the length of a range that does not fit, at this byte.
    #[error("too large at position {at}: numbers and lengths of ranges go up to 4294967295")]
    TooLarge {
        /// Byte offset in the text.
        at: usize,
    },
    /// `5-1`.
    #[error("Invalid range: the end of {start}-{end} is before its start")]
    Invalid {
        /// Byte offset of the range in the text.
        at: usize,
        /// Its first number.
        start: u32,
        /// Its last number.
        end: u32,
    },
    /// `1-10:0` or a step longer than the range.
    #[error("Invalid range: step {step} must be at least 1 and at most the length of the range")]
    Step {
        /// Byte offset of the range in the text.
        at: usize,
        /// The step given.
        step: u32,
    },
    /// The same number twice.
    #[error("Ranges overlap")]
    Overlap,
}

impl IdList {
    /// `count` consecutive numbers from `start`.
    pub fn range(start: u32, count: u32) -> Self {
        Self::from(if count == 0 { vec![] } else { vec![Run { start, count, step: 1 }] })
    }

    /// These numbers in this order, neighbours joined to runs.
    ///
    /// # Errors
    /// [`IdListError::Overlap`] where a number occurs twice.
    pub fn from_numbers(numbers: impl IntoIterator<Item = u32>) -> Result<Self, IdListError> {
        let mut runs: Vec<Run> = Vec::new();
        for number in numbers {
            match runs.last_mut() {
                Some(run) if run.start.checked_add(run.count) == Some(number) => run.count += 1,
                _ => runs.push(Run { start: number, count: 1, step: 1 }),
            }
        }
        Self::checked(runs)
    }

    fn checked(runs: Vec<Run>) -> Result<Self, IdListError> {
        let list = Self::from(runs);
        list.distinct().map_err(|_| IdListError::Overlap)?;
        Ok(list)
    }

    /// How many numbers.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// True without numbers.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The runs in the order given.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The number at `index`.
    pub fn get(&self, index: u64) -> Option<u32> {
        self.run_of(index).map(|run| run.start)
    }

    /// The same as a run of one.
    pub fn run_of(&self, index: u64) -> Option<Run> {
        let i = self.run_at(index)?;
        Some(self.runs[i].slice(index - self.offsets[i], 1))
    }

    /// Where `number` stands.
    pub fn index_of(&self, number: u32) -> Option<u64> {
        let in_layer = |layer: &Vec<u32>| {
            let after = layer.partition_point(|i| self.runs[*i as usize].start <= number);
            let i = layer[after.checked_sub(1)?] as usize;
            Some(self.offsets[i] + self.runs[i].position(number)?)
        };
        self.layers.iter().filter_map(in_layer).min()
    }

    /// The largest number.
    pub fn max(&self) -> Option<u32> {
        self.runs.iter().map(|run| run.last()).max()
    }

    /// All numbers in the order given.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.runs.iter().flat_map(|run| (0..run.count).map(|i| run.start + i * run.step))
    }

    /// The numbers at `from..from + len` as runs.
    pub fn slice(&self, from: u64, len: u64) -> Vec<Run> {
        let mut result = Vec::new();
        let (mut at, end) = (from, from.saturating_add(len).min(self.len));
        let mut i = self.run_at(from).unwrap_or(self.runs.len());
        while at < end {
            let inside = at - self.offsets[i];
            let part = (u64::from(self.runs[i].count) - inside).min(end - at);
            result.push(self.runs[i].slice(inside, part));
            at += part;
            i += 1;
        }
        result
    }

    /// The numbers below `end`, in the order given.
    #[must_use]
    pub fn below(&self, end: u32) -> Self {
        let cut = |run: &Run| {
            let count = end.checked_sub(run.start).map_or(0, |room| room.div_ceil(run.step).min(run.count));
            (count > 0).then_some(Run { count, ..*run })
        };
        Self::from(self.runs.iter().filter_map(cut).collect::<Vec<_>>())
    }

    /// The smallest number.
    pub fn min(&self) -> Option<u32> {
        self.runs.iter().map(|run| run.start).min()
    }

    /// Whether each number occurs once. The work follows the number of runs, not of numbers.
    ///
    /// # Errors
    /// Names a number that occurs twice, or says that the list is too tangled to tell.
    pub fn distinct(&self) -> Result<(), Tangle> {
        if self.layers.len() > 1 { apart(&self.runs, &[]) } else { Ok(()) }
    }

    /// Whether no number is in both lists, each of which is [`distinct`](Self::distinct).
    ///
    /// # Errors
    /// Names a number that is in both, or says that the lists are too tangled to tell.
    pub fn apart(&self, other: &Self) -> Result<(), Tangle> {
        if self.max() < other.min() || other.max() < self.min() {
            return Ok(());
        }
        apart(&self.runs, &other.runs)
    }

    /// Reads `n`, `n-m` and `n-m:step`, joined by commas; blanks around items and `_` in numbers are allowed.
    ///
    /// # Errors
    /// Says what is wrong and where.
    ///
    /// # Examples
    /// ```
    /// use hq_core::IdList;
    /// let ids = IdList::parse("1-10:3, 20").unwrap();
    /// assert_eq!(ids.iter().collect::<Vec<_>>(), [1, 4, 7, 10, 20]);
    /// ```
    pub fn parse(text: &str) -> Result<Self, IdListError> {
        let mut runs = Vec::new();
        let mut at = 0;
        for item in text.split(',') {
            let (run, end) = parse_item(item, at)?;
            runs.extend([run, Run { start: end, count: 0, ..run }]);
            at += item.len() + 1;
        }
        Self::checked(runs)
    }

    fn run_at(&self, index: u64) -> Option<usize> {
        (index < self.len).then(|| self.offsets.partition_point(|offset| *offset <= index) - 1)
    }
}

/// A run and its end as given.
fn parse_item(item: &str, at: usize) -> Result<(Run, u32), IdListError> {
    let number = |part: &str, offset: usize| -> Result<u32, IdListError> {
        let digits = part.trim();
        let at = at + offset + (part.len() - part.trim_start().len());
        if !digits.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(IdListError::Syntax { at });
        }
        if let Some(strange) = digits.find(|c: char| !c.is_ascii_digit() && c != '_') {
            return Err(IdListError::Syntax { at: at + strange });
        }
        if digits.ends_with('_') {
            return Err(IdListError::Syntax { at: at + digits.len() - 1 });
        }
        // Digits alone: it can only be too large.
        digits.replace('_', "").parse().map_err(|_| IdListError::TooLarge { at })
    };
    let begin = at + (item.len() - item.trim_start().len());
    let Some((first, rest)) = item.split_once('-') else {
        let start = number(item, 0)?;
        return Ok((Run { start, count: 1, step: 1 }, start));
    };
    let start = number(first, 0)?;
    let (last, step) = match rest.split_once(':') {
        Some((last, step)) => (last, Some(number(step, first.len() + last.len() + 2)?)),
        None => (rest, None),
    };
    let end = number(last, first.len() + 1)?;
    if end < start {
        return Err(IdListError::Invalid { at: begin, start, end });
    }
    let step_size = step.unwrap_or(1);
    if step_size == 0 || (step.is_some() && step_size > end - start) {
        return Err(IdListError::Step { at: begin, step: step_size });
    }
    let count = (end - start) / step_size;
    let count = count.checked_add(1).ok_or(IdListError::TooLarge { at: begin })?;
    Ok((Run { start, count, step: step_size }, end))
}

impl From<Vec<Run>> for IdList {
    /// Runs that have no step or leave the range of numbers are cut to what is sound.
    fn from(given: Vec<Run>) -> Self {
        let (mut runs, mut ends): (Vec<Run>, Vec<(u32, u32)>) = (Vec::with_capacity(given.len()), vec![]);
        for run in given {
            match runs.last() {
                _ if run.count > 0 => runs.push(sound(run)),
                Some(before) if is_end_of(run.start, *before) => ends.push((runs.len() as u32 - 1, run.start)),
                _ => {}
            }
        }
        ends.dedup_by_key(|(run, _)| *run);
        let mut offsets = Vec::with_capacity(runs.len());
        let mut len = 0;
        for run in &runs {
            offsets.push(len);
            len += u64::from(run.count);
        }
        let layers = layers(&runs);
        Self { runs, offsets, len, layers, ends }
    }
}

/// The least number of layers: each run goes into one whose last number is smaller than its first.
fn layers(runs: &[Run]) -> Vec<Vec<u32>> {
    let mut by_number: Vec<u32> = (0..runs.len() as u32).collect();
    by_number.sort_by_key(|i| runs[*i as usize].start);
    let mut layers: Vec<Vec<u32>> = Vec::new();
    let mut ends: BTreeSet<(u32, usize)> = BTreeSet::new();
    for i in by_number {
        let run = runs[i as usize];
        let at = match ends.first().copied().filter(|(last, _)| *last < run.start) {
            Some(end) => {
                ends.remove(&end);
                end.1
            }
            None => {
                layers.push(vec![]);
                layers.len() - 1
            }
        };
        layers[at].push(i);
        ends.insert((run.last(), at));
    }
    layers
}

/// Whether `end` is past the last number of a run, and the next one past `end`.
fn is_end_of(end: u32, run: Run) -> bool {
    end.checked_sub(run.last()).is_some_and(|rest| 0 < rest && rest < run.step)
}

fn sound(run: Run) -> Run {
    let step = run.step.max(1);
    let room = (u32::MAX - run.start) / step;
    Run { start: run.start, count: run.count.min(room.saturating_add(1)), step }
}

impl From<IdList> for Vec<Run> {
    fn from(list: IdList) -> Self {
        if list.ends.is_empty() {
            return list.runs;
        }
        let mut ends = list.ends.into_iter().peekable();
        let mut runs = Self::with_capacity(list.runs.len() + ends.len());
        for (i, run) in list.runs.into_iter().enumerate() {
            runs.push(run);
            let given = ends.next_if(|(of, _)| *of as usize == i);
            runs.extend(given.map(|(_, start)| Run { start, count: 0, ..run }));
        }
        runs
    }
}

/// As given: `1-6,10-20`, `0-10:3`, `5`.
impl fmt::Display for IdList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ends = self.ends.iter().peekable();
        for (i, run) in self.runs.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            let given = ends.next_if(|(of, _)| *of as usize == i);
            let end = given.map_or(run.last(), |(_, end)| *end);
            match (run.count, run.step) {
                (1, _) => write!(f, "{}", run.start)?,
                (_, 1) => write!(f, "{}-{end}", run.start)?,
                (_, step) => write!(f, "{}-{end}:{step}", run.start)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn runs_that_interleave_lie_in_few_layers() {
        // The even numbers, and each odd one alone: backwards, so that the order given is another one.
        let half = if cfg!(miri) { 30 } else { 1000 };
        let mut runs = vec![Run { start: 0, count: half, step: 2 }];
        runs.extend((0..half - 1).rev().map(|i| Run { start: 2 * i + 1, count: 1, step: 1 }));
        let list = IdList::from(runs);
        assert_eq!(list.layers.len(), 2);
        assert!(list.distinct().is_ok());
        for (index, number) in list.iter().enumerate() {
            assert_eq!(list.index_of(number), Some(index as u64));
        }
        assert_eq!(list.index_of(2 * half - 1), None);
        assert!(IdList::from(vec![Run { start: 1, count: 3, step: 1 }; 2]).distinct().is_err());
    }

    proptest! {
        #[test]
        fn index_and_number_are_inverse(items in prop::collection::vec((0u32..200, 1u32..8, 1u32..5), 1..6)) {
            let runs: Vec<Run> = items.into_iter().map(|(start, count, step)| Run { start, count, step }).collect();
            let Ok(list) = IdList::checked(runs) else { return Ok(()) };
            let numbers: Vec<u32> = list.iter().collect();
            prop_assert_eq!(numbers.len() as u64, list.len());
            for (i, number) in numbers.iter().enumerate() {
                prop_assert_eq!(list.get(i as u64), Some(*number));
                prop_assert_eq!(list.index_of(*number), Some(i as u64));
                let below: Vec<u32> = list.below(*number).iter().collect();
                prop_assert_eq!(below, numbers.iter().copied().filter(|n| n < number).collect::<Vec<_>>());
                let rest: Vec<u32> = IdList::from(list.slice(i as u64, 3)).iter().collect();
                prop_assert_eq!(&rest[..], &numbers[i..numbers.len().min(i + 3)]);
            }
            let joined = IdList::from_numbers(numbers.iter().copied()).unwrap();
            prop_assert_eq!(joined.iter().collect::<Vec<_>>(), numbers);
        }

        #[test]
        fn ends_are_shown_as_given(items in prop::collection::vec((0u32..9, 1u32..30, 1u32..6), 1..5)) {
            let mut from = 0;
            let item = |(gap, len, step): &(u32, u32, u32)| {
                let (start, end) = (from + gap, from + gap + len);
                from = end + 1;
                if *step > 1 && step <= len { format!("{start}-{end}:{step}") } else { format!("{start}-{end}") }
            };
            let text = items.iter().map(item).collect::<Vec<_>>().join(",");
            let list = IdList::parse(&text).unwrap();
            prop_assert_eq!(list.to_string(), text);
            prop_assert_eq!(IdList::from(Vec::from(list.clone())), list);
        }
    }
}
