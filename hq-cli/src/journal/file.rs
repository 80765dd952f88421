use std::path::Path;

use anyhow::Context as _;
use hq_core::{Event, Fact, Record, Seq, WallTime};
use hq_journal::{JournalView, Records};
use hq_node::Chronicle;

use crate::view::{EventLine, EventLines, server_stop};

/// The log of a journal file, as far as the file is whole when it is opened. The file may be in use.
pub(crate) struct FileLog {
    view: JournalView,
    records: Records,
    /// The next record, where it was looked at already.
    first: Option<(Seq, Record)>,
    chronicle: Chronicle,
}

impl FileLog {
    /// Opens the file.
    ///
    /// # Errors
    /// Where it is no journal that can be read.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let view = JournalView::open(path)?;
        let mut records = view.records(Seq(0));
        let first = records.next().transpose().with_context(|| format!("cannot read {path:?}"))?;
        Ok(Self { view, records, first, chronicle: Chronicle::new() })
    }

    /// Another one that stands at the same place of the same file, and goes on by itself.
    pub(crate) fn fork(&self) -> Self {
        let records = self.view.records(self.next_seq());
        Self { view: self.view.clone(), records, first: None, chronicle: self.chronicle.clone() }
    }

    /// The uid of the server that wrote it; none in an empty one.
    pub(crate) fn server_uid(&self) -> Option<&str> {
        match &self.first.as_ref()?.1.fact {
            Fact::Boot { server_uid, .. } => Some(server_uid),
            _ => None,
        }
    }

    /// Puts the lines of the next record into `lines`; false at the end.
    ///
    /// # Errors
    /// Where the file is damaged.
    pub(crate) fn tell(&mut self, told: &mut EventLines, lines: &mut Vec<EventLine>) -> anyhow::Result<bool> {
        let mut events = Vec::new();
        let Some(record) = self.next_events(&mut events)? else { return Ok(false) };
        events.iter().for_each(|event| told.tell(event, lines));
        if record.fact == Fact::ServerStopped {
            lines.push(server_stop(self.chronicle.time_of(&record)));
        }
        Ok(true)
    }

    /// Puts the events of the next record into `events`; none at the end.
    ///
    /// # Errors
    /// Where the file is damaged.
    pub(crate) fn next_events(&mut self, events: &mut Vec<Event>) -> anyhow::Result<Option<Record>> {
        let next = self.first.take().map(Ok).or_else(|| self.records.next());
        let Some((seq, record)) = next.transpose()? else { return Ok(None) };
        self.chronicle.tell(seq, &record, events).map_err(anyhow::Error::msg)?;
        Ok(Some(record))
    }

    /// When the next record was written; none at the end.
    ///
    /// # Errors
    /// Where the file is damaged.
    pub(crate) fn next_time(&mut self) -> anyhow::Result<Option<WallTime>> {
        if self.first.is_none() {
            self.first = self.records.next().transpose()?;
        }
        Ok(self.first.as_ref().map(|(_, record)| match record.fact {
            Fact::Boot { wall, .. } => WallTime(wall),
            _ => self.chronicle.time_of(record),
        }))
    }

    /// How things were after the last record that was told.
    pub(crate) const fn chronicle(&self) -> &Chronicle {
        &self.chronicle
    }

    /// The last record that was told.
    pub(crate) fn last(&self) -> Seq {
        self.chronicle.last()
    }

    /// The record after the last one.
    pub(crate) fn next_seq(&self) -> Seq {
        self.chronicle.last().next()
    }
}
