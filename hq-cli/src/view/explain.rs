use hq_core::{
    Amount, Explanation, IdList, JobId, Need, Quantity, Requirement, Span, TaskNumber, WorkerFit, idlist::Run,
};
use serde_json::{Value, json};

use super::why::delayed;
use crate::output::{Align, Cell, Table};

/// What callers compare to the byte: whether the task is ready, which workers could run it if they had nothing else to
/// do, and what it needs of each.
pub(crate) fn explanation(job: JobId, task: TaskNumber, explanation: &Explanation) -> (Vec<String>, Option<Table>) {
    let mut lines = vec![readiness(job, task, explanation), runnable(explanation)];
    if explanation.delay.is_some() {
        lines.push(format!("It {}", delayed(explanation.delay.as_ref())));
    }
    (lines, (!explanation.workers.is_empty()).then(|| table(explanation)))
}

fn readiness(job: JobId, task: TaskNumber, explanation: &Explanation) -> String {
    let task = format!("Task {job}@{task}");
    match (explanation.dependencies, explanation.unmet.len() + explanation.jobs.len()) {
        (0, _) => format!("{task} is ready to run because it has no dependencies."),
        (1, 0) => format!("{task} is ready to run because its dependency is finished."),
        (all, 0) => format!("{task} is ready to run because all {all} dependencies are finished."),
        (all, unmet) => {
            format!("{task} is not ready to run, because {unmet}/{all} dependencies are not finished.")
        }
    }
}

fn runnable(explanation: &Explanation) -> String {
    let able = explanation.workers.iter().filter(|fit| fit.could_ever());
    let ids: Vec<u32> = able.map(|fit| fit.worker.0).collect();
    match ids.len() {
        0 => "There is no worker where the task can run.".to_owned(),
        1 => format!("The task can run on 1 worker: {}", runs(&ids)),
        n => format!("The task can run on {n} workers: {}", runs(&ids)),
    }
}

/// `1,3-5`
fn runs(sorted: &[u32]) -> String {
    let runs: Vec<Run> = sorted
        .chunk_by(|a, b| a.checked_add(1) == Some(*b))
        .filter_map(|run| Some(Run { start: *run.first()?, count: run.len() as u32, step: 1 }))
        .collect();
    IdList::from(runs).to_string()
}

fn table(explanation: &Explanation) -> Table {
    let columns = ["Worker Id", "Runnable", "Variant", "Type", "Provides", "Request"];
    let mut table = Table::horizontal(&columns.map(|name| (name, Align::Left)));
    for fit in &explanation.workers {
        for (i, variant) in fit.variants.iter().enumerate() {
            let lines: Vec<[String; 3]> = variant.requirements.iter().filter_map(line).collect();
            let column = |pick: usize| lines.iter().map(|line| line[pick].clone()).collect::<Cell>();
            let first = |text: String| if i == 0 { Cell::from(text) } else { Cell::default() };
            table.row(vec![
                first(fit.worker.to_string()),
                first(verdict(fit)),
                i.to_string().into(),
                column(0),
                column(1),
                column(2),
            ]);
        }
    }
    table
}

fn verdict(fit: &WorkerFit) -> String {
    let able = fit.variants.iter().filter(|variant| variant.could_ever()).count();
    match (fit.could_ever(), fit.variants.len()) {
        (false, _) => "No".to_owned(),
        (true, 1) => "Yes".to_owned(),
        (true, all) => format!("Yes ({able}/{all})"),
    }
}

/// Type, what the worker provides, what the task requests.
fn line(requirement: &Requirement) -> Option<[String; 3]> {
    Some(match &requirement.need {
        Need::Time { wanted, left } => {
            let left = left.map_or_else(|| "unknown".to_owned(), |left| whole_seconds(left).to_string());
            ["time".to_owned(), left, wanted.to_string()]
        }
        Need::Resource { resource, wanted, total, .. } => {
            let wanted = match wanted {
                Quantity::All => "all".to_owned(),
                Quantity::Amount(amount, _) => amount.to_string(),
            };
            [resource.to_string(), total.to_string(), wanted]
        }
        Need::Nodes { wanted, group, .. } => ["nodes".to_owned(), format!("group size {group}"), wanted.to_string()],
        // How busy a worker has to be depends on what else runs there, and this is about what it has in all.
        Need::Utilization { .. } => return None,
    })
}

/// Without what is beyond them.
pub(super) const fn whole_seconds(span: Span) -> Span {
    Span(span.0 - span.0 % 1_000_000)
}

/// The same for programs.
pub(crate) fn explanation_json(job: JobId, task: TaskNumber, explanation: &Explanation) -> Value {
    let worker = |fit: &WorkerFit| {
        let variant = |variant: &hq_core::VariantFit| variant.requirements.iter().filter_map(item).collect::<Value>();
        json!({ "worker_id": fit.worker, "variants": fit.variants.iter().map(variant).collect::<Value>() })
    };
    let mut told = json!({
        "n_task_deps": explanation.dependencies,
        "n_waiting_deps": explanation.unmet.len() + explanation.jobs.len(),
        "workers": explanation.workers.iter().map(worker).collect::<Value>(),
    });
    if let Some(delay) = &explanation.delay {
        told["retry"] = json!({ "after": span_json(delay.left), "count": delay.retries, "error": delay.error });
    }
    json!({ "task_id": { "job_id": job, "job_task_id": task }, "explanation": told })
}

fn item(requirement: &Requirement) -> Option<Value> {
    Some(match &requirement.need {
        Need::Time { wanted, left } => {
            json!({ "Time": { "min_time": span_json(*wanted), "remaining_time": left.map(span_json) } })
        }
        Need::Resource { resource, wanted, total, .. } => {
            // All of it is as much as the worker has.
            let wanted: Amount = match wanted {
                Quantity::All => *total,
                Quantity::Amount(amount, _) => *amount,
            };
            json!({ "Resources": {
                "resource": resource,
                "request_amount": wanted.parts(),
                "worker_amount": total.parts(),
            } })
        }
        Need::Nodes { wanted, group, .. } => json!({ "WorkerGroup": { "n_nodes": wanted, "group_size": group } }),
        Need::Utilization { .. } => return None,
    })
}

/// Seconds and the nanoseconds beyond them.
pub(super) fn span_json(span: Span) -> Value {
    json!({ "secs": span.0 / 1_000_000, "nanos": span.0 % 1_000_000 * 1_000 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{golden, samples};

    fn text(job: u32, task: u32, explained: &Explanation) -> String {
        let (lines, table) = explanation(JobId(job), TaskNumber(task), explained);
        lines.join("\n") + "\n" + &table.map(|table| table.draw(false)).unwrap_or_default()
    }

    #[test]
    fn texts() {
        let [time, gang, variants] = samples::explanations();
        golden("task_explain_time.txt", &text(3, 0, &time));
        golden("task_explain_gang.txt", &text(1, 0, &gang));
        golden("task_explain_variants.txt", &text(2, 7, &variants));
        let nobody = Explanation { workers: vec![], ..time };
        golden("task_explain_nobody.txt", &text(1, 0, &nobody));
    }

    #[test]
    fn json() {
        let [time, gang, variants] = samples::explanations();
        for (name, explained) in [("time", time), ("gang", gang), ("variants", variants)] {
            let json = explanation_json(JobId(3), TaskNumber(0), &explained);
            golden(&format!("task_explain_{name}.json"), &format!("{json:#}\n"));
        }
    }

    #[test]
    fn first_lines() {
        let [mut explained, ..] = samples::explanations();
        for (dependencies, unmet, expected) in [
            (0, "", "Task 1@2 is ready to run because it has no dependencies."),
            (2, "1", "Task 1@2 is not ready to run, because 1/2 dependencies are not finished."),
            (2, "0-1", "Task 1@2 is not ready to run, because 2/2 dependencies are not finished."),
            (1, "", "Task 1@2 is ready to run because its dependency is finished."),
            (3, "", "Task 1@2 is ready to run because all 3 dependencies are finished."),
        ] {
            explained.dependencies = dependencies;
            explained.unmet = if unmet.is_empty() { IdList::default() } else { IdList::parse(unmet).expect("ids") };
            assert_eq!(readiness(JobId(1), TaskNumber(2), &explained), expected);
        }
    }

    #[test]
    fn workers_are_shown_as_runs() {
        for (ids, expected) in [(&[1][..], "1"), (&[1, 2, 3, 4, 5], "1-5"), (&[1, 3], "1,3"), (&[1, 2, 9], "1-2,9")] {
            assert_eq!(runs(ids), expected);
        }
    }
}
