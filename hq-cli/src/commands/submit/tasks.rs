use anyhow::bail;
use hq_core::{Gap, IdList, Parts, TaskIds};

use super::{
    Options,
    entries::{self, Entries},
    sweeps::{Combinations, gaps},
};
use crate::program::with_empty_ones;

/// The tasks of a submit: their numbers and what each has for itself.
#[derive(Debug)]
pub(super) struct Tasks {
    /// Their numbers.
    pub(super) ids: TaskIds,
    /// An entry per task, or the values for `gaps`; empty where there are none.
    pub(super) parts: Parts,
    /// What is filled in for each task; empty: parts are entries.
    pub(super) gaps: Vec<Gap>,
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
        if !options.sweep.is_empty() {
            let (ids, parts, longest) = Combinations::new(&options.sweep, options.zip)?.tasks(wanted)?;
            return Self::new(ids, wanted.is_none() && attach, parts, gaps(&options.sweep), longest);
        }
        let entries = match (&options.each_line, &options.from_json) {
            (Some(file), _) => entries::each_line(file, wanted)?,
            (None, Some(file)) => entries::from_json(file, wanted)?,
            (None, None) => return Ok(Self::without_entries(wanted, attach)),
        };
        let longest = Entries::longest(&entries);
        let (ids, parts) = entries.into_tasks()?;
        let (parts, gaps) = with_empty_ones(parts).map_err(anyhow::Error::msg)?;
        Self::new(ids, wanted.is_none() && attach, parts, gaps, longest)
    }

    /// `next`: the ids are only so many, behind those of the job.
    fn new(ids: IdList, next: bool, parts: Parts, gaps: Vec<Gap>, longest: usize) -> anyhow::Result<Self> {
        let ids = match u32::try_from(ids.len()) {
            Ok(0) => bail!("there is nothing to submit: no task has an entry"),
            Ok(count) if next => TaskIds::Next(count),
            _ => TaskIds::Given(ids),
        };
        Ok(Self { ids, parts, gaps, longest })
    }

    fn without_entries(array: Option<&IdList>, attach: bool) -> Self {
        let ids = match array {
            Some(ids) => TaskIds::Given(ids.clone()),
            None if attach => TaskIds::Next(1),
            None => TaskIds::Given(IdList::range(0, 1)),
        };
        Self { ids, parts: Parts::default(), gaps: vec![], longest: 0 }
    }
}
