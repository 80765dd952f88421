//! `NAME=VALUES` of a parameter sweep.

use std::{fs, path::PathBuf};

use super::caret::with_caret;

/// A parameter and where its values come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sweep {
    /// Letters, digits and `_`.
    pub(crate) name: String,
    source: Source,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    /// Items in order: a text, or a range of numbers.
    Items(Vec<Item>),
    /// The lines of a file.
    Lines(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Text(String),
    Range { first: i64, last: i64, step: i64 },
}

/// Values of a parameter, at most: a submit cannot carry more tasks than that, and they are made one by one.
const VALUES_MAX: u64 = 16 << 20;

/// Reads `NAME=a,b,c`, `NAME=1..10`, `NAME=0..100:25` (ranges go with other values) and `NAME=@FILE`; `\,` is a comma of a
/// value, `\@` an `@` at its beginning.
///
/// # Errors
/// Says what is wrong, with a caret.
pub(crate) fn sweep(text: &str) -> Result<Sweep, String> {
    let (name, values) = text.split_once('=').ok_or_else(|| with_caret(text, text.len(), "expected NAME=VALUES"))?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_word) || name.starts_with(|c: char| c.is_ascii_digit()) {
        let reason = "a name begins with a letter and may hold letters, digits and `_` only";
        return Err(with_caret(text, 0, reason));
    }
    let source = match values.strip_prefix('@') {
        None if values.is_empty() => return Err(with_caret(text, text.len(), "expected values")),
        Some("") => return Err(with_caret(text, text.len(), "expected the name of a file")),
        Some(file) => Source::Lines(file.into()),
        None => Source::Items(items(text, name.len() + 1)?),
    };
    Ok(Sweep { name: name.to_owned(), source })
}

fn items(text: &str, begin: usize) -> Result<Vec<Item>, String> {
    let mut items = Vec::new();
    let mut at = begin;
    for raw in split_commas(&text[begin..]) {
        let value = raw.replace("\\,", ",");
        items.push(match range(raw) {
            Some(Ok(range)) => range,
            Some(Err(reason)) => return Err(with_caret(text, at, reason)),
            None => {
                Item::Text(value.strip_prefix('\\').filter(|v| v.starts_with('@')).map_or(value.clone(), Into::into))
            }
        });
        at += raw.len() + 1;
    }
    Ok(items)
}

fn split_commas(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let is_border = |at: &usize| bytes[*at] == b',' && (*at == 0 || bytes[*at - 1] != b'\\');
    let mut begin = 0;
    let mut parts = Vec::new();
    for border in (0..bytes.len()).filter(is_border) {
        parts.push(&text[begin..border]);
        begin = border + 1;
    }
    parts.push(&text[begin..]);
    parts
}

/// `FIRST..LAST` or `FIRST..LAST:STEP` of whole numbers; none for what is no range.
fn range(text: &str) -> Option<Result<Item, &'static str>> {
    let (first, rest) = text.split_once("..")?;
    let (last, step) = rest.split_once(':').map_or((rest, None), |(last, step)| (last, Some(step)));
    let (first, last) = match (first.parse::<i64>(), last.parse::<i64>()) {
        (Ok(first), Ok(last)) => (first, last),
        _ if first.parse::<f64>().is_ok() && last.parse::<f64>().is_ok() => {
            return Some(Err("a range has whole numbers; list the values: 0.1,0.2,0.3"));
        }
        _ => return None,
    };
    let step = step.map_or(Some(if first <= last { 1 } else { -1 }), |step| step.parse().ok())?;
    if step == 0 || (last > first && step < 0) || (last < first && step > 0) {
        return Some(Err("the step does not lead from the first number to the last one"));
    }
    Some(Ok(Item::Range { first, last, step }))
}

impl Sweep {
    /// All its values in order.
    ///
    /// # Errors
    /// Says what cannot be read.
    pub(crate) fn values(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        let items = match &self.source {
            Source::Lines(path) => {
                let unreadable =
                    |error| anyhow::anyhow!("cannot read values of `{}` from `{}`: {error}", self.name, path.display());
                let bytes = fs::read(path).map_err(unreadable)?;
                let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
                if text.is_empty() {
                    anyhow::bail!("`{}` holds no values of `{}`", path.display(), self.name);
                }
                return Ok(text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect());
            }
            Source::Items(items) => items,
        };
        if self.count().is_none_or(|count| count > VALUES_MAX) {
            anyhow::bail!("`{}` has more values than a submit can have tasks: {VALUES_MAX}", self.name);
        }
        let mut values = Vec::new();
        for item in items {
            match item {
                Item::Text(text) => values.push(text.clone().into_bytes()),
                // The last one is in range, what lies between need not be: -2^63..2^63-1 in two steps.
                Item::Range { first, step, .. } => values.extend(
                    (0..item.count() as i64).map(|n| first.wrapping_add(n.wrapping_mul(*step)).to_string().into()),
                ),
            }
        }
        Ok(values)
    }

    /// How many values it has; none where they are in a file.
    pub(crate) fn count(&self) -> Option<u64> {
        match &self.source {
            Source::Lines(_) => None,
            Source::Items(items) => Some(items.iter().fold(0, |count, item| count.saturating_add(item.count()))),
        }
    }
}

impl Item {
    fn count(&self) -> u64 {
        match self {
            Self::Text(_) => 1,
            Self::Range { first, last, step } => (first.abs_diff(*last) / step.unsigned_abs()).saturating_add(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::table;

    /// Rows `sweep`.
    #[test]
    fn vectors() {
        table::check("sweep.txt", |_, text| match sweep(text) {
            Ok(sweep) => match sweep.values() {
                Ok(values) => {
                    let values: Vec<_> = values.iter().map(|value| String::from_utf8_lossy(value)).collect();
                    format!("{} [{}]", sweep.name, values.join("]["))
                }
                Err(error) => format!("error {error}"),
            },
            Err(error) => format!("error {}", error.replace('\n', "\\n")),
        });
    }
}
