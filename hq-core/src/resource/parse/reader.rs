use crate::{
    Amount,
    amount::ParseAmountError,
    resource::{NameError, ResourceName},
};

/// A text that is not a resource definition, a request or a coupling: what is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} (at position {at} of `{text}`)")]
pub struct ResourceParseError {
    /// The whole text.
    pub text: String,
    /// The byte where it goes wrong; the length of the text where something is missing at its end.
    pub at: usize,
    /// What is wrong or expected there, in one line.
    pub reason: String,
}

/// Reads tokens from a text, each with blanks before it.
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
}

pub(super) type Result<T> = std::result::Result<T, ResourceParseError>;

impl<'a> Reader<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// An error at the present place.
    pub(super) fn error<T>(&self, reason: impl Into<String>) -> Result<T> {
        self.error_at(self.at, reason)
    }

    /// An error at an earlier place, which [`here`](Self::here) told.
    pub(super) fn error_at<T>(&self, at: usize, reason: impl Into<String>) -> Result<T> {
        Err(ResourceParseError { text: self.text.to_owned(), at, reason: reason.into() })
    }

    /// Where the next token begins.
    pub(super) fn here(&mut self) -> usize {
        self.at += self.rest().len() - self.rest().trim_start().len();
        self.at
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Whether the next token begins with something that `test` accepts.
    pub(super) fn is_next(&mut self, test: impl Fn(char) -> bool) -> bool {
        self.here();
        self.rest().starts_with(test)
    }

    pub(super) fn accept(&mut self, token: &str) -> bool {
        self.here();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    pub(super) fn expect(&mut self, token: &str) -> Result<()> {
        if self.accept(token) { Ok(()) } else { self.error(format!("expected `{token}`")) }
    }

    pub(super) fn end(&mut self) -> Result<()> {
        self.here();
        if self.rest().is_empty() { Ok(()) } else { self.error("expected the end") }
    }

    pub(super) fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        self.here();
        let rest = self.rest();
        let len = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// What is left of the text before a quotation mark, and goes behind that; `None` without one.
    pub(super) fn quoted(&mut self) -> Option<&'a str> {
        let (inside, _) = self.rest().split_once('"')?;
        self.at += inside.len() + 1;
        Some(inside)
    }

    pub(super) fn name(&mut self) -> Result<ResourceName> {
        let start = self.here();
        let word = self.take_while(|c| !c.is_whitespace() && !matches!(c, '=' | '[' | ']' | ':' | ','));
        if word.is_empty() {
            return self.error("expected the name of a resource");
        }
        ResourceName::new(word).or_else(|error: NameError| self.error_at(start, error.to_string()))
    }

    pub(super) fn amount(&mut self) -> Result<Amount> {
        let start = self.here();
        let word = self.take_while(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+'));
        if word.is_empty() {
            return self.error("expected an amount, e.g. 2 or 0.5");
        }
        word.parse().or_else(|error: ParseAmountError| self.error_at(start + error.at(), error.to_string()))
    }

    /// An amount of memory, which is counted in MiB; also with a unit: `500MiB`, `1.5GiB`, `2TiB`.
    pub(super) fn memory(&mut self) -> Result<Amount> {
        let start = self.here();
        let word = self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_'));
        let units = [("MiB", 1), ("GiB", 1 << 10), ("TiB", 1 << 20)];
        let Some((number, unit)) = units.iter().find_map(|(name, unit)| Some((word.strip_suffix(name)?, unit))) else {
            self.at = start;
            return self.amount();
        };
        let amount: Amount =
            number.parse().or_else(|error: ParseAmountError| self.error_at(start + error.at(), error.to_string()))?;
        match amount.parts().checked_mul(*unit).map(Amount::from_parts).filter(|amount| *amount <= Amount::MAX) {
            Some(amount) => Ok(amount),
            None => self.error_at(start, format!("too large: at most {} MiB are possible", Amount::MAX)),
        }
    }

    /// A whole number up to `max`: digits, `_` between them.
    pub(super) fn number(&mut self, max: u32) -> Result<u32> {
        let start = self.here();
        let word = self.take_while(|c| c.is_ascii_digit() || matches!(c, '_' | '.'));
        let amount: Option<Amount> = word.parse().ok().filter(|_| !word.contains('.'));
        match amount.and_then(|amount| u32::try_from(amount.whole()).ok()) {
            Some(number) if number <= max => Ok(number),
            _ => self.error_at(start, format!("expected a whole number up to {max}")),
        }
    }
}
