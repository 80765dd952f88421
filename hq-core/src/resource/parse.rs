use std::collections::BTreeSet;

use super::{Policy, Quantity, Request, ResourceDef, ResourceEntry, ResourceKind, ResourceName};
use crate::{Amount, amount::ParseAmountError, resource::NameError};

/// A text that is not a resource definition or request: what is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} (at position {at} of `{text}`)")]
pub struct ResourceParseError {
    /// The whole text.
    pub text: String,
    /// The byte where it goes wrong.
    pub at: usize,
    /// What is expected there.
    pub reason: String,
}

impl ResourceDef {
    /// Reads `NAME=DEF`, e.g. `gpus=[0,1]`, `mem=sum(100.5)`, `cpus=2x8`, `foo=range(1-4)`.
    ///
    /// # Errors
    /// Says what is wrong and where. Sizes are checked by [`WorkerResources::new`](super::WorkerResources::new).
    pub fn parse(text: &str) -> Result<Self, ResourceParseError> {
        let mut p = Parser::new(text);
        let name = p.name()?;
        p.expect("=")?;
        let kind = p.definition(name.as_str() == ResourceName::CPUS)?;
        p.end()?;
        Ok(Self { name, kind })
    }

    /// Reads the definition of `cpus` alone: also a plain number.
    ///
    /// # Errors
    /// As [`ResourceDef::parse`].
    pub fn parse_cpus(text: &str) -> Result<Self, ResourceParseError> {
        let mut p = Parser::new(text);
        let kind = p.definition(true)?;
        p.end()?;
        Ok(Self { name: ResourceName::cpus(), kind })
    }
}

impl ResourceEntry {
    /// Reads `NAME=REQ`, e.g. `gpus/nvidia=0.5`, `foo=2 scatter`, `mem=all`.
    ///
    /// # Errors
    /// Says what is wrong and where.
    pub fn parse(text: &str) -> Result<Self, ResourceParseError> {
        let mut p = Parser::new(text);
        let resource = p.name()?;
        p.expect("=")?;
        let quantity = p.quantity()?;
        Ok(Self { resource, quantity })
    }
}

impl Quantity {
    /// Reads `all` or an amount with an optional policy.
    ///
    /// # Errors
    /// Says what is wrong and where.
    pub fn parse(text: &str) -> Result<Self, ResourceParseError> {
        Parser::new(text).quantity()
    }
}

impl Request {
    /// Reads one text per entry; entries joined by blanks or commas are not part of the syntax.
    ///
    /// # Errors
    /// The first bad entry, or the first reason of [`Request::new`].
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, ResourceParseError> {
        let texts: Vec<&str> = entries.into_iter().collect();
        let entries = texts.iter().map(|text| ResourceEntry::parse(text)).collect::<Result<_, _>>()?;
        Self::new(entries).map_err(|error| ResourceParseError {
            text: texts.join(", "),
            at: 0,
            reason: error.to_string(),
        })
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    fn error<T>(&self, reason: impl Into<String>) -> Result<T, ResourceParseError> {
        Err(ResourceParseError { text: self.text.to_owned(), at: self.at, reason: reason.into() })
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn accept(&mut self, token: &str) -> bool {
        self.blanks();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), ResourceParseError> {
        if self.accept(token) { Ok(()) } else { self.error(format!("expected `{token}`")) }
    }

    fn end(&mut self) -> Result<(), ResourceParseError> {
        self.blanks();
        if self.rest().is_empty() { Ok(()) } else { self.error("expected the end") }
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        self.blanks();
        let rest = self.rest();
        let len = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    fn name(&mut self) -> Result<ResourceName, ResourceParseError> {
        self.blanks();
        let start = self.at;
        let word = self.take_while(|c| c != '=' && !c.is_whitespace());
        ResourceName::new(word).or_else(|error: NameError| {
            self.at = start;
            self.error(error.to_string())
        })
    }

    fn amount(&mut self) -> Result<Amount, ResourceParseError> {
        self.blanks();
        let start = self.at;
        let word = self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+'));
        word.parse().or_else(|error: ParseAmountError| {
            self.at = start;
            self.error(error.to_string())
        })
    }

    fn number(&mut self) -> Result<u32, ResourceParseError> {
        let start = self.at;
        let amount = self.amount()?;
        if amount.fraction() == 0 {
            return Ok(amount.whole() as u32);
        }
        self.at = start;
        self.error("expected a whole number")
    }

    fn quantity(&mut self) -> Result<Quantity, ResourceParseError> {
        self.blanks();
        if self.accept("all") {
            self.end()?;
            return Ok(Quantity::All);
        }
        let start = self.at;
        let amount = self.amount()?;
        if amount.is_zero() {
            self.at = start;
            return self.error("Zero resources cannot be requested");
        }
        self.blanks();
        let start = self.at;
        let policy = match self.rest().trim_end() {
            "" | "compact" => Policy::Compact,
            "compact!" => Policy::ForceCompact,
            "tight" => Policy::Tight,
            "tight!" => Policy::ForceTight,
            "scatter" => Policy::Scatter,
            _ => {
                self.at = start;
                return self.error("expected compact, compact!, tight, tight!, scatter or the end");
            }
        };
        Ok(Quantity::Amount(amount, policy))
    }

    fn definition(&mut self, cpus: bool) -> Result<ResourceKind, ResourceParseError> {
        self.blanks();
        if self.rest().starts_with('[') {
            return self.brackets();
        }
        if self.accept("range") {
            self.expect("(")?;
            let start = self.number_before('-')?;
            self.expect("-")?;
            let end = self.number()?;
            if end < start {
                return self.error("the end of the range is before its start");
            }
            self.expect(")")?;
            return Ok(ResourceKind::Range { start, end });
        }
        if self.accept("sum") {
            self.expect("(")?;
            let amount = self.amount()?;
            self.expect(")")?;
            return Ok(ResourceKind::Sum(amount));
        }
        if !self.rest().starts_with(|c: char| c.is_ascii_digit()) {
            let count = if cpus { "a number, " } else { "" };
            return self.error(format!("expected {count}GxS, [..], [[..],[..]], range(A-B) or sum(X)"));
        }
        self.product(cpus)
    }

    /// `N` (cpus only) and `GxS`.
    fn product(&mut self, cpus: bool) -> Result<ResourceKind, ResourceParseError> {
        let start = self.at;
        let groups = self.number_before('x')?;
        if !self.accept("x") {
            if cpus {
                return Ok(range_of(groups));
            }
            self.at = start;
            return self.error("a plain number can define cpus only; use e.g. sum(10) or range(0-9)");
        }
        let size = self.number()?;
        if groups == 1 {
            return Ok(range_of(size));
        }
        let total = u64::from(groups) * u64::from(size);
        if total > 1 << 20 || groups > 4096 {
            self.at = start;
            return self.error("it is too large: at most 1048576 indices in 4096 groups");
        }
        let group = |g: u32| (g * size..(g + 1) * size).map(|i| i.to_string()).collect();
        Ok(ResourceKind::Groups((0..groups).map(group).collect()))
    }

    fn number_before(&mut self, stop: char) -> Result<u32, ResourceParseError> {
        self.blanks();
        let rest = self.rest();
        let len = rest.find(stop).unwrap_or(rest.len());
        let mut inner = Parser { text: &self.text[..self.at + len], at: self.at };
        let number = inner.number().map_err(|error| ResourceParseError { text: self.text.to_owned(), ..error })?;
        self.at = inner.at;
        Ok(number)
    }

    fn brackets(&mut self) -> Result<ResourceKind, ResourceParseError> {
        let start = self.at;
        self.expect("[")?;
        self.blanks();
        if !self.rest().starts_with('[') {
            self.at = start;
            return Ok(ResourceKind::List(self.labels()?));
        }
        let mut groups = vec![self.labels()?];
        while self.accept(",") {
            groups.push(self.labels()?);
        }
        self.expect("]")?;
        if groups.len() == 1 { Ok(ResourceKind::List(groups.remove(0))) } else { Ok(ResourceKind::Groups(groups)) }
    }

    /// `[a, b, "c d"]`
    fn labels(&mut self) -> Result<Vec<String>, ResourceParseError> {
        self.expect("[")?;
        let mut labels: Vec<String> = Vec::new();
        let mut known: BTreeSet<&str> = BTreeSet::new();
        loop {
            self.blanks();
            let start = self.at;
            let label = if self.accept("\"") {
                let Some(len) = self.rest().find('"') else { return self.error("expected a closing `\"`") };
                let label = &self.rest()[..len];
                self.at += len + 1;
                label
            } else {
                self.take_while(|c| !c.is_whitespace() && !matches!(c, ',' | '[' | ']' | '"'))
            };
            if label.is_empty() {
                return self.error("expected a label");
            }
            if !known.insert(label) {
                self.at = start;
                return self.error(format!("the label `{label}` is not unique"));
            }
            labels.push(label.to_owned());
            if self.accept("]") {
                return Ok(labels);
            }
            if !self.accept(",") {
                return self.error("expected `,` or `]`");
            }
        }
    }
}

const fn range_of(n: u32) -> ResourceKind {
    // A size of zero is kept as a backwards range, which the check of definitions refuses as empty.
    match n.checked_sub(1) {
        Some(end) => ResourceKind::Range { start: 0, end },
        None => ResourceKind::Range { start: 1, end: 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(labels: &[&str]) -> ResourceKind {
        ResourceKind::List(labels.iter().map(|l| (*l).to_owned()).collect())
    }

    fn groups(groups: &[&[&str]]) -> ResourceKind {
        ResourceKind::Groups(groups.iter().map(|g| g.iter().map(|l| (*l).to_owned()).collect()).collect())
    }

    #[test]
    fn definitions() {
        for (text, kind) in [
            ("4", ResourceKind::Range { start: 0, end: 3 }),
            ("1x4", ResourceKind::Range { start: 0, end: 3 }),
            ("[0, 5, 7]", list(&["0", "5", "7"])),
            ("[a,b,\"c d\"]", list(&["a", "b", "c d"])),
            (" range( 30 - 35 ) ", ResourceKind::Range { start: 30, end: 35 }),
        ] {
            assert_eq!(ResourceDef::parse_cpus(text).unwrap().kind, kind, "{text}");
        }
        for (text, name, kind) in [
            ("cpus=2x3", "cpus", groups(&[&["0", "1", "2"], &["3", "4", "5"]])),
            ("cpus=[[5, 7, 123]]", "cpus", list(&["5", "7", "123"])),
            ("cpus=[[0],[7],[123, 200]]", "cpus", groups(&[&["0"], &["7"], &["123", "200"]])),
            (" cpus = [ [ 0 ] , [ 7 ] , [ 123 , 200 ] ] ", "cpus", groups(&[&["0"], &["7"], &["123", "200"]])),
            ("mem=[1]", "mem", list(&["1"])),
            ("   mem    =   [   1  ] ", "mem", list(&["1"])),
            ("   mem  = sum ( 1_3000_2000 ) ", "mem", ResourceKind::Sum(Amount::units(130_002_000))),
            ("mem=sum(1.5)", "mem", ResourceKind::Sum(Amount::from_parts(15_000))),
        ] {
            let def = ResourceDef::parse(text).unwrap();
            assert_eq!((def.name.as_str(), def.kind), (name, kind), "{text}");
        }
        for text in [
            "xxx=[[1]",
            "cpus=[[0, 1], []]",
            "x=sum()",
            "x=sum(x)",
            "",
            "1",
            "x=",
            "x=foo",
            "x=1",
            "x=sum",
            "x=range(10)",
            "x=range(5-3)",
            "x=[1,1]",
            "x=[]",
            "x_y=[1]",
            "x=[1]z",
            "x=9999999x9999999",
        ] {
            assert!(ResourceDef::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn requests() {
        let amount = |n, policy| Quantity::Amount(Amount::units(n), policy);
        for (text, name, quantity) in [
            ("xxx=all", "xxx", Quantity::All),
            ("ab1c=10", "ab1c", amount(10, Policy::Compact)),
            ("a=5_000 compact", "a", amount(5000, Policy::Compact)),
            ("cpus=351 scatter", "cpus", amount(351, Policy::Scatter)),
            ("cpus=11 compact!", "cpus", amount(11, Policy::ForceCompact)),
            ("cpus=2 tight", "cpus", amount(2, Policy::Tight)),
            ("abc=123 tight!", "abc", amount(123, Policy::ForceTight)),
            ("a/b=1", "a/b", amount(1, Policy::Compact)),
            ("g=0.5", "g", Quantity::Amount(Amount::from_parts(5000), Policy::Compact)),
        ] {
            let entry = ResourceEntry::parse(text).unwrap();
            assert_eq!((entry.resource.as_str(), entry.quantity), (name, quantity), "{text}");
        }
        for text in ["=1", "1a=1", "aa=0", "", "a", "a=x", "a=-1", "a=0.00001", "a=1e309", "a=", "a=1 foo", "a=allx"] {
            assert!(ResourceEntry::parse(text).is_err(), "{text}");
        }
        assert_eq!(amount(2, Policy::Compact).to_string(), "2 compact");
        assert_eq!(ResourceEntry::parse("a=x").unwrap_err().at, 2);
    }

    #[test]
    fn a_list_of_a_hundred_thousand_labels_is_read_at_once() {
        let labels: Vec<String> = (0..100_000).map(|i| i.to_string()).collect();
        let text = format!("x=[{}]", labels.join(","));
        assert_eq!(ResourceDef::parse(&text).unwrap().kind, ResourceKind::List(labels));
    }
}
