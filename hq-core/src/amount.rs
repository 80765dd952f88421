use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// An amount of a resource: a count of 1/10,000 units, exact. Arithmetic on it is on integers alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Amount(u64);

impl Amount {
    /// Parts of one unit.
    pub const PARTS: u64 = 10_000;
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// One unit.
    pub const ONE: Self = Self(Self::PARTS);
    /// The largest amount that can be written: its units fit 32 bits.
    pub const MAX: Self = Self(u32::MAX as u64 * Self::PARTS + Self::PARTS - 1);

    /// Whole units.
    pub const fn units(n: u32) -> Self {
        Self(n as u64 * Self::PARTS)
    }

    /// From a count of 1/10,000 units.
    pub const fn from_parts(parts: u64) -> Self {
        Self(parts)
    }

    /// The amount nearest to a number of a job file or program: the four decimals that people wrote, exactly.
    ///
    /// # Errors
    /// For what is not a number, negative or larger than [`Amount::MAX`].
    ///
    /// # Examples
    /// ```
    /// use hq_core::Amount;
    /// assert_eq!(Amount::from_f64(0.0003).unwrap().parts(), 3);
    /// assert!(Amount::from_f64(-1.0).is_err());
    /// ```
    pub fn from_f64(number: f64) -> Result<Self, ParseAmountError> {
        let error = |reason| ParseAmountError { text: number.to_string(), at: 0, reason };
        let parts = (number * Self::PARTS as f64).round();
        if parts.is_nan() || parts < 0.0 {
            return Err(error("a number that is not negative is expected"));
        }
        // What is larger than all that fits ends at the largest `u64` here.
        let amount = Self(parts as u64);
        if amount > Self::MAX { Err(error(TOO_LARGE)) } else { Ok(amount) }
    }

    /// The count of 1/10,000 units.
    pub const fn parts(self) -> u64 {
        self.0
    }

    /// How many whole units it holds.
    pub const fn whole(self) -> u64 {
        self.0 / Self::PARTS
    }

    /// What is left beside the whole units, in 1/10,000.
    pub const fn fraction(self) -> u64 {
        self.0 % Self::PARTS
    }

    /// True for nothing.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum, or `None` at overflow.
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// The difference, or `None` below zero.
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(rest) => Some(Self(rest)),
            None => None,
        }
    }
}

/// The integer part, then the fraction without trailing zeros.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.whole())?;
        if self.fraction() != 0 {
            let digits = format!("{:04}", self.fraction());
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        Ok(())
    }
}

/// Something that is not an amount: what is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read `{text}` as an amount: {reason}")]
pub struct ParseAmountError {
    text: String,
    at: usize,
    reason: &'static str,
}

impl ParseAmountError {
    /// The byte of the text where it goes wrong; its length where something is missing at its end.
    pub const fn at(&self) -> usize {
        self.at
    }
}

const TOO_LARGE: &str = "amounts go up to 4294967295.9999";

/// Digits with optional `_` between them, optionally `.` and one to four digits.
impl FromStr for Amount {
    type Err = ParseAmountError;

    fn from_str(text: &str) -> Result<Self, ParseAmountError> {
        let error = |at, reason| ParseAmountError { text: text.to_owned(), at, reason };
        let (units, fraction) = match text.split_once('.') {
            Some((units, fraction)) => (units, Some(fraction)),
            None => (text, None),
        };
        if !units.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(error(0, "it has to begin with a digit"));
        }
        let mut value = 0u64;
        for (at, c) in units.char_indices().filter(|(_, c)| *c != '_') {
            let digit =
                c.to_digit(10).ok_or_else(|| error(at, "only digits, `_` between them and `.` are possible"))?;
            value = value * 10 + u64::from(digit);
            if value > u64::from(u32::MAX) {
                return Err(error(0, TOO_LARGE));
            }
        }
        if units.ends_with('_') {
            return Err(error(units.len() - 1, "`_` can only be between digits"));
        }
        let Some(digits) = fraction else { return Ok(Self(value * Self::PARTS)) };
        let begin = units.len() + 1;
        let mut parts = 0u64;
        for (at, c) in digits.char_indices() {
            let digit = c.to_digit(10).ok_or_else(|| error(begin + at, "only digits can follow the point"))?;
            parts = match 1000u64.checked_div(10u64.pow(at as u32)) {
                Some(0) | None => return Err(error(begin + at, "at most four decimals are possible")),
                Some(place) => parts + u64::from(digit) * place,
            };
        }
        if digits.is_empty() {
            return Err(error(begin, "digits have to follow the point"));
        }
        Ok(Self(value * Self::PARTS + parts))
    }
}
