//! What a user hands over: tasks, what they need, and what they wait for.

use serde::{Deserialize, Serialize};

use crate::{Blob, CrashLimit, IdList, JobId, JobSpec, RetryOn, RetryRule, RetryTimes, Span, TaskNumber, Variants};

/// Tasks to be run, as one unit: an array is a few numbers, a graph is columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submit {
    /// The job they become part of.
    pub job: JobTarget,
    /// Their numbers.
    pub ids: TaskIds,
    /// Which [`TaskRunner`] runs them, e.g. `program`. Part of the class: tasks go only where the kind is known.
    ///
    /// [`TaskRunner`]: https://docs.rs/hq-worker
    pub kind: String,
    /// The part of the body that all tasks share; opaque to the core.
    pub shared: Blob,
    /// The part of the body that each task has for itself; opaque to the core.
    pub parts: Parts,
    /// What the tasks need; at least one.
    pub profiles: Vec<Profile>,
    /// Index into `profiles` per task; empty: all tasks have the first.
    pub profile_of: Vec<u16>,
    /// What waits for what.
    pub deps: Deps,
    /// Whose they are.
    #[serde(default)]
    pub owner: Owner,
    /// Jobs that have to be completed before any of the tasks starts.
    #[serde(default)]
    pub after: Vec<JobDep>,
}

/// A job that is waited for as a whole. It is completed when it is closed and all its tasks have ended; if that is not the
/// end waited for, who waits is aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobDep {
    /// The job.
    pub job: JobId,
    /// [`DepKind::Success`]: all its tasks finished; [`DepKind::Failure`]: not all of them did.
    pub kind: DepKind,
}

impl JobDep {
    /// Jobs that a submit can wait for.
    pub const COUNT_MAX: usize = 1024;
}

/// Whose tasks they are, for orders that share by owner. Who submits says so; whether it is true is not checked here.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Owner {
    /// A user; empty: nobody in particular.
    pub user: String,
    /// A project, an account, a group …; empty: none.
    pub project: String,
}

impl Owner {
    /// Bytes in a name, at most.
    pub const NAME_MAX: usize = 256;

    /// A user without a project.
    pub fn user(name: impl Into<String>) -> Self {
        Self { user: name.into(), project: String::new() }
    }

    /// The same as part of a project.
    #[must_use]
    pub fn in_project(mut self, name: impl Into<String>) -> Self {
        self.project = name.into();
        self
    }

    /// Whether both names are short enough, and text in one line.
    fn check(&self) -> Result<(), &'static str> {
        for name in [&self.user, &self.project] {
            if name.len() > Self::NAME_MAX {
                return Err("the name of a user or project can have at most 256 bytes");
            }
            if name.contains(char::is_control) {
                return Err("the name of a user or project must not have control characters");
            }
        }
        Ok(())
    }
}

/// The job of a submit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobTarget {
    /// A new, closed job.
    New(JobSpec),
    /// An open one.
    Attach(JobId),
}

/// Numbers of the tasks of a submit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskIds {
    /// These; none of them may be in the job already.
    Given(IdList),
    /// That many, from the largest number of the job + 1; from 0 in an empty job.
    Next(u32),
}

impl TaskIds {
    /// How many tasks.
    pub const fn count(&self) -> u64 {
        match self {
            Self::Given(ids) => ids.len(),
            Self::Next(n) => *n as u64,
        }
    }
}

/// What a task needs besides its body.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Profile {
    /// Alternative requests.
    pub variants: Variants,
    /// Larger first.
    pub priority: i32,
    /// It is killed after running that long.
    pub time_limit: Option<Span>,
    /// How often it may lose its worker.
    pub crash_limit: CrashLimit,
    /// Whether it has a temporary directory that callers expect to be gone after its end.
    pub task_dir: bool,
    /// When it is run again after a run that did not end well; the first rule that is for a cause counts.
    #[serde(default)]
    pub retry: Vec<RetryRule>,
}

impl Profile {
    /// How long its user says that it runs, at most: its time limit, else the longest time request of its variants.
    pub fn estimate(&self) -> Option<Span> {
        let requested = || self.variants.iter().map(|request| request.min_time()).max();
        self.time_limit.or_else(requested).filter(|span| self.time_limit.is_some() || *span > Span::ZERO)
    }

    /// At most as many bytes are in its encoding.
    fn weight(&self) -> usize {
        let entries = self.variants.iter().flat_map(|request| request.entries());
        let names: usize = entries.map(|entry| 32 + entry.resource.as_str().len()).sum();
        let rules: usize = self.retry.iter().map(RetryRule::weight).sum();
        64 + 64 * self.variants.iter().count() + names + rules
    }

    /// Whether its rules are few enough, and go together with its crash limit.
    ///
    /// # Errors
    /// One line for people.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.retry.len() > RetryRule::COUNT_MAX || !self.retry.iter().all(RetryRule::is_small) {
            return Err("a task can have at most 32 rules of retry, each with at most 64 ranges of exit codes");
        }
        let runs_twice = |rule: &RetryRule| rule.times != RetryTimes::Limit(0) && rule.on != RetryOn::NoStart;
        if self.crash_limit == CrashLimit::NeverRestart && self.retry.iter().any(runs_twice) {
            return Err("a task that must never be restarted (never-restart) cannot be retried");
        }
        Ok(())
    }

    /// Priority 0, no limits but the usual crash limit.
    pub fn new(variants: impl Into<Variants>) -> Self {
        Self {
            variants: variants.into(),
            priority: 0,
            time_limit: None,
            crash_limit: CrashLimit::default(),
            task_dir: false,
            retry: vec![],
        }
    }
}

/// A byte string per task, end to end. Empty: no task has one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// End of each part.
    ends: Vec<u32>,
    bytes: Blob,
}

impl Parts {
    /// The parts in task order.
    ///
    /// Returns `None` where they are more than 4 GiB together.
    pub fn new<I>(parts: I) -> Option<Self>
    where
        I: IntoIterator<Item: AsRef<[u8]>>,
    {
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        for part in parts {
            bytes.extend_from_slice(part.as_ref());
            ends.push(u32::try_from(bytes.len()).ok()?);
        }
        Some(Self { ends, bytes: bytes.into() })
    }

    /// Number of parts.
    pub fn len(&self) -> u64 {
        self.ends.len() as u64
    }

    /// True where no task has a part of its own.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The part of task `index`; empty where there is none.
    pub fn get(&self, index: u64) -> &[u8] {
        let i = index as usize;
        let Some(end) = self.ends.get(i) else { return &[] };
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        self.bytes.get(start as usize..*end as usize).unwrap_or(&[])
    }

    /// The parts of tasks `from..from + len`. Empty where there are none at all.
    #[must_use]
    pub fn slice(&self, from: u64, len: u64) -> Self {
        if self.is_empty() {
            return Self::default();
        }
        Self::new((from..from + len).map(|i| self.get(i))).unwrap_or_default()
    }

    /// At most as many bytes are in their encoding.
    pub fn weight(&self) -> usize {
        5 * (self.ends.len() + 2) + self.bytes.len()
    }

    /// Whether the ends grow and lie inside the bytes.
    pub fn is_sound(&self) -> bool {
        self.ends.windows(2).all(|w| w[0] <= w[1])
            && self.ends.last().map_or(0, |end| *end as usize) == self.bytes.len()
    }
}

/// When a dependency counts as met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum DepKind {
    /// When the other task finished; its failure, cancel or abort aborts this one.
    #[default]
    Success,
    /// When the other task ended, however.
    AnyEnd,
    /// When the other task failed; any other end aborts this one.
    Failure,
}

/// What waits for what, in compressed rows. Empty: nothing waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deps {
    /// End of each task's row.
    ends: Vec<u32>,
    /// Numbers of the tasks waited for, in this submit (at an earlier index) or earlier in the job.
    on: Vec<TaskNumber>,
    /// Kind per edge; empty: all [`DepKind::Success`].
    kinds: Vec<DepKind>,
}

impl Deps {
    /// The edges of each task, in task order.
    ///
    /// Returns `None` past 2^32 edges.
    pub fn new<I, E>(rows: I) -> Option<Self>
    where
        I: IntoIterator<Item = E>,
        E: IntoIterator<Item = (TaskNumber, DepKind)>,
    {
        let mut deps = Self::default();
        for row in rows {
            for (on, kind) in row {
                deps.on.push(on);
                deps.kinds.push(kind);
            }
            deps.ends.push(u32::try_from(deps.on.len()).ok()?);
        }
        if deps.kinds.iter().all(|kind| *kind == DepKind::Success) {
            deps.kinds = vec![];
        }
        if deps.on.is_empty() {
            deps.ends = vec![];
        }
        Some(deps)
    }

    /// Number of tasks with a row; 0 where nothing waits.
    pub fn rows(&self) -> u64 {
        self.ends.len() as u64
    }

    /// Number of edges.
    pub fn edges(&self) -> u64 {
        self.on.len() as u64
    }

    /// True where nothing waits.
    pub fn is_empty(&self) -> bool {
        self.on.is_empty()
    }

    /// What task `index` waits for.
    pub fn of(&self, index: u64) -> impl ExactSizeIterator<Item = (TaskNumber, DepKind)> + '_ {
        let i = index as usize;
        let end = self.ends.get(i).map_or(0, |end| *end as usize);
        let start = if i == 0 || end == 0 { 0 } else { self.ends[i - 1] as usize };
        (start.min(end)..end).map(|e| (self.on[e], self.kinds.get(e).copied().unwrap_or_default()))
    }

    /// At most as many bytes are in their encoding.
    pub fn weight(&self) -> usize {
        5 * (self.ends.len() + self.on.len() + 3) + self.kinds.len()
    }

    /// Whether the columns fit together.
    pub fn is_sound(&self) -> bool {
        self.ends.windows(2).all(|w| w[0] <= w[1])
            && self.ends.last().map_or(0, |end| *end as usize) == self.on.len()
            && (self.kinds.is_empty() || self.kinds.len() == self.on.len())
    }
}

impl Submit {
    /// `ids` tasks of one profile without parts of their own.
    pub fn array(job: JobTarget, ids: TaskIds, kind: impl Into<String>, shared: Blob, profile: Profile) -> Self {
        Self {
            job,
            ids,
            kind: kind.into(),
            shared,
            parts: Parts::default(),
            profiles: vec![profile],
            profile_of: vec![],
            deps: Deps::default(),
            owner: Owner::default(),
            after: vec![],
        }
    }

    /// At most as many bytes are in its encoding on a link.
    pub fn weight(&self) -> usize {
        let runs = match &self.ids {
            TaskIds::Given(ids) => ids.runs().len(),
            TaskIds::Next(_) => 1,
        };
        // A run is noted twice where its steps miss the end that was given.
        let columns = 30 * runs + 3 * self.profile_of.len() + 11 * self.after.len() + self.deps.weight();
        let names = self.kind.len() + self.owner.user.len() + self.owner.project.len() + self.name_len();
        let entries: usize = self.profiles.iter().map(Profile::weight).sum();
        256 + columns + names + entries + self.shared.len() + self.parts.weight()
    }

    fn name_len(&self) -> usize {
        match &self.job {
            JobTarget::New(spec) => spec.name.len(),
            JobTarget::Attach(_) => 0,
        }
    }

    /// Whether the columns fit together, whatever the tasks are.
    ///
    /// # Errors
    /// One line for people.
    pub fn check(&self) -> Result<(), &'static str> {
        let n = self.ids.count();
        let fits = |len: u64| len == 0 || len == n;
        if n > u64::from(u32::MAX) {
            return Err("a submit can have at most 4294967295 tasks");
        }
        if self.profiles.is_empty() || self.profiles.len() > 1 << 16 {
            return Err("a submit has to have 1 to 65536 profiles");
        }
        if self.profile_of.iter().any(|profile| usize::from(*profile) >= self.profiles.len()) {
            return Err("a task refers to a profile that does not exist");
        }
        if !fits(self.profile_of.len() as u64) || !fits(self.parts.len()) || !fits(self.deps.rows()) {
            return Err("the columns of the submit differ in length");
        }
        if !self.parts.is_sound() || !self.deps.is_sound() {
            return Err("the columns of the submit contradict each other");
        }
        if self.after.len() > JobDep::COUNT_MAX {
            return Err("a submit can wait for at most 1024 jobs");
        }
        self.profiles.iter().try_for_each(Profile::check)?;
        self.owner.check()
    }

    /// Index of the profile of task `index`.
    pub fn profile_index(&self, index: u64) -> u16 {
        self.profile_of.get(index as usize).copied().unwrap_or(0)
    }

    /// The profile of task `index`; the first one for an index out of range.
    ///
    /// # Panics
    /// On a submit without profiles, which no checked submit is.
    pub fn profile(&self, index: u64) -> &Profile {
        &self.profiles[usize::from(self.profile_index(index))]
    }
}
