use hq_core::{CrashLimit, JobDetail, JobInfo, Pin, Profile, ProgramSpec, Span, Submit};
use serde_json::{Map, Value, json};

use super::{
    Body, Programs, TaskRow, body, final_paths,
    job_info::completed,
    program::{Paths, common_paths, lossy},
    requests::requests_json,
    state::task_state_json,
};
use crate::output::{JsonStream, rfc3339};

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

/// Begins a job with all it is made of; its tasks come next, and the end of their array and of the object.
pub(crate) fn begin_job_json(detail: &JobDetail, json: &mut JsonStream<'_>) -> anyhow::Result<()> {
    json.object()?;
    json.entry("info", &job_info_json(&detail.info))?;
    json.entry("max_fails", &detail.info.spec.max_fails)?;
    json.entry("started_at", &rfc3339(detail.info.submitted))?;
    json.entry("finished_at", &completed(&detail.info).map(rfc3339))?;
    json.key("submits")?;
    json.array()?;
    for info in &detail.submits {
        submit_json(detail, &info.submit, json)?;
    }
    json.close()?;
    json.key("tasks")?;
    json.array()
}

/// A task. One that has not started has an id and a state only.
pub(crate) fn task_json(programs: &Programs<'_>, row: &TaskRow<'_>) -> Value {
    let detail = programs.detail();
    let mut task = Map::new();
    task.insert("id".to_owned(), row.number.0.into());
    task.insert("state".to_owned(), task_state_json(row.state).into());
    let Some(info) = row.info else { return task.into() };
    if let Some(started) = info.started {
        if let Some(spec) = programs.of(row.number) {
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
    if let Some(delay) = &info.delay {
        let retry = json!({ "at": rfc3339(delay.until), "count": delay.retries, "error": delay.error });
        task.insert("retry".to_owned(), retry);
    }
    task.into()
}

fn submit_json(detail: &JobDetail, submit: &Submit, json: &mut JsonStream<'_>) -> anyhow::Result<()> {
    let body = body(submit);
    json.object()?;
    match (&body, submit.profiles.first()) {
        (Body::Array(spec) | Body::Template(spec, _), Some(profile)) => {
            let paths = common_paths(spec, detail.info.id, &detail.server_uid);
            json.entry("array", &description(spec, paths, profile))?;
        }
        (_, profile) => {
            json.key("graph")?;
            json.array()?;
            let task = |index| {
                let spec = body.program(submit, index)?;
                Some(description(&spec, Paths::as_given(&spec), submit.profile(index)))
            };
            let count = if profile.is_some() { submit.ids.count() } else { 0 };
            (0..count).map_while(task).try_for_each(|task| json.value(&task))?;
            json.close()?;
        }
    }
    json.close()
}

/// What a task is.
fn description(spec: &ProgramSpec, paths: Paths, profile: &Profile) -> Value {
    let env: Map<String, Value> =
        spec.env.iter().map(|(name, value)| (lossy(name), Value::from(lossy(value)))).collect();
    let mut task = json!({
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
    });
    if !profile.retry.is_empty() {
        task["retry"] = profile.retry.iter().map(ToString::to_string).collect();
    }
    task
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;
    use crate::{
        testing::{golden, samples},
        view::{TaskFilter, task_rows},
    };

    fn pretty(value: &impl Serialize) -> String {
        serde_json::to_string_pretty(value).expect("JSON") + "\n"
    }

    fn whole(detail: &JobDetail) -> String {
        let mut text = Vec::new();
        let mut json = JsonStream::new(|bytes| {
            text.extend_from_slice(bytes);
            Ok(())
        });
        begin_job_json(detail, &mut json).expect("written");
        let rows = task_rows(detail, &TaskFilter::default());
        let programs = Programs::new(detail);
        rows.for_each(|row| json.value(&task_json(&programs, &row)).expect("written"));
        json.end().expect("written");
        String::from_utf8(text).expect("UTF-8")
    }

    #[test]
    fn documents() {
        let jobs: Vec<Value> = samples::jobs().iter().map(job_info_json).collect();
        golden("job_list.json", &pretty(&jobs));
        golden("job_info_array.json", &whole(&samples::running_array()));
        golden("job_info_failed.json", &whole(&samples::failed_job()));
        golden("job_info_graph.json", &whole(&samples::graph_job()));
    }

    #[test]
    fn a_waiting_task_has_id_and_state_only() {
        let detail = samples::running_array();
        let row = task_rows(&detail, &TaskFilter::default()).last().expect("a task");
        assert_eq!(task_json(&Programs::new(&detail), &row), json!({"id": 19, "state": "waiting"}));
    }
}
