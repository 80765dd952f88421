//! Batch-job logs in the [Standard Workload Format](https://www.cs.huji.ac.il/labs/parallel/workload/swf.html), version 2.
//!
//! ```
//! use hq_sim::workload::swf::{Cleaning, read};
//!
//! let text = "; MaxProcs: 4\n 1 100 5 60 2 -1 -1 2 50 -1 1 7 7 -1 -1 -1 -1 -1\n 2 130 0 -1 1 -1 -1 1 60 -1 0 7 7 -1 -1 -1 -1 -1\n";
//! let log = read(text).unwrap();
//! assert_eq!(log.max_procs(), Some(4));
//! let (workload, dropped) = log.workload("two jobs", &Cleaning::EASY).unwrap();
//! assert_eq!((workload.jobs().len(), dropped), (1, 1));
//! assert_eq!(workload.jobs()[0].run, hq_core::Span::secs(50), "it was killed at its estimate");
//! ```

use hq_core::{Request, Span};

use super::{Workload, WorkloadError, WorkloadTask};

/// A log as it stands in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Header fields in order: `; Name: value`.
    pub header: Vec<(String, String)>,
    /// The jobs, in order.
    pub jobs: Vec<LogJob>,
}

/// One job of a log: the fields that scheduling depends on. What is not known (-1 in the file) is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogJob {
    /// Field 1.
    pub number: u64,
    /// Field 2, in seconds.
    pub submit: u64,
    /// Field 3, in seconds: as it was on the real machine.
    pub wait: Option<u64>,
    /// Field 4, in seconds.
    pub run: Option<u64>,
    /// Field 5.
    pub allocated: Option<u32>,
    /// Field 8.
    pub requested: Option<u32>,
    /// Field 9, in seconds: the user's estimate.
    pub estimate: Option<u64>,
    /// Field 11.
    pub status: Option<u32>,
    /// Field 12.
    pub user: Option<u32>,
}

/// A text that is not a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SwfError {
    /// Not 18 fields.
    #[error("line {line}: a job has 18 fields, this one has {found}")]
    Fields {
        /// Line, from 1.
        line: usize,
        /// How many there are.
        found: usize,
    },
    /// Not a number of that field.
    #[error("line {line}, field {field} ({name}): `{text}` is not a whole number from -1 to {max}")]
    Number {
        /// Line, from 1.
        line: usize,
        /// Field, from 1.
        field: usize,
        /// What it means.
        name: &'static str,
        /// What stands there.
        text: String,
        /// The largest number that makes sense.
        max: u64,
    },
    /// A field that has to be known.
    #[error("line {line}, field {field} ({name}): it has to be known")]
    Unknown {
        /// Line, from 1.
        line: usize,
        /// Field, from 1.
        field: usize,
        /// What it means.
        name: &'static str,
    },
}

/// Which jobs of a log are simulated, and as what. Each rule stands for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cleaning {
    /// Jobs without a run time, or with one of 0, are dropped.
    pub needs_run_time: bool,
    /// Runs longer than the user's estimate are cut to it.
    pub cut_to_estimate: bool,
    /// The number of processors that is taken.
    pub processors: Processors,
    /// Jobs that ask for more are dropped.
    pub processors_max: Option<u32>,
}

/// Which field says how many processors a job needs. Jobs in which it is unknown or 0 are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processors {
    /// Field 8.
    Requested,
    /// Field 5.
    Allocated,
    /// Field 8, and field 5 where that is unknown.
    RequestedElseAllocated,
}

impl Cleaning {
    /// The usual rules for EASY backfilling: run time > 0, runs cut to the estimate, processors as requested. They leave
    /// 28,467 jobs of KTH-SP2 1996.
    pub const EASY: Self =
        Self { needs_run_time: true, cut_to_estimate: true, processors: Processors::Requested, processors_max: None };
}

const SECONDS_MAX: u64 = 1 << 40;

/// Reads a log.
///
/// # Errors
/// Says which field of which line is wrong.
pub fn read(text: &str) -> Result<Log, SwfError> {
    let mut log = Log::default();
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix(';') {
            if let Some((name, value)) = comment.split_once(':') {
                log.header.push((name.trim().to_owned(), value.trim().to_owned()));
            }
        } else if !line.is_empty() {
            log.jobs.push(read_job(line, i + 1)?);
        }
    }
    Ok(log)
}

fn read_job(text: &str, line: usize) -> Result<LogJob, SwfError> {
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    if fields.len() != 18 {
        return Err(SwfError::Fields { line, found: fields.len() });
    }
    let number = |field: usize, name, max| -> Result<Option<u64>, SwfError> {
        let text = fields[field - 1];
        match text.parse::<i64>() {
            Ok(-1) => Ok(None),
            Ok(value) if u64::try_from(value).is_ok_and(|value| value <= max) => Ok(Some(value.unsigned_abs())),
            _ => Err(SwfError::Number { line, field, name, text: text.to_owned(), max }),
        }
    };
    let small = |field, name| Ok(number(field, name, u32::MAX.into())?.map(|value| value as u32));
    let known = |field, name| number(field, name, SECONDS_MAX)?.ok_or(SwfError::Unknown { line, field, name });
    Ok(LogJob {
        number: known(1, "job number")?,
        submit: known(2, "submit time")?,
        wait: number(3, "wait time", SECONDS_MAX)?,
        run: number(4, "run time", SECONDS_MAX)?,
        allocated: small(5, "processors allocated")?,
        requested: small(8, "processors requested")?,
        estimate: number(9, "time requested", SECONDS_MAX)?,
        status: small(11, "status")?,
        user: small(12, "user")?,
    })
}

impl Log {
    /// A header field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.header.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Processors of the machine, as its header says.
    pub fn max_procs(&self) -> Option<u32> {
        self.field("MaxProcs")?.parse().ok()
    }

    /// The jobs that `cleaning` leaves, `n` processors as `cpus=n`, and how many it dropped.
    ///
    /// # Errors
    /// Hardly: a log of more jobs than can be numbered.
    pub fn workload(&self, name: &str, cleaning: &Cleaning) -> Result<(Workload, usize), WorkloadError> {
        let jobs: Vec<WorkloadTask> = self.jobs.iter().filter_map(|job| cleaning.apply(job)).collect();
        let dropped = self.jobs.len() - jobs.len();
        Ok((Workload::new(name, jobs)?, dropped))
    }
}

impl Cleaning {
    /// What a job is simulated as; none where it is dropped.
    pub fn apply(&self, job: &LogJob) -> Option<WorkloadTask> {
        let run = job.run.unwrap_or(0);
        if self.needs_run_time && run == 0 {
            return None;
        }
        let run = if self.cut_to_estimate { run.min(job.estimate.unwrap_or(run)) } else { run };
        let processors = match self.processors {
            Processors::Requested => job.requested,
            Processors::Allocated => job.allocated,
            Processors::RequestedElseAllocated => job.requested.filter(|n| *n > 0).or(job.allocated),
        };
        let request = Request::cpus(processors.filter(|n| self.processors_max.is_none_or(|max| *n <= max))?).ok()?;
        Some(WorkloadTask {
            arrival: Span::secs(job.submit),
            estimate: job.estimate.map(Span::secs),
            user: job.user,
            ..WorkloadTask::new(Span::secs(run), request)
        })
    }
}
