use std::collections::{BTreeMap, btree_map::Entry};

use hq_core::{IdList, JobId, TaskNumber, WallTime};
use serde_json::{Value, json};

use super::event_json::typed;
use crate::output::{compact_json, rfc3339};

/// Tasks in one line, at most.
const TASKS_MAX: u64 = 10_000;

/// A line of the event log, or several of one moment.
#[derive(Clone, Debug)]
pub(crate) struct EventLine {
    /// When it happened.
    pub(crate) at: WallTime,
    told: Told,
}

#[derive(Clone, Debug)]
enum Told {
    /// This line.
    One(Value),
    /// The same of many tasks. The lines are made when they are written: there may be billions of tasks.
    Many { kind: &'static str, job: JobId, tasks: IdList },
}

impl EventLine {
    /// One line.
    pub(super) const fn one(at: WallTime, event: Value) -> Self {
        Self { at, told: Told::One(event) }
    }

    /// Something that happened to many tasks of a job.
    pub(super) const fn many(at: WallTime, kind: &'static str, job: JobId, tasks: IdList) -> Self {
        Self { at, told: Told::Many { kind, job, tasks } }
    }

    /// What happened.
    pub(crate) fn kind(&self) -> &str {
        match &self.told {
            Told::One(event) => event["type"].as_str().unwrap_or_default(),
            Told::Many { kind, .. } => kind,
        }
    }

    /// The job it is about, if it is about one.
    pub(crate) fn job(&self) -> Option<u32> {
        let number = |value: &Value| value.as_u64().and_then(|job| u32::try_from(job).ok());
        match &self.told {
            Told::One(event) => number(&event["job"])
                .or_else(|| number(&event["job_id"]))
                .or_else(|| number(&event["task_id"]["job_id"])),
            Told::Many { job, .. } => Some(job.0),
        }
    }

    /// Hands the lines over as they are written, each ended; says how many.
    pub(crate) fn write(&self, mut write: impl FnMut(&str) -> anyhow::Result<()>) -> anyhow::Result<u64> {
        let mut line = |event: &Value| {
            write(&(compact_json(&json!({ "event": event, "time": rfc3339(self.at) })) + "\n"))?;
            anyhow::Ok(())
        };
        let (kind, job, tasks) = match &self.told {
            Told::One(event) => {
                line(event)?;
                return Ok(1);
            }
            Told::Many { kind, job, tasks } => (kind, job, tasks),
        };
        let mut count = 0;
        while count * TASKS_MAX < tasks.len() {
            let part = IdList::from(tasks.slice(count * TASKS_MAX, TASKS_MAX));
            let task = |number| json!({ "job_id": job, "job_task_id": TaskNumber(number) });
            line(&typed(kind, json!({ "tasks": part.iter().map(task).collect::<Vec<_>>() })))?;
            count += 1;
        }
        Ok(count)
    }
}

/// Lines as they are written.
#[cfg(test)]
pub(crate) fn event_text(lines: &[EventLine]) -> String {
    let mut text = String::new();
    for line in lines {
        let written = line.write(|line| {
            text += line;
            Ok(())
        });
        written.expect("a string takes everything");
    }
    text
}

/// Sorts lines by time as they come, as far as a bounded memory goes: what a worker reports is a little older than what
/// the server itself saw before. Lines of one moment keep their order.
#[derive(Debug)]
pub(crate) struct Reorder {
    waiting: BTreeMap<(WallTime, u64), EventLine>,
    count: u64,
    room: usize,
}

impl Reorder {
    /// Holds back so many lines.
    pub(crate) const fn new(room: usize) -> Self {
        Self { waiting: BTreeMap::new(), count: 0, room }
    }

    /// Takes a line; gives the earliest one where there are too many.
    pub(crate) fn push(&mut self, line: EventLine) -> Option<EventLine> {
        self.count += 1;
        if let Entry::Vacant(place) = self.waiting.entry((line.at, self.count)) {
            place.insert(line);
        }
        if self.waiting.len() > self.room { self.pop() } else { None }
    }

    /// The earliest line.
    pub(crate) fn pop(&mut self) -> Option<EventLine> {
        self.waiting.pop_first().map(|(_, line)| line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_tasks_are_several_lines() {
        let many = |ids: IdList| EventLine::many(WallTime(0), "task-canceled", JobId(1), ids);
        let mut counts = vec![];
        let lines = many(IdList::range(0, 25_000)).write(|line| {
            counts.push(line.matches("job_task_id").count());
            Ok(())
        });
        assert_eq!((lines.expect("written"), counts), (3, vec![10_000, 10_000, 5_000]));
        // Who stops reading is not kept waiting by the rest.
        let mut first = None;
        let cut = many(IdList::range(0, 1_000_000_000)).write(|line| {
            first = Some(line.len());
            anyhow::bail!("enough")
        });
        assert!(cut.is_err() && first.is_some());
    }

    #[test]
    fn lines_are_sorted_within_a_window() {
        let mut reorder = Reorder::new(2);
        let mut order = vec![];
        for (time, name) in [(5, "a"), (3, "b"), (5, "c"), (4, "d"), (9, "e")] {
            order.extend(reorder.push(EventLine::one(WallTime(time), json!({ "type": name }))));
        }
        order.extend(std::iter::from_fn(|| reorder.pop()));
        let names: Vec<_> = order.iter().map(EventLine::kind).collect();
        assert_eq!(names, ["b", "d", "a", "c", "e"]);
    }
}
