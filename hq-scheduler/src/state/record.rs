use std::collections::{BTreeMap, BTreeSet};

use hq_core::{Instance, Ordinal, OrdinalRange, RetryMark, Span, TaskMark, TaskState, Tick, WorkerId};

use super::{crashes::Crashes, retry::Retries};

const PAGE: u64 = 4096;

/// What is known of tasks that have started: 16 bytes each, in pages that exist only from a first start on.
/// What few tasks have lives in side tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Records {
    pages: BTreeMap<u64, Vec<Row>>,
    instances: BTreeMap<Ordinal, u32>,
    crashes: BTreeMap<Ordinal, Crashes>,
    errors: BTreeMap<Ordinal, String>,
    gangs: BTreeMap<Ordinal, Vec<WorkerId>>,
    pub(crate) retries: Retries,
}

/// State (3 bits), variant (5 bits), start (56 bits); worker; duration with its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    head: u64,
    worker: u32,
    took: u32,
}

/// A row, unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) state: TaskState,
    pub(crate) variant: u8,
    /// 0: never started.
    pub(crate) worker: WorkerId,
    pub(crate) start: Tick,
    pub(crate) took: Span,
}

const START_MAX: u64 = (1 << 56) - 1;

impl Row {
    fn pack(entry: Entry) -> Self {
        let state = match entry.state {
            TaskState::Waiting => 1,
            TaskState::Running => 2,
            TaskState::Finished => 3,
            TaskState::Failed => 4,
            TaskState::Canceled => 5,
            TaskState::Aborted => 6,
        };
        let head = (state << 61) | (u64::from(entry.variant & 31) << 56) | entry.start.0.min(START_MAX);
        Self { head, worker: entry.worker.0, took: pack_span(entry.took) }
    }

    fn unpack(self) -> Option<Entry> {
        let state = match self.head >> 61 {
            1 => TaskState::Waiting,
            2 => TaskState::Running,
            3 => TaskState::Finished,
            4 => TaskState::Failed,
            5 => TaskState::Canceled,
            6 => TaskState::Aborted,
            _ => return None,
        };
        Some(Entry {
            state,
            variant: (self.head >> 56) as u8 & 31,
            worker: WorkerId(self.worker),
            start: Tick(self.head & START_MAX),
            took: unpack_span(self.took),
        })
    }
}

/// Microseconds below 17 minutes, milliseconds below 12 days, then seconds. What was packed once is packed the same again.
fn pack_span(span: Span) -> u32 {
    const MAX: u64 = (1 << 30) - 1;
    const ROUND: u64 = MAX / 1_000 * 1_000;
    let (unit, value) = match span.0 {
        n if n < ROUND => (0, n),
        n if n / 1_000 < ROUND => (1, n / 1_000),
        n => (2, (n / 1_000_000).min(MAX)),
    };
    (unit << 30) | value as u32
}

const fn unpack_span(packed: u32) -> Span {
    let value = (packed & ((1 << 30) - 1)) as u64;
    match packed >> 30 {
        0 => Span(value),
        1 => Span(value * 1_000),
        _ => Span(value * 1_000_000),
    }
}

impl Records {
    /// What is known of `task`; nothing before its first start.
    pub(crate) fn get(&self, task: Ordinal) -> Option<Entry> {
        self.pages.get(&(task.0 / PAGE))?[(task.0 % PAGE) as usize].unpack()
    }

    pub(crate) fn set(&mut self, task: Ordinal, entry: Entry) {
        let page = self.pages.entry(task.0 / PAGE).or_insert_with(|| vec![Row::default(); PAGE as usize]);
        page[(task.0 % PAGE) as usize] = Row::pack(entry);
    }

    /// The recorded tasks of `range`, in order.
    pub(crate) fn in_range(&self, range: OrdinalRange) -> impl Iterator<Item = (Ordinal, Entry)> + '_ {
        let (start, end) = (range.start.0, range.end().0);
        self.pages.range(start / PAGE..end.div_ceil(PAGE)).flat_map(move |(page, rows)| {
            let base = page * PAGE;
            let (from, to) = (start.max(base), end.min(base + PAGE));
            (from..to).filter_map(move |o| Some((Ordinal(o), rows[(o - base) as usize].unpack()?)))
        })
    }

    /// Changes the recorded tasks of `range`, in order; those for which nothing is said stay as they are.
    pub(crate) fn change(&mut self, range: OrdinalRange, mut change: impl FnMut(Ordinal, Entry) -> Option<Entry>) {
        let (start, end) = (range.start.0, range.end().0);
        for (page, rows) in self.pages.range_mut(start / PAGE..end.div_ceil(PAGE)) {
            let base = page * PAGE;
            let (from, to) = (start.max(base) - base, end.min(base + PAGE) - base);
            for (row, task) in rows[from as usize..to as usize].iter_mut().zip(base + from..) {
                if let Some(entry) = row.unpack().and_then(|entry| change(Ordinal(task), entry)) {
                    *row = Row::pack(entry);
                }
            }
        }
    }

    pub(crate) fn instance(&self, task: Ordinal) -> Instance {
        Instance(self.instances.get(&task).copied().unwrap_or(0))
    }

    pub(crate) fn next_instance(&mut self, task: Ordinal) {
        let n = self.instances.entry(task).or_insert(0);
        *n = n.saturating_add(1);
    }

    /// Those of `range` that are not run for the first time.
    pub(crate) fn instances_in(&self, range: OrdinalRange) -> impl Iterator<Item = (Ordinal, Instance)> + '_ {
        self.instances.range(range.start..range.end()).map(|(task, n)| (*task, Instance(*n)))
    }

    pub(crate) fn crashes(&self, task: Ordinal) -> Option<&Crashes> {
        self.crashes.get(&task)
    }

    /// A worker was lost while it ran `task`.
    pub(crate) fn add_crash(&mut self, task: Ordinal, worker: WorkerId) {
        self.crashes.entry(task).or_default().add(worker);
    }

    pub(crate) fn error(&self, task: Ordinal) -> Option<&str> {
        self.errors.get(&task).map(String::as_str)
    }

    pub(crate) fn set_error(&mut self, task: Ordinal, error: String) {
        self.errors.insert(task, error);
    }

    pub(crate) fn gang(&self, task: Ordinal) -> Option<&[WorkerId]> {
        self.gangs.get(&task).map(Vec::as_slice)
    }

    pub(crate) fn set_gang(&mut self, task: Ordinal, workers: Vec<WorkerId>) {
        self.gangs.insert(task, workers);
    }

    /// Those of `range` that have something in a side table, in order.
    pub(crate) fn marks_in(&self, range: OrdinalRange) -> Vec<TaskMark> {
        let range = range.start..range.end();
        let mut tasks: BTreeSet<Ordinal> = self.instances.range(range.clone()).map(|(task, _)| *task).collect();
        tasks.extend(self.crashes.range(range.clone()).map(|(task, _)| *task));
        tasks.extend(self.errors.range(range.clone()).map(|(task, _)| *task));
        tasks.extend(self.gangs.range(range.clone()).map(|(task, _)| *task));
        tasks.extend(self.retries.marks_in(OrdinalRange::new(range.start, range.end.0 - range.start.0)));
        let mark = |task: Ordinal| {
            let crashes = self.crashes(task);
            let lost = crashes.map(|known| known.lost.clone()).unwrap_or_default();
            let retry = self.retries.get(task).cloned().or_else(|| (!lost.is_empty()).then(RetryMark::default));
            TaskMark {
                task,
                instance: self.instance(task).0,
                crashes: crashes.map_or(0, |known| known.count.into()),
                error: self.error(task).map(str::to_owned),
                gang: self.gang(task).unwrap_or_default().to_vec(),
                retry: retry.map(|known| Box::new(RetryMark { lost, ..known })),
            }
        };
        tasks.into_iter().map(mark).collect()
    }

    /// Puts into the side tables what `mark` has.
    pub(crate) fn mark(&mut self, mark: &TaskMark) {
        if mark.instance > 0 {
            self.instances.insert(mark.task, mark.instance);
        }
        let lost = mark.retry.as_ref().map(|known| known.lost.clone()).unwrap_or_default();
        if mark.crashes > 0 || !lost.is_empty() {
            let count = u16::try_from(mark.crashes).unwrap_or(u16::MAX);
            self.crashes.insert(mark.task, Crashes { count, lost });
        }
        if let Some(error) = &mark.error {
            self.errors.insert(mark.task, error.clone());
        }
        if !mark.gang.is_empty() {
            self.gangs.insert(mark.task, mark.gang.clone());
        }
        if let Some(retry) = &mark.retry {
            self.retries.restore(mark.task, retry);
        }
    }

    /// Forgets the tasks of `range`.
    pub(crate) fn remove(&mut self, range: OrdinalRange) {
        let (start, end) = (range.start.0, range.end().0);
        let pages: Vec<u64> = self.pages.range(start / PAGE..end.div_ceil(PAGE)).map(|(page, _)| *page).collect();
        for page in pages {
            let base = page * PAGE;
            let Some(rows) = self.pages.get_mut(&page) else { continue };
            rows[(start.max(base) - base) as usize..(end.min(base + PAGE) - base) as usize].fill(Row::default());
            if rows.iter().all(|row| *row == Row::default()) {
                self.pages.remove(&page);
            }
        }
        remove_keys(&mut self.instances, range);
        remove_keys(&mut self.crashes, range);
        remove_keys(&mut self.errors, range);
        remove_keys(&mut self.gangs, range);
        self.retries.forget(range);
    }
}

fn remove_keys<V>(map: &mut BTreeMap<Ordinal, V>, range: OrdinalRange) {
    let keys: Vec<Ordinal> = map.range(range.start..range.end()).map(|(key, _)| *key).collect();
    for key in keys {
        map.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_is_packed_the_same_again() {
        for around in [1_073_741_000_u64, 1_073_741_823, 1_073_741_823_000, 1_073_741_000_000, 1_073_741_000_000_000] {
            for n in around - 2_000..around + 2_000 {
                let packed = pack_span(Span(n));
                assert_eq!(pack_span(unpack_span(packed)), packed, "{n}");
            }
        }
    }

    #[test]
    fn rows_keep_what_they_are_given() {
        assert_eq!(size_of::<Row>(), 16);
        let mut records = Records::default();
        for (task, took) in [(0, 0), (4095, 999_999), (4096, 3_600_000_000), (1 << 40, 20 * 86_400_000_000)] {
            let entry = Entry {
                state: TaskState::Finished,
                variant: 31,
                worker: WorkerId(u32::MAX),
                start: Tick(START_MAX),
                took: Span(took),
            };
            records.set(Ordinal(task), entry);
            assert_eq!(records.get(Ordinal(task)), Some(entry));
        }
        let middle = OrdinalRange::new(Ordinal(1), 4096);
        assert_eq!(records.in_range(middle).count(), 2);
        records.change(middle, |task, entry| (task.0 == 4095).then_some(Entry { state: TaskState::Failed, ..entry }));
        let states: Vec<TaskState> = records.in_range(middle).map(|(_, entry)| entry.state).collect();
        assert_eq!(states, [TaskState::Failed, TaskState::Finished]);
        records.remove(OrdinalRange::new(Ordinal(0), 1 << 41));
        assert_eq!(records, Records::default());
    }
}
