use super::reader::{Reader, ResourceParseError, Result};
use crate::resource::{Policy, Quantity, Request, ResourceEntry, ResourceName};

impl ResourceEntry {
    /// Reads `NAME=QUANTITY`, e.g. `gpus/nvidia=0.5`, `foo=2 scatter`, `mem=all`; of `mem` also `mem=1.5GiB`.
    ///
    /// # Errors
    /// Says what is wrong and where.
    ///
    /// # Examples
    /// ```
    /// use hq_core::ResourceEntry;
    /// assert_eq!(ResourceEntry::parse("gpus=2 tight!").unwrap().quantity.to_string(), "2 tight!");
    /// assert_eq!(ResourceEntry::parse("gpus=2 close").unwrap_err().at, 7);
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let mut reader = Reader::new(text);
        let resource = reader.name()?;
        reader.expect("=")?;
        // It is counted in MiB.
        let is_memory = resource.as_str() == ResourceName::MEM;
        let quantity = quantity(&mut reader, is_memory)?;
        Ok(Self { resource, quantity })
    }
}

impl Quantity {
    /// Reads `all`, or an amount and perhaps a policy: `compact` (where nothing is said), `compact!`, `tight`, `tight!`,
    /// `scatter`.
    ///
    /// # Errors
    /// Says what is wrong and where; amounts of zero are refused.
    pub fn parse(text: &str) -> Result<Self> {
        quantity(&mut Reader::new(text), false)
    }
}

impl Request {
    /// Reads one text per resource, each as [`ResourceEntry::parse`] does.
    ///
    /// # Errors
    /// The first bad entry; a resource that is named twice, with all texts joined.
    ///
    /// # Examples
    /// ```
    /// use hq_core::Request;
    /// let request = Request::parse(["gpus=0.5", "cpus=2 compact!"]).unwrap();
    /// assert_eq!(request.entries()[0].resource.as_str(), "cpus");
    /// ```
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut texts: Vec<&str> = entries.into_iter().collect();
        let entries: Vec<ResourceEntry> = texts.iter().map(|text| ResourceEntry::parse(text)).collect::<Result<_>>()?;
        let is_again = |at: &usize| entries[..*at].iter().any(|entry| entry.resource == entries[*at].resource);
        let again = (0..entries.len()).find(is_again).unwrap_or(0);
        Self::new(entries).map_err(|error| {
            let text = texts.join(", ");
            let tail = texts.split_off(again).join(", ");
            ResourceParseError { at: text.len() - tail.len(), text, reason: error.to_string() }
        })
    }
}

fn quantity(reader: &mut Reader<'_>, is_memory: bool) -> Result<Quantity> {
    if reader.accept("all") {
        reader.end()?;
        return Ok(Quantity::All);
    }
    if !reader.is_next(|c| c.is_ascii_digit()) {
        return reader.error("expected an amount, e.g. 2, 0.5 or `2 compact!`, or `all`");
    }
    let start = reader.here();
    let amount = if is_memory { reader.memory()? } else { reader.amount()? };
    if amount.is_zero() {
        return reader.error_at(start, "Zero resources cannot be requested");
    }
    let start = reader.here();
    let policy = match reader.take_while(|c| !c.is_whitespace()) {
        "" | "compact" => Policy::Compact,
        "compact!" => Policy::ForceCompact,
        "tight" => Policy::Tight,
        "tight!" => Policy::ForceTight,
        "scatter" => Policy::Scatter,
        _ => return reader.error_at(start, "expected compact, compact!, tight, tight!, scatter or the end"),
    };
    reader.end()?;
    Ok(Quantity::Amount(amount, policy))
}
