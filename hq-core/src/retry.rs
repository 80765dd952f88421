//! What happens after a run that did not end well: which tasks are run again, how often, and when.

mod parse;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Rng, Span};

pub use parse::RetryParseError;

/// What ended a run, as far as rules tell it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FailCause {
    /// The program ended with this exit code.
    Exit(i32),
    /// A signal that nobody of us sent ended the program.
    Signal(i32),
    /// The system ended the program for want of memory.
    OutOfMemory,
    /// It ran for longer than its time limit.
    TimeLimit,
    /// The program did not begin: the worker lacked processes, descriptors or memory.
    NoStart,
    /// Its worker was lost, and that may be its doing.
    Crash,
    /// Its worker went for a reason of its own: it was stopped, its time was over, its allocation was preempted.
    Preempted,
    /// Anything else: an error of a function, a program that is not there, …
    Other,
}

/// A run that ended badly.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Failure {
    /// Of what.
    pub cause: FailCause,
    /// For people.
    pub error: String,
}

/// Runs a task again after ends of one kind.
///
/// Of the rules of a task the first one counts that is for the cause of the end. Each counts for itself how often it was
/// used. What no rule is for has failed; but a task whose worker is lost waits again at once, as often as its
/// [`CrashLimit`](crate::CrashLimit) allows, and one that could not begin is tried again by [`RetryRule::built_in`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RetryRule {
    /// After which ends.
    pub on: RetryOn,
    /// How often.
    pub times: RetryTimes,
    /// How long it waits before.
    pub backoff: Backoff,
}

/// For which ends a [`RetryRule`] is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RetryOn {
    /// Exit codes of the program, all but 0 where none is named.
    Exit(ExitCodes),
    /// A signal that nobody of us sent, want of memory aside.
    Signal,
    /// Want of memory; where codes are named, these exit codes say so as well.
    OutOfMemory(ExitCodes),
    /// The time limit.
    TimeLimit,
    /// See [`FailCause::NoStart`].
    NoStart,
    /// See [`FailCause::Crash`]; the crash limit holds besides.
    Crash,
    /// See [`FailCause::Preempted`].
    Preempted,
    /// Any end of a run by itself, whatever it was. The loss of a worker is none.
    Any,
}

/// A set of exit codes as ranges, both ends included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ExitCodes(Vec<(u8, u8)>);

/// How often a rule may be used for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RetryTimes {
    /// So often; 0: such ends are final.
    Limit(u16),
    /// No bound.
    Unlimited,
}

/// Waits that grow: the first one, then twice as long each time, up to a longest one. Of each up to a quarter is taken
/// off by chance, so that what failed together does not come back together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Backoff {
    /// The first wait.
    pub first: Span,
    /// No wait is longer.
    pub max: Span,
}

impl ExitCodes {
    /// Ranges in one set, at most as many as a list can name.
    pub const RANGES_MAX: usize = 64;

    /// These codes.
    pub fn of(codes: impl IntoIterator<Item = u8>) -> Self {
        Self::from_ranges(codes.into_iter().map(|code| (code, code)))
    }

    /// Those of ranges, both ends included; joined where they touch.
    pub fn from_ranges(ranges: impl IntoIterator<Item = (u8, u8)>) -> Self {
        let mut sorted: Vec<(u8, u8)> = ranges.into_iter().map(|(a, b)| (a.min(b), a.max(b))).collect();
        sorted.sort_unstable();
        let mut joined: Vec<(u8, u8)> = Vec::new();
        for (low, high) in sorted {
            match joined.last_mut() {
                Some((_, last)) if low <= last.saturating_add(1) => *last = (*last).max(high),
                _ => joined.push((low, high)),
            }
        }
        Self(joined)
    }

    /// Whether none is named.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is named.
    pub fn contains(&self, code: i32) -> bool {
        self.0.iter().any(|(low, high)| (i32::from(*low)..=i32::from(*high)).contains(&code))
    }
}

impl Backoff {
    /// No wait at all.
    pub const NONE: Self = Self { first: Span::ZERO, max: Span::ZERO };

    /// The wait before the `n`-th repetition, from 1.
    pub fn wait(self, n: u32, rng: &mut Rng) -> Span {
        let doublings = n.saturating_sub(1).min(63);
        let whole = self.first.times(1 << doublings).0.min(self.max.0.max(self.first.0));
        Span(whole - rng.below(whole / 4 + 1))
    }
}

impl Default for Backoff {
    /// From a second to five minutes.
    fn default() -> Self {
        Self { first: Span::secs(1), max: Span::secs(300) }
    }
}

impl RetryRule {
    /// Rules of a task, at most.
    pub const COUNT_MAX: usize = 32;
    /// The number of [`built_in`](Self::built_in).
    pub const BUILT_IN: u8 = u8::MAX;

    /// Runs a task again so often after such ends, with the usual waits.
    pub fn new(on: RetryOn, times: RetryTimes) -> Self {
        Self { on, times, backoff: Backoff::default() }
    }

    /// The same so often, without a wait.
    pub const fn at_once(on: RetryOn, times: u16) -> Self {
        Self { on, times: RetryTimes::Limit(times), backoff: Backoff::NONE }
    }

    /// With these waits.
    #[must_use]
    pub const fn waiting(mut self, first: Span, max: Span) -> Self {
        self.backoff = Backoff { first, max };
        self
    }

    /// The one for tasks whose rules say nothing of [`FailCause::NoStart`]: it ran not at all, and is no failure of the
    /// task. Ten times, after waits of one second to a minute.
    pub const fn built_in() -> Self {
        let backoff = Backoff { first: Span::secs(1), max: Span::secs(60) };
        Self { on: RetryOn::NoStart, times: RetryTimes::Limit(10), backoff }
    }

    /// The rule that is for this end, and its number.
    pub fn find(rules: &[Self], cause: FailCause) -> Option<(u8, Self)> {
        let own = (0..).zip(rules).find(|(_, rule)| rule.on.is_for(cause));
        let own = own.map(|(n, rule)| (n, rule.clone()));
        own.or_else(|| (cause == FailCause::NoStart).then(|| (Self::BUILT_IN, Self::built_in())))
    }

    /// At most as many bytes are in its encoding.
    pub(crate) fn weight(&self) -> usize {
        let codes = match &self.on {
            RetryOn::Exit(codes) | RetryOn::OutOfMemory(codes) => codes.0.len(),
            _ => 0,
        };
        32 + 2 * codes
    }

    /// Whether its list of codes is short enough.
    pub(crate) const fn is_small(&self) -> bool {
        match &self.on {
            RetryOn::Exit(codes) | RetryOn::OutOfMemory(codes) => codes.0.len() <= ExitCodes::RANGES_MAX,
            _ => true,
        }
    }
}

impl RetryOn {
    /// Whether it is for ends of this cause.
    pub fn is_for(&self, cause: FailCause) -> bool {
        match (self, cause) {
            (Self::Exit(codes), FailCause::Exit(code)) => codes.is_empty() || codes.contains(code),
            (Self::OutOfMemory(codes), FailCause::Exit(code)) => codes.contains(code),
            (Self::Signal, FailCause::Signal(_))
            | (Self::OutOfMemory(_), FailCause::OutOfMemory)
            | (Self::TimeLimit, FailCause::TimeLimit)
            | (Self::NoStart, FailCause::NoStart)
            | (Self::Crash, FailCause::Crash)
            | (Self::Preempted, FailCause::Preempted) => true,
            (Self::Any, cause) => !matches!(cause, FailCause::Crash | FailCause::Preempted),
            _ => false,
        }
    }
}

impl RetryTimes {
    /// Whether a rule that was used so often may be used once more.
    pub const fn allows(self, used: u32) -> bool {
        match self {
            Self::Limit(limit) => used < limit as u32,
            Self::Unlimited => true,
        }
    }
}

/// As [`RetryRule::parse`] reads it.
impl fmt::Display for RetryRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.on, self.times)?;
        if self.backoff != Backoff::default() {
            write!(f, ":{}..{}", self.backoff.first, self.backoff.max.max(self.backoff.first))?;
        }
        Ok(())
    }
}

impl fmt::Display for RetryOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exit(_) => "exit",
            Self::Signal => "signal",
            Self::OutOfMemory(_) => "oom",
            Self::TimeLimit => "time-limit",
            Self::NoStart => "start",
            Self::Crash => "crash",
            Self::Preempted => "preempted",
            Self::Any => "any",
        })?;
        match self {
            Self::Exit(codes) | Self::OutOfMemory(codes) if !codes.is_empty() => write!(f, "={codes}"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for ExitCodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (low, high) in &self.0 {
            f.write_str(separator)?;
            separator = ",";
            match low == high {
                true => write!(f, "{low}")?,
                false => write!(f, "{low}-{high}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for RetryTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(n) => n.fmt(f),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn waits_grow_up_to_the_longest() {
        let backoff = Backoff { first: Span::secs(1), max: Span::secs(10) };
        for (n, whole) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (64, 10), (u32::MAX, 10)] {
            for seed in 0..50 {
                let wait = backoff.wait(n, &mut Rng::new(seed));
                assert!(wait <= Span::secs(whole) && wait.0 * 4 >= whole * 3_000_000, "{n} {wait}");
                assert_eq!(wait, backoff.wait(n, &mut Rng::new(seed)), "the same seed, the same wait");
            }
        }
        let waits: std::collections::BTreeSet<Span> =
            (0..50).map(|seed| backoff.wait(3, &mut Rng::new(seed))).collect();
        assert!(waits.len() > 40, "what failed together does not come back together");
        assert_eq!(Backoff::NONE.wait(9, &mut Rng::new(1)), Span::ZERO);
        let longest = Backoff { first: Span(u64::MAX), max: Span(u64::MAX) };
        assert!(longest.wait(u32::MAX, &mut Rng::new(1)).0 >= u64::MAX / 4 * 3);
    }

    #[test]
    fn the_first_rule_that_is_for_a_cause_counts() {
        let rules: Vec<RetryRule> = ["exit=2:0", "oom=3:4", "exit=1-5:1", "any:7", "crash:2"]
            .map(|text| RetryRule::parse(text).unwrap())
            .into();
        for (cause, number) in [
            (FailCause::Exit(2), Some(0)),
            (FailCause::Exit(3), Some(1)),
            (FailCause::OutOfMemory, Some(1)),
            (FailCause::Exit(4), Some(2)),
            (FailCause::Exit(-1), Some(3)),
            (FailCause::NoStart, Some(3)),
            (FailCause::Other, Some(3)),
            (FailCause::Crash, Some(4)),
            (FailCause::Preempted, None),
        ] {
            assert_eq!(RetryRule::find(&rules, cause).map(|(n, _)| n), number, "{cause:?}");
        }
        assert_eq!(RetryRule::find(&[], FailCause::NoStart), Some((RetryRule::BUILT_IN, RetryRule::built_in())));
        assert_eq!(RetryRule::find(&[], FailCause::Exit(1)), None);
    }

    proptest! {
        #[test]
        fn sets_of_codes_hold_what_they_are_given(ranges in prop::collection::vec((any::<u8>(), any::<u8>()), 0..9)) {
            let codes = ExitCodes::from_ranges(ranges.clone());
            for code in 0..=255_u8 {
                let given = ranges.iter().any(|(a, b)| (*a.min(b)..=*a.max(b)).contains(&code));
                prop_assert_eq!(codes.contains(code.into()), given);
            }
            prop_assert!(codes.0.windows(2).all(|pair| u16::from(pair[0].1) + 1 < u16::from(pair[1].0)));
        }
    }
}
