use serde::Serialize;

use super::json::pretty_json;

type Write<'a> = Box<dyn FnMut(&[u8]) -> anyhow::Result<()> + 'a>;

/// A JSON document that is written as it comes: its values need not be there at one time.
///
/// Whoever writes it opens and closes objects and arrays in pairs; [`end`](Self::end) closes what is left.
pub(crate) struct JsonStream<'a> {
    write: Write<'a>,
    /// What is open: its closing bracket, and whether something is in it.
    open: Vec<(char, bool)>,
    /// A key has been written that waits for its value.
    has_key: bool,
}

impl<'a> JsonStream<'a> {
    /// Nothing is written yet; `write` takes what is.
    pub(crate) fn new(write: impl FnMut(&[u8]) -> anyhow::Result<()> + 'a) -> Self {
        Self { write: Box::new(write), open: vec![], has_key: false }
    }

    /// `{`
    pub(crate) fn object(&mut self) -> anyhow::Result<()> {
        self.begin()?;
        self.open.push(('}', false));
        (self.write)(b"{")
    }

    /// `[`
    pub(crate) fn array(&mut self) -> anyhow::Result<()> {
        self.begin()?;
        self.open.push((']', false));
        (self.write)(b"[")
    }

    /// A key of the object that is open; its value comes next.
    pub(crate) fn key(&mut self, key: &str) -> anyhow::Result<()> {
        self.begin()?;
        self.has_key = true;
        (self.write)(pretty_json(&key)?.as_bytes())?;
        (self.write)(b": ")
    }

    /// A value.
    pub(crate) fn value(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        self.begin()?;
        // No string has a line's end in it.
        let text = pretty_json(value)?.replace('\n', &self.line());
        (self.write)(text.as_bytes())
    }

    /// A key and its value.
    pub(crate) fn entry(&mut self, key: &str, value: &impl Serialize) -> anyhow::Result<()> {
        self.key(key)?;
        self.value(value)
    }

    /// Closes what was opened last.
    pub(crate) fn close(&mut self) -> anyhow::Result<()> {
        let Some((bracket, has_items)) = self.open.pop() else { return Ok(()) };
        if has_items {
            let line = self.line();
            (self.write)(line.as_bytes())?;
        }
        (self.write)(bracket.to_string().as_bytes())
    }

    /// The document is complete.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        while !self.open.is_empty() {
            self.close()?;
        }
        (self.write)(b"\n")
    }

    /// What stands before a value or a key.
    fn begin(&mut self) -> anyhow::Result<()> {
        if std::mem::take(&mut self.has_key) {
            return Ok(());
        }
        let line = self.line();
        if let Some((_, has_items)) = self.open.last_mut() {
            let comma = if std::mem::replace(has_items, true) { "," } else { "" };
            (self.write)(comma.as_bytes())?;
            (self.write)(line.as_bytes())?;
        }
        Ok(())
    }

    fn line(&self) -> String {
        format!("\n{}", "  ".repeat(self.open.len()))
    }
}
