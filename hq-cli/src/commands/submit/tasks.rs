use anyhow::bail;
use hq_core::{IdList, Parts, TaskIds};

use super::{
    Options,
    entries::{self, Entries},
};

/// The tasks of a submit: their numbers and what each has for itself.
#[derive(Debug)]
pub(super) struct Tasks {
    /// Their numbers.
    pub(super) ids: TaskIds,
    /// An entry per task; empty where there are no entries.
    pub(super) parts: Parts,
    /// Length of the longest entry.
    pub(super) longest: usize,
}

impl Tasks {
    /// Reads what the options name: entries, an array, both, or one task. `attach`: the job has tasks already.
    ///
    /// # Errors
    /// For files that cannot be read, and entries that no task can have.
    pub(super) fn of(options: &Options, attach: bool) -> anyhow::Result<Self> {
        let wanted = options.array.as_ref();
        let entries = match (&options.each_line, &options.from_json) {
            (Some(file), _) => entries::each_line(file, wanted)?,
            (None, Some(file)) => entries::from_json(file, wanted)?,
            (None, None) => return Ok(Self::without_entries(wanted, attach)),
        };
        let longest = Entries::longest(&entries);
        let (ids, parts) = entries.into_tasks()?;
        if ids.is_empty() {
            bail!(
                "there is nothing to submit: {}",
                if wanted.is_some() { "no id has an entry" } else { "there are no entries" }
            );
        }
        let ids = match (wanted, u32::try_from(ids.len())) {
            (None, Ok(count)) if attach => TaskIds::Next(count),
            _ => TaskIds::Given(ids),
        };
        Ok(Self { ids, parts, longest })
    }

    fn without_entries(array: Option<&IdList>, attach: bool) -> Self {
        let ids = match array {
            Some(ids) => TaskIds::Given(ids.clone()),
            None if attach => TaskIds::Next(1),
            None => TaskIds::Given(IdList::range(0, 1)),
        };
        Self { ids, parts: Parts::default(), longest: 0 }
    }
}
