use std::{collections::BTreeMap, path::Path};

use hq_backend::{
    AllocationEnd, AllocationStatus, EndCause,
    parse::{ctime, pbs_job_of},
};
use serde_json::Value;

/// Substate of a job that was deleted; its exit status may be 0.
const DELETED: &str = "91";
/// Exit status of a job that used more than it had asked for, mostly time.
const OVER_LIMIT: &str = "-29";

/// The fields of a job that have a single value, as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Job {
    fields: BTreeMap<String, String>,
}

/// What a whole answer in JSON says.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    jobs: BTreeMap<String, Job>,
}

impl Jobs {
    /// Reads `qstat -F json`. None where it is no JSON; lines before it are passed over.
    pub(crate) fn read(answer: &str) -> Option<Self> {
        let object = answer.get(answer.find('{')?..)?;
        // Of a key that is there twice the last one counts; what stands behind the object is no matter.
        let value: Value = serde_json::Deserializer::from_str(object).into_iter().next()?.ok()?;
        let jobs = value.get("Jobs").and_then(Value::as_object);
        let read = |(id, job): (&String, &Value)| Some((id.clone(), Job::of_json(job)?));
        Some(Self { jobs: jobs.into_iter().flatten().filter_map(read).collect() })
    }

    /// The job of this id, also where the server gives the id with or without its own name.
    pub(crate) fn get(&self, id: &str) -> Option<&Job> {
        let number = |id: &str| pbs_job_of(id).and_then(|id| id.split('.').next().map(str::to_owned));
        let same = |known: &&String| number(known).is_some() && number(known) == number(id);
        let alike = || self.jobs.keys().find(same).and_then(|known| self.jobs.get(known));
        self.jobs.get(id).or_else(alike)
    }
}

impl Job {
    fn of_json(job: &Value) -> Option<Self> {
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => None,
        };
        let fields = job.as_object()?.iter().filter_map(|(key, value)| Some((key.clone(), text(value)?)));
        Some(Self { fields: fields.collect() })
    }

    /// Reads `qstat -f` of one job: `key = value` behind four blanks, long values going on behind a tab. None where there
    /// is no state.
    pub(crate) fn of_text(answer: &str) -> Option<Self> {
        let mut fields = BTreeMap::<String, String>::new();
        let mut last: Option<String> = None;
        let mut is_inside = false;
        for line in answer.lines() {
            if line.starts_with("Job Id:") {
                if is_inside {
                    break;
                }
                is_inside = true;
            } else if let Some(more) = line.strip_prefix('\t').filter(|_| is_inside) {
                if let Some(value) = last.as_ref().and_then(|key| fields.get_mut(key)) {
                    value.push_str(more);
                }
            } else if let Some((key, value)) = line.trim_start().split_once(" = ").filter(|_| is_inside) {
                fields.entry(key.to_owned()).or_insert_with(|| value.to_owned());
                last = Some(key.to_owned());
            }
        }
        fields.contains_key("job_state").then_some(Self { fields })
    }

    /// Its status. None where there is no state at all.
    pub(crate) fn status(&self) -> Option<AllocationStatus> {
        let state = self.get("job_state").map(str::trim).filter(|state| !state.is_empty())?;
        Some(match state {
            "Q" | "H" | "W" | "T" => AllocationStatus::Queued { reason: self.get("comment").map(str::to_owned) },
            "R" | "E" | "S" | "U" | "B" | "M" => AllocationStatus::Running { started: self.time("stime") },
            "F" | "X" | "C" => AllocationStatus::Ended(self.end()),
            _ => AllocationStatus::Unclear { state: state.to_owned() },
        })
    }

    /// Whether its outputs lie in this directory.
    pub(crate) fn is_of(&self, directory: &Path) -> bool {
        let real = directory.canonicalize();
        ["Output_Path", "Error_Path"].iter().filter_map(|key| self.get(key)).any(|path| {
            // Before it stands the host.
            let path =
                Path::new(path.split_once(":/").map_or(path, |(host, _)| path.get(host.len() + 1..).unwrap_or(path)));
            path.parent().is_some_and(|dir| dir == directory || real.as_ref().is_ok_and(|real| dir == real))
        })
    }

    fn end(&self) -> AllocationEnd {
        let exit = self.get("Exit_status").map(str::trim);
        let (cause, error) = match (exit, self.get("substate")) {
            (_, Some(DELETED)) => (EndCause::Canceled, Some("it was deleted".to_owned())),
            (Some("0"), _) => (EndCause::Finished, None),
            (Some(OVER_LIMIT), _) => (EndCause::TimeLimit, None),
            (Some(code), _) => (EndCause::Failed, Some(format!("exit status {code}"))),
            (None, _) => (EndCause::Failed, Some("it ended without an exit status".to_owned())),
        };
        let error = error.map(|error| match self.get("comment") {
            Some(comment) => format!("{error}: {comment}"),
            None => error,
        });
        AllocationEnd { cause, error, started: self.time("stime"), ended: self.time("mtime"), may_return: false }
    }

    fn time(&self, key: &str) -> Option<hq_backend::UnixTime> {
        self.get(key).and_then(ctime)
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.fields.get(key).map(String::as_str)
    }
}
