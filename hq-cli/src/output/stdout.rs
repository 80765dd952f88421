use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use serde::Serialize;
use tracing::{error, warn};

use super::{ColorPolicy, JsonStream, Mode, Table, inert, json::write_pretty};

/// Nobody reads standard output any more: the program ends quietly.
#[derive(Debug, thiserror::Error)]
#[error("standard output is closed")]
pub(crate) struct StdoutClosed;

/// Characters in a line of what is no terminal.
const PAGE: usize = 120;

/// Standard output and the form of what is written to it.
pub(crate) struct Output {
    mode: Mode,
    /// The command, where documents tell it and the version of their schema.
    command: Option<String>,
    colors: bool,
    is_terminal: bool,
    wrote: bool,
    /// What was not there or not done, although the command goes well: documents of the published schema name it.
    faults: Vec<String>,
    writer: BufWriter<Stdout>,
}

impl Output {
    /// Standard output of this process.
    pub(crate) fn new(mode: Mode, colors: ColorPolicy) -> Self {
        let stdout = io::stdout();
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        let is_terminal = stdout.is_terminal();
        let colors = colors.resolve(is_terminal, no_color);
        Self { mode, command: None, colors, is_terminal, wrote: false, faults: vec![], writer: BufWriter::new(stdout) }
    }

    /// The form of the output.
    pub(crate) const fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether colours are used.
    pub(crate) const fn colors(&self) -> bool {
        self.colors
    }

    /// Whether people look at it.
    pub(crate) const fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Whether anything was written.
    pub(crate) const fn wrote(&self) -> bool {
        self.wrote
    }

    /// Characters in a line that is not to be wrapped: of a terminal as many as it has, less one for the cursor.
    pub(crate) fn width(&self) -> usize {
        match terminal_size::terminal_size() {
            Some((width, _)) if self.is_terminal => usize::from(width.0).saturating_sub(1),
            _ => PAGE,
        }
    }

    /// A line of text, made inert.
    pub(crate) fn line(&mut self, text: &str) -> anyhow::Result<()> {
        self.raw(inert(text).as_bytes())?;
        self.raw(b"\n")
    }

    /// A line in place of the last one, on a terminal; nothing elsewhere. The text is inert but for its colours.
    pub(crate) fn redraw(&mut self, text: &str) -> anyhow::Result<()> {
        if self.is_terminal && self.mode == Mode::Cli {
            self.raw(format!("\r\x1b[2K{text}").as_bytes())?;
            self.flush()?;
        }
        Ok(())
    }

    /// The end of what was [redrawn](Self::redraw): elsewhere than on a terminal, the only line of it.
    pub(crate) fn redrawn(&mut self, text: &str) -> anyhow::Result<()> {
        self.redraw(text)?;
        match (self.mode, self.is_terminal) {
            (Mode::Cli, true) => self.raw(b"\n"),
            (Mode::Cli, false) if !text.is_empty() => self.raw(format!("{text}\n").as_bytes()),
            _ => Ok(()),
        }
    }

    /// A table.
    pub(crate) fn table(&mut self, table: &Table) -> anyhow::Result<()> {
        let text = table.draw(self.colors);
        self.raw(text.as_bytes())
    }

    /// From now on JSON documents are those of the published schema, for that command.
    pub(crate) fn wrap(&mut self, command: String) {
        self.command = Some(command);
    }

    /// Logs what was asked for and is not there or was not done, as an error; the command goes well all the same.
    pub(crate) fn error(&mut self, text: &str) {
        error!("{text}");
        self.note_fault(text.to_owned());
    }

    /// The same as a warning.
    pub(crate) fn warn(&mut self, text: &str) {
        warn!("{text}");
        self.note_fault(text.to_owned());
    }

    /// The same, where it has been logged.
    pub(crate) fn note_fault(&mut self, text: String) {
        if self.tells_faults() {
            self.faults.push(text);
        }
    }

    /// Whether documents tell what is not there.
    pub(crate) const fn tells_faults(&self) -> bool {
        self.command.is_some()
    }

    fn faults(&self) -> Option<String> {
        (!self.faults.is_empty()).then(|| self.faults.join("; "))
    }

    /// A JSON document.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        let command = self.command.take();
        match &command {
            Some(command) => {
                let error = self.faults();
                self.document(&Document { schema: SCHEMA, command, data: Some(value), error: error.as_deref() })?;
            }
            None => self.document(value)?,
        }
        self.command = command;
        Ok(())
    }

    /// A JSON document that is written bit by bit.
    pub(crate) fn json_stream(&mut self) -> anyhow::Result<JsonStream<'_>> {
        let (command, faults) = (self.command.clone(), self.faults());
        let mut json = JsonStream::new(|bytes| self.raw(bytes));
        if let Some(command) = command {
            json.object()?;
            json.entry("schema", &SCHEMA)?;
            json.entry("command", &command)?;
            if let Some(faults) = faults {
                json.entry("error", &faults)?;
            }
            json.key("data")?;
        }
        Ok(json)
    }

    fn document(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        self.wrote = true;
        check(write_pretty(&mut self.writer, value))?;
        self.raw(b"\n")
    }

    /// An error as a JSON document, at once.
    pub(crate) fn json_error(&mut self, text: &str) -> anyhow::Result<()> {
        match self.command.take() {
            Some(command) => {
                let document = Document::<()> { schema: SCHEMA, command: &command, data: None, error: Some(text) };
                self.document(&document)?;
            }
            None => self.document(&serde_json::json!({ "error": text }))?,
        }
        self.flush()
    }

    /// Says that the output is complete although it may be empty, in a form of its own.
    pub(crate) const fn wrote_all(&mut self) {
        self.wrote = true;
    }

    /// Bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.wrote = true;
        check(self.writer.write_all(bytes))
    }

    /// Everything that `reader` has, byte for byte.
    pub(crate) fn copy(&mut self, reader: &mut impl io::BufRead) -> anyhow::Result<()> {
        loop {
            let bytes = match reader.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            if bytes.is_empty() {
                return Ok(());
            }
            self.wrote = true;
            check(self.writer.write_all(bytes))?;
            let len = bytes.len();
            reader.consume(len);
        }
    }

    /// Hands what was written to the reader.
    pub(crate) fn flush(&mut self) -> anyhow::Result<()> {
        check(self.writer.flush())
    }

    /// Ends the output of a command that went well: in JSON mode there always is a document.
    pub(crate) fn finish(&mut self) -> anyhow::Result<()> {
        if self.mode == Mode::Json && !self.wrote {
            match &self.command {
                Some(_) => self.json(&())?,
                None => self.raw(b"{}\n")?,
            }
        }
        self.flush()
    }
}

/// The version of what is in `docs/schema`.
const SCHEMA: u32 = 1;

/// A document of the published schema.
#[derive(Serialize)]
struct Document<'a, T: Serialize> {
    schema: u32,
    command: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

fn check(written: io::Result<()>) -> anyhow::Result<()> {
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => StdoutClosed.into(),
        _ => anyhow::Error::from(error).context("cannot write to standard output"),
    })
}
