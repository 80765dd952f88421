use std::{
    cell::Cell,
    fmt,
    io::{self, BufReader, Read},
    path::Path,
};

use anyhow::{anyhow, bail};
use hq_core::IdList;
use serde::de::{Deserializer as _, IgnoredAny, SeqAccess, Visitor};
use serde_json::{error::Category, value::RawValue};

use super::{ENTRY_MAX, Entries, open};

/// The elements of the array in a JSON file, as written but without blanks; those with the numbers `wanted`, from 0.
///
/// # Errors
/// Says what cannot be read, or which element is no entry.
pub(in super::super) fn read<'a>(path: &'a Path, wanted: Option<&'a IdList>) -> anyhow::Result<Entries<'a>> {
    let budget = Cell::new(0);
    let reader = Budgeted { reader: BufReader::with_capacity(64 << 10, open(path)?), budget: &budget };
    let mut entries = Entries::new(path, wanted);
    let mut refusal = None;
    let mut is_array = false;
    let mut json = serde_json::Deserializer::from_reader(reader);
    let elements = Elements { entries: &mut entries, budget: &budget, is_array: &mut is_array, refusal: &mut refusal };
    budget.set(BUDGET);
    let parsed = json.deserialize_seq(elements).and_then(|()| {
        budget.set(u64::MAX);
        json.end()
    });
    if let Some(refusal) = refusal {
        return Err(refusal);
    }
    match parsed {
        Ok(()) => Ok(entries),
        Err(error) if error.is_io() && budget.get() == 0 => {
            bail!(
                "element {} of `{}` has more than {ENTRY_MAX} bytes: no program can be given that in its environment; \
                   put it into a file and submit its name",
                u64::from(entries.seen) + 1,
                path.display()
            )
        }
        Err(error) if error.classify() == Category::Data && !is_array => {
            bail!("The top element of the provided JSON file has to be an array: `{}`", path.display())
        }
        Err(error) if error.is_io() => Err(anyhow!(error).context(format!("cannot read `{}`", path.display()))),
        Err(error) => bail!("`{}` is not valid JSON: {error}", path.display()),
    }
}

/// Bytes read for one element: it may have a lot of blanks.
const BUDGET: u64 = 8 * ENTRY_MAX as u64;

/// Reads only so much at a time: an element is kept in memory as a whole.
struct Budgeted<'a, R> {
    reader: R,
    budget: &'a Cell<u64>,
}

impl<R: Read> Read for Budgeted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = buffer.len().min(usize::try_from(self.budget.get()).unwrap_or(usize::MAX));
        if len == 0 && !buffer.is_empty() {
            return Err(io::Error::other("too much"));
        }
        let read = self.reader.read(&mut buffer[..len])?;
        self.budget.set(self.budget.get() - read as u64);
        Ok(read)
    }
}

struct Elements<'e, 'a> {
    entries: &'e mut Entries<'a>,
    budget: &'e Cell<u64>,
    is_array: &'e mut bool,
    /// Why an element is no entry.
    refusal: &'e mut Option<anyhow::Error>,
}

impl<'de> Visitor<'de> for Elements<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        *self.is_array = true;
        loop {
            let wanted = self.entries.wants_next();
            self.budget.set(if wanted { BUDGET } else { u64::MAX });
            let added = if wanted {
                let Some(element) = elements.next_element::<Box<RawValue>>()? else { return Ok(()) };
                self.entries.keep(compact(element.get()).as_bytes(), "element")
            } else {
                let Some(IgnoredAny) = elements.next_element()? else { return Ok(()) };
                self.entries.skip()
            };
            if let Err(error) = added {
                *self.refusal = Some(error);
                return Err(serde::de::Error::custom("no entry"));
            }
        }
    }
}

/// JSON without the blanks between its parts.
fn compact(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    json.chars()
        .filter(|c| {
            let is_part = in_string || !c.is_ascii_whitespace();
            if *c == '"' && !escaped {
                in_string = !in_string;
            }
            escaped = in_string && *c == '\\' && !escaped;
            is_part
        })
        .collect()
}
