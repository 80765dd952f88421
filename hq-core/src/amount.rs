use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// An amount of a resource: a count of 1/10,000 units, exact, no floating point.
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

    /// Whole units.
    pub const fn units(n: u32) -> Self {
        Self(n as u64 * Self::PARTS)
    }

    /// From a count of 1/10,000 units.
    pub const fn from_parts(parts: u64) -> Self {
        Self(parts)
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

/// A text that is not an amount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read `{text}` as an amount: {reason}")]
pub struct ParseAmountError {
    text: String,
    reason: &'static str,
}

/// Digits with optional `_` between them, optionally `.` and one to four digits.
impl FromStr for Amount {
    type Err = ParseAmountError;

    fn from_str(text: &str) -> Result<Self, ParseAmountError> {
        let error = |reason| ParseAmountError { text: text.to_owned(), reason };
        let (units, fraction) = match text.split_once('.') {
            Some((units, fraction)) => (units, Some(fraction)),
            None => (text, None),
        };
        if !units.starts_with(|c: char| c.is_ascii_digit()) || units.ends_with('_') {
            return Err(error("it must begin with a digit"));
        }
        let mut value = 0u64;
        for c in units.chars().filter(|c| *c != '_') {
            let digit = c.to_digit(10).ok_or_else(|| error("it has something other than digits"))?;
            value = value * 10 + u64::from(digit);
            if value > u64::from(u32::MAX) {
                return Err(error("it is larger than 4294967295"));
            }
        }
        let parts = match fraction {
            None => 0,
            Some(digits) if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) => {
                return Err(error("digits are expected after the point"));
            }
            Some(digits) if digits.len() > 4 => return Err(error("at most four decimals are possible")),
            Some(digits) => {
                let number: u64 = digits.parse().map_err(|_| error("digits are expected after the point"))?;
                number * 10u64.pow(4 - digits.len() as u32)
            }
        };
        Ok(Self(value * Self::PARTS + parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_as_specified() {
        for (parts, shown) in [
            (0, "0"),
            (1, "0.0001"),
            (5_000_000, "500"),
            (5_000_123, "500.0123"),
            (5_009_999, "500.9999"),
            (11_000, "1.1"),
            (12_200, "1.22"),
            (13_410, "1.341"),
        ] {
            assert_eq!(Amount::from_parts(parts).to_string(), shown);
            assert_eq!(shown.parse(), Ok(Amount::from_parts(parts)));
        }
    }

    #[test]
    fn read_as_specified() {
        for (text, parts) in [("1_3000_2000", 1_300_020_000_000), ("0.5", 5_000), ("105.1", 1_051_000)] {
            assert_eq!(text.parse(), Ok(Amount::from_parts(parts)), "{text}");
        }
        for text in ["", "_1", "1_", "1.", ".5", "1.00001", "-1", "1e3", "4294967296", "x"] {
            assert!(text.parse::<Amount>().is_err(), "{text}");
        }
    }
}
