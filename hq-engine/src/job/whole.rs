use std::ops::Range;

use hq_core::{IdList, JobSpec, Owner, TaskNumber};

use super::Task;

/// A job: tasks that are handed over, watched and cancelled together.
///
/// Tasks are numbered from 0 in the order in which they are added; the tasks of an array as it says.
#[derive(Clone, Debug, Default)]
pub struct Job {
    pub(super) spec: JobSpec,
    pub(super) owner: Owner,
    pub(super) tasks: Tasks,
}

#[derive(Clone, Debug)]
pub(super) enum Tasks {
    List(Vec<Task>),
    Array(IdList, Box<Task>),
}

impl Job {
    /// No task yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same task for each of these numbers; ten million take no more room than one.
    pub fn array(numbers: Range<u32>, task: impl Into<Task>) -> Self {
        let ids = IdList::range(numbers.start, numbers.end.saturating_sub(numbers.start));
        Self { tasks: Tasks::Array(ids, Box::new(task.into())), ..Self::default() }
    }

    /// Shown to people.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.spec.name = name.into();
        self
    }

    /// With more failed tasks than that, the rest is aborted.
    #[must_use]
    pub const fn max_fails(mut self, max: u32) -> Self {
        self.spec.max_fails = Some(max);
        self
    }

    /// Whose it is, for orders that share by owner.
    #[must_use]
    pub fn owner(mut self, owner: Owner) -> Self {
        self.owner = owner;
        self
    }

    /// Adds a task; its number is for others to wait for it.
    ///
    /// # Panics
    /// On an array.
    pub fn add(&mut self, task: impl Into<Task>) -> TaskNumber {
        let Tasks::List(tasks) = &mut self.tasks else { panic!("no task can be added to an array") };
        tasks.push(task.into());
        // 2^32 tasks do not fit into memory.
        TaskNumber((tasks.len() - 1) as u32)
    }

    /// The same with one more task.
    ///
    /// # Panics
    /// On an array.
    #[must_use]
    pub fn with(mut self, task: impl Into<Task>) -> Self {
        self.add(task);
        self
    }
}

impl Default for Tasks {
    fn default() -> Self {
        Self::List(vec![])
    }
}

/// A job of one task.
impl<T: Into<Task>> From<T> for Job {
    fn from(task: T) -> Self {
        Self::new().with(task)
    }
}
