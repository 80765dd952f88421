use hq_core::{CrashLimit, JobDetail, JobInfo, Pin, Profile, ProgramSpec, Span, Submit};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::{
    Body, TaskRow, body, final_paths, locate,
    program::{Paths, common_paths, lossy},
    requests::requests_json,
    state::task_state_json,
    task_rows,
};
use crate::output::rfc3339;

/// A job in a line.
pub(crate) fn job_info_json(job: &JobInfo) -> Value {
    let counts = &job.counts;
    json!({
        "id": job.id,
        "name": job.spec.name,
        "task_count": counts.total(),
        "is_open": job.is_open,
        "task_stats": {
            "running": counts.running,
            "finished": counts.finished,
            "failed": counts.failed,
            "canceled": counts.canceled,
            "aborted": counts.aborted,
            "waiting": counts.waiting,
        },
        "cancel_reason": job.cancel_reason,
    })
}

/// A job with all it is made of; its tasks are written one by one.
pub(crate) fn job_detail_json(detail: &JobDetail) -> impl Serialize + '_ {
    #[derive(Serialize)]
    struct Job<'a> {
        info: Value,
        max_fails: Option<u32>,
        started_at: String,
        finished_at: Option<String>,
        submits: Vec<Value>,
        tasks: Tasks<'a>,
    }
    Job {
        info: job_info_json(&detail.info),
        max_fails: detail.info.spec.max_fails,
        started_at: rfc3339(detail.info.submitted),
        finished_at: detail.info.ended.map(rfc3339),
        submits: detail.submits.iter().map(|info| submit_json(detail, &info.submit)).collect(),
        tasks: Tasks(detail),
    }
}

struct Tasks<'a>(&'a JobDetail);

impl Serialize for Tasks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(task_rows(self.0, |_, _| true).iter().map(|row| task_json(self.0, row)))
    }
}

/// A task. One that has not started has an id and a state only.
pub(crate) fn task_json(detail: &JobDetail, row: &TaskRow<'_>) -> Value {
    let mut task = Map::new();
    task.insert("id".to_owned(), row.number.0.into());
    task.insert("state".to_owned(), task_state_json(row.state).into());
    let Some(info) = row.info else { return task.into() };
    if let Some(started) = info.started {
        if let Some((submit, index)) = locate(detail, row.number)
            && let Some(spec) = body(submit).program(submit, index)
        {
            let paths = final_paths(&spec, detail.info.id, &detail.server_uid, row.number, info.instance);
            task.insert("cwd".to_owned(), lossy(&paths.cwd).into());
            task.insert("stdout".to_owned(), paths.stdout.json().into());
            task.insert("stderr".to_owned(), paths.stderr.json().into());
        }
        task.insert("started_at".to_owned(), rfc3339(started).into());
        match &info.workers[..] {
            [one] => task.insert("worker".to_owned(), one.0.into()),
            many => task.insert("workers".to_owned(), many.iter().map(|id| id.0).collect()),
        };
    }
    if let Some(ended) = info.ended {
        task.insert("finished_at".to_owned(), rfc3339(ended).into());
    }
    if let Some(error) = &info.error {
        task.insert("error".to_owned(), error.as_str().into());
    }
    task.into()
}

fn submit_json(detail: &JobDetail, submit: &Submit) -> Value {
    let Some(profile) = submit.profiles.first() else { return json!({ "graph": [] }) };
    match body(submit) {
        Body::Array(spec) | Body::Template(spec, _) => {
            let paths = common_paths(&spec, detail.info.id, &detail.server_uid);
            json!({ "array": description(&spec, paths, profile) })
        }
        body @ (Body::Graph | Body::Other) => {
            let task = |index| {
                let spec = body.program(submit, index)?;
                Some(description(&spec, Paths::as_given(&spec), submit.profile(index)))
            };
            json!({ "graph": (0..submit.ids.count()).map_while(task).collect::<Vec<_>>() })
        }
    }
}

/// What a task is.
fn description(spec: &ProgramSpec, paths: Paths, profile: &Profile) -> Value {
    let env: Map<String, Value> =
        spec.env.iter().map(|(name, value)| (lossy(name), Value::from(lossy(value)))).collect();
    json!({
        "program": {
            "args": spec.args.iter().map(|arg| lossy(arg)).collect::<Vec<_>>(),
            "env": env,
            "cwd": lossy(&paths.cwd),
            "stdout": paths.stdout.json(),
            "stderr": paths.stderr.json(),
        },
        "resources": requests_json(profile),
        "pin_mode": match spec.pin {
            Pin::None => None,
            Pin::Taskset => Some("taskset"),
            Pin::OpenMp => Some("openmp"),
        },
        "priority": profile.priority,
        "time_limit": profile.time_limit.map(Span::as_secs_f64),
        "task_dir": spec.task_dir,
        "crash_limit": match profile.crash_limit {
            CrashLimit::Limit(n) => json!(n),
            other @ (CrashLimit::NeverRestart | CrashLimit::Unlimited) => json!(other.to_string()),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{golden, samples};

    fn pretty(value: &impl Serialize) -> String {
        serde_json::to_string_pretty(value).expect("JSON") + "\n"
    }

    #[test]
    fn documents() {
        let jobs: Vec<Value> = samples::jobs().iter().map(job_info_json).collect();
        golden("job_list.json", &pretty(&jobs));
        golden("job_info_array.json", &pretty(&job_detail_json(&samples::running_array())));
        golden("job_info_failed.json", &pretty(&job_detail_json(&samples::failed_job())));
        golden("job_info_graph.json", &pretty(&job_detail_json(&samples::graph_job())));
    }

    #[test]
    fn a_waiting_task_has_id_and_state_only() {
        let detail = samples::running_array();
        let rows = task_rows(&detail, |number, _| number.0 == 19);
        assert_eq!(task_json(&detail, &rows[0]), json!({"id": 19, "state": "waiting"}));
    }
}
