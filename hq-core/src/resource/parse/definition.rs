use std::collections::BTreeSet;

use super::reader::{Reader, Result};
use crate::resource::{
    ResourceDef, ResourceKind, ResourceName,
    definition::{MAX_GROUPS, MAX_INDICES},
};

impl ResourceDef {
    /// Reads `NAME=DEF`.
    ///
    /// | DEF | is |
    /// |---|---|
    /// | `2x8` | two groups of eight indices, labelled through from 0 |
    /// | `[a,b,"c d"]` | a list of labels |
    /// | `[[0,1],[2,3]]` | groups of labels |
    /// | `range(30-35)` | the labels 30 to 35 |
    /// | `sum(100.5)` | an amount without identity |
    /// | `8` | for cpus only: the labels 0 to 7 |
    ///
    /// # Errors
    /// Says what is wrong and where. Emptiness and labels that occur in two groups are found by
    /// [`WorkerResources::new`](crate::WorkerResources::new).
    ///
    /// # Examples
    /// ```
    /// use hq_core::{ResourceDef, ResourceKind};
    /// assert_eq!(ResourceDef::parse("gpus=range(0-3)").unwrap().kind, ResourceKind::Range { start: 0, end: 3 });
    /// let error = ResourceDef::parse("gpus=[0,1,0]").unwrap_err();
    /// assert_eq!((error.at, &error.reason[..]), (10, "the label `0` is not unique"));
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let mut reader = Reader::new(text);
        let name = reader.name()?;
        reader.expect("=")?;
        let kind = definition(&mut reader, name.as_str() == ResourceName::CPUS)?;
        reader.end()?;
        Ok(Self { name, kind })
    }

    /// Reads the definition of `cpus` alone, without its name: `8`, `2x8`, `[0,2,4]`, …
    ///
    /// # Errors
    /// As [`ResourceDef::parse`].
    pub fn parse_cpus(text: &str) -> Result<Self> {
        let mut reader = Reader::new(text);
        let kind = definition(&mut reader, true)?;
        reader.end()?;
        Ok(Self { name: ResourceName::cpus(), kind })
    }
}

fn definition(reader: &mut Reader<'_>, cpus: bool) -> Result<ResourceKind> {
    if reader.is_next(|c| c == '[') {
        return brackets(reader);
    }
    if reader.is_next(|c| c.is_ascii_digit()) {
        return product(reader, cpus);
    }
    let start = reader.here();
    match reader.take_while(|c| c.is_ascii_alphabetic()) {
        "range" => range(reader),
        "sum" => {
            reader.expect("(")?;
            let amount = reader.amount()?;
            reader.expect(")")?;
            Ok(ResourceKind::Sum(amount))
        }
        _ => {
            let expected = if cpus {
                "expected a number, GxS, [..], [[..],[..]] or range(A-B)"
            } else {
                "expected GxS, [..], [[..],[..]], range(A-B) or sum(X)"
            };
            reader.error_at(start, expected)
        }
    }
}

/// `N` (cpus only) and `GxS`.
fn product(reader: &mut Reader<'_>, cpus: bool) -> Result<ResourceKind> {
    let start = reader.here();
    let groups = reader.number(u32::MAX)?;
    if !reader.accept("x") {
        return if cpus {
            Ok(range_of(groups))
        } else {
            reader.error_at(start, "a plain number can define cpus only: use e.g. range(0-9) or sum(10)")
        };
    }
    let size = reader.number(u32::MAX)?;
    if groups == 1 {
        return Ok(range_of(size));
    }
    if u64::from(groups) * u64::from(size) > MAX_INDICES || groups as usize > MAX_GROUPS {
        return reader.error_at(start, "it is too large: at most 1048576 indices in 4096 groups are possible");
    }
    let group = |g: u32| (g * size..(g + 1) * size).map(|i| i.to_string()).collect();
    Ok(ResourceKind::Groups((0..groups).map(group).collect()))
}

/// `(A-B)`
fn range(reader: &mut Reader<'_>) -> Result<ResourceKind> {
    reader.expect("(")?;
    let at = reader.here();
    let start = reader.number(u32::MAX)?;
    reader.expect("-")?;
    let end = reader.number(u32::MAX)?;
    if end < start {
        return reader.error_at(at, format!("the range ends before it starts: use range({end}-{start})"));
    }
    reader.expect(")")?;
    Ok(ResourceKind::Range { start, end })
}

fn brackets(reader: &mut Reader<'_>) -> Result<ResourceKind> {
    reader.expect("[")?;
    if !reader.is_next(|c| c == '[') {
        return Ok(ResourceKind::List(labels(reader)?));
    }
    let mut groups = vec![];
    while groups.is_empty() || reader.accept(",") {
        reader.expect("[")?;
        groups.push(labels(reader)?);
    }
    if !reader.accept("]") {
        return reader.error("expected `,` and another group, or `]`");
    }
    if groups.len() == 1 { Ok(ResourceKind::List(groups.remove(0))) } else { Ok(ResourceKind::Groups(groups)) }
}

/// `a, b, "c d"]`
fn labels(reader: &mut Reader<'_>) -> Result<Vec<String>> {
    let mut labels: Vec<String> = Vec::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    loop {
        let start = reader.here();
        let label = if reader.accept("\"") {
            match reader.quoted() {
                Some(label) => label,
                None => return reader.error_at(start, "the closing `\"` is missing"),
            }
        } else {
            reader.take_while(|c| !c.is_whitespace() && !matches!(c, ',' | '[' | ']' | '"'))
        };
        if label.is_empty() {
            return reader.error_at(start, "expected a label");
        }
        if !known.insert(label) {
            return reader.error_at(start, format!("the label `{label}` is not unique"));
        }
        labels.push(label.to_owned());
        if reader.accept("]") {
            return Ok(labels);
        }
        if !reader.accept(",") {
            return reader.error("expected `,` or `]`");
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
