use std::{collections::BTreeMap, path::Path};

use hq_backend::{AllocationEnd, AllocationStatus, EndCause, parse::timestamp};

use crate::state::{SlurmState, slurm_state};

/// Keys of `scontrol show job` that share a line with others, so that a value ends where one of them begins.
const KEYS: [&str; 45] = [
    "JobId",
    "ArrayJobId",
    "ArrayTaskId",
    "ArrayTaskThrottle",
    "HetJobId",
    "HetJobOffset",
    "HetJobIdSet",
    "JobName",
    "UserId",
    "GroupId",
    "MCS_label",
    "Priority",
    "Nice",
    "Account",
    "QOS",
    "WCKey",
    "JobState",
    "Reason",
    "Dependency",
    "Requeue",
    "Restarts",
    "BatchFlag",
    "Reboot",
    "ExitCode",
    "DerivedExitCode",
    "RunTime",
    "TimeLimit",
    "TimeMin",
    "SubmitTime",
    "EligibleTime",
    "AccrueTime",
    "StartTime",
    "EndTime",
    "Deadline",
    "SuspendTime",
    "SecsPreSuspend",
    "LastSchedEval",
    "Scheduler",
    "Partition",
    "NodeList",
    "BatchHost",
    "NumNodes",
    "NumCPUs",
    "Comment",
    "Power",
];
/// Those whose value is the rest of the line.
const LONG_KEYS: [&str; 5] = ["Command", "WorkDir", "StdErr", "StdIn", "StdOut"];

/// What `scontrol show job` says of an id: one record, or one for each part of an array or a heterogeneous job.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown<'a> {
    records: Vec<Record<'a>>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Record<'a> {
    fields: BTreeMap<&'a str, &'a str>,
}

impl<'a> Shown<'a> {
    /// The records of this id in an answer. Lines that are no record of a job are passed over.
    pub(crate) fn read(answer: &'a str, id: &str) -> Self {
        let mut records = vec![Record::default()];
        for line in answer.lines() {
            let line = line.trim();
            if line.starts_with("JobId=") {
                records.push(Record::default());
            }
            if let Some(record) = records.last_mut() {
                record.read_line(line);
            }
        }
        records.retain(|record| record.get("JobState").is_some());
        let is_part =
            |record: &Record<'_>| ["JobId", "ArrayJobId", "HetJobId"].iter().any(|key| record.get(key) == Some(id));
        if records.iter().any(is_part) {
            records.retain(is_part);
        } else {
            // Without a number it is the only one there is.
            records.truncate(1);
        }
        Self { records }
    }

    /// Its status: it runs while any part of it does. None where there is no state at all.
    pub(crate) fn status(&self) -> Option<AllocationStatus> {
        self.records.iter().filter_map(Record::status).min_by_key(|status| match status {
            AllocationStatus::Running { .. } => 0,
            AllocationStatus::Unclear { .. } => 1,
            AllocationStatus::Queued { .. } => 2,
            AllocationStatus::Ended(end) if end.cause.is_failure() => 3,
            AllocationStatus::Ended(_) => 4,
        })
    }

    /// Whether it is the job that was submitted from this directory, as far as the answer tells.
    pub(crate) fn is_of(&self, directory: Option<&Path>) -> bool {
        let Some(directory) = directory else { return true };
        self.records.iter().all(|record| belongs(directory, record.get("WorkDir"), record.get("Command")))
    }
}

impl<'a> Record<'a> {
    fn status(&self) -> Option<AllocationStatus> {
        let state = self.get("JobState").filter(|state| !state.is_empty())?;
        let reason = self.get("Reason").filter(|reason| !is_nothing(reason));
        let time = |key| self.get(key).and_then(timestamp);
        let may_queue = self.get("Requeue") != Some("0");
        let end = |cause, may_return| {
            let error = is_bad(cause).then(|| self.error(state, reason));
            AllocationStatus::Ended(AllocationEnd {
                cause,
                error,
                started: time("StartTime"),
                ended: time("EndTime"),
                may_return,
            })
        };
        Some(match slurm_state(state) {
            SlurmState::Waiting => AllocationStatus::Queued { reason: reason.map(str::to_owned) },
            SlurmState::Alive => AllocationStatus::Running { started: time("StartTime") },
            SlurmState::Ended(cause) => end(cause, false),
            SlurmState::MayReturn(cause) => end(cause, may_queue),
            SlurmState::Other => AllocationStatus::Unclear { state: state.to_owned() },
        })
    }

    fn error(&self, state: &str, reason: Option<&str>) -> String {
        let mut error = state.to_owned();
        if let Some(reason) = reason {
            error += &format!(", {reason}");
        }
        match self.get("ExitCode").and_then(|code| code.split_once(':')) {
            Some((code, "0")) if code != "0" => error += &format!(", exit code {code}"),
            Some((_, signal)) if signal != "0" => error += &format!(", signal {signal}"),
            _ => {}
        }
        error
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.fields.get(key).copied()
    }

    fn read_line(&mut self, line: &'a str) {
        if let Some((key, value)) = line.split_once('=')
            && LONG_KEYS.contains(&key)
        {
            self.fields.entry(key).or_insert(value);
            return;
        }
        let starts: Vec<usize> = starts(line).collect();
        for (n, start) in starts.iter().enumerate() {
            let end = starts.get(n + 1).copied().unwrap_or(line.len());
            if let Some((key, value)) = line.get(*start..end).and_then(|field| field.split_once('=')) {
                self.fields.entry(key).or_insert(value.trim());
            }
        }
    }
}

/// Whether a job with this working directory and command was submitted from `directory`. What Slurm does not say is
/// no evidence.
pub(crate) fn belongs(directory: &Path, work_dir: Option<&str>, command: Option<&str>) -> bool {
    if work_dir.is_none_or(is_nothing) && command.is_none_or(is_nothing) {
        return true;
    }
    // The working directory has no links any more; the command is as it was given.
    let real = directory.canonicalize();
    let is_here = work_dir.is_some_and(|dir| Path::new(dir) == directory || real.is_ok_and(|it| Path::new(dir) == it));
    is_here || command.is_some_and(|command| Path::new(command).parent() == Some(directory))
}

/// Where known keys begin: at the begin of the line or behind a blank.
fn starts(line: &str) -> impl Iterator<Item = usize> {
    let words = line.split(' ').scan(0, |at, word| {
        let start = *at;
        *at += word.len() + 1;
        Some((start, word))
    });
    words.filter(|(_, word)| word.split_once('=').is_some_and(|(key, _)| KEYS.contains(&key))).map(|(at, _)| at)
}

fn is_bad(cause: EndCause) -> bool {
    cause.is_failure()
}

fn is_nothing(value: &str) -> bool {
    matches!(value, "" | "None" | "(null)" | "N/A" | "Unknown")
}
