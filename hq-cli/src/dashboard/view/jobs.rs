use hq_core::{JobInfo, TaskCounts, TaskState};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
};

use super::{
    super::model::{Focus, Model, window},
    chart::{Curve, chart},
    frame::clock_of,
    pane::{entries, nothing, pane},
    style::{job, task},
    table::{Lines, height, plain},
};
use crate::{
    output::makespan,
    view::{
        TaskFilter, TaskRow, body, common_paths, locate, lossy, pin_label, redacted, redacted_words, request_lines,
        task_rows,
    },
};

/// Jobs, and all about one of them.
pub(super) fn jobs(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let [left, right] = Layout::horizontal([Constraint::Percentage(40), Constraint::Min(0)]).areas(area);
    list(model, frame, left);
    // Where there is little room, the tasks have all of it.
    let (curves, about) = match right.height {
        0..=11 => (0, 0),
        12..=17 => (6, 0),
        height => (height * 3 / 10, 9.min(height / 3)),
    };
    let rows = [Constraint::Length(curves), Constraint::Min(0), Constraint::Length(about)];
    let [top, middle, bottom] = Layout::vertical(rows).areas(right);
    counts(model, frame, top);
    tasks(model, frame, middle);
    details(model, frame, bottom);
}

fn list(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let inner = pane(frame, area, "Jobs", model.focus == Focus::List);
    if model.jobs.is_empty() {
        return nothing(frame, inner, "no jobs");
    }
    // The newest come first.
    let chosen = model.jobs.keys().rev().position(|id| Some(*id) == model.job).unwrap_or(0) as u64;
    let shown = window(model.jobs.len() as u64, chosen, height(inner));
    let lines = model.jobs.values().rev().skip(shown.start as usize).take((shown.end - shown.start) as usize);
    let rows = lines.map(|line| (job_line(line), Some(line.id) == model.job)).collect();
    let columns = vec![("Job ID", 6, 0), ("Name", 8, 1), ("State", 8, 2), ("Done", 4, 3)];
    Lines { columns, rows, colors: model.colors }.draw(frame, inner);
}

fn job_line(line: &JobInfo) -> Vec<(String, Option<ratatui::style::Color>)> {
    let open = if line.is_open { "*" } else { "" };
    let total = line.counts.total();
    let ended = total - line.counts.waiting - line.counts.running;
    let done = (u128::from(ended) * 100).checked_div(u128::from(total)).map(|done| format!("{done:3}%"));
    let state = line.state();
    vec![
        plain(format!("{open}{}", line.id)),
        plain(&line.spec.name),
        (state.label().to_owned(), Some(job(state))),
        plain(done.unwrap_or_default()),
    ]
}

fn counts(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    if area.height == 0 {
        return;
    }
    let Some(curve) = model.job.and_then(|job| model.history.of_job(job)) else {
        let inner = pane(frame, area, "Tasks over time", false);
        return nothing(frame, inner, "nothing yet");
    };
    let of = |state: TaskState| {
        let value = |counts: &TaskCounts| counts.of(state);
        Curve::over(&model.timeline, &state.label().to_lowercase(), task(state), |at| {
            curve.at(at.min(model.timeline.last())).map(value)
        })
    };
    let states = [TaskState::Running, TaskState::Finished, TaskState::Failed, TaskState::Canceled, TaskState::Aborted];
    chart(frame, area, model, "Tasks", &states.map(of), None);
}

fn tasks(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let place = model.ids.len().min(model.task.saturating_add(1));
    let title = match model.ids.is_empty() {
        true => "Tasks".to_owned(),
        false => format!("Tasks {place}/{}", model.ids.len()),
    };
    let inner = pane(frame, area, &title, model.focus == Focus::Parts);
    let Some(detail) = &model.detail else { return nothing(frame, inner, "") };
    let shown = window(model.ids.len(), model.task, height(inner));
    let first = model.ids.get(shown.start).unwrap_or(0);
    let all = task_rows(detail, &TaskFilter::default());
    let lines = all.skip_while(|row| row.number.0 < first).take((shown.end - shown.start) as usize);
    let chosen = model.task_number();
    let rows = lines.map(|row| (task_line(model, &row), Some(row.number) == chosen)).collect();
    let largest = model.ids.max().unwrap_or(0);
    let id_width = (largest.checked_ilog10().unwrap_or(0) as u16 + 1).max(7);
    let columns = vec![
        ("Task ID", id_width, 0),
        ("Worker", 6, 3),
        ("State", 8, 2),
        ("Start", 8, 4),
        ("End", 8, 5),
        ("Makespan", 9, 1),
    ];
    Lines { columns, rows, colors: model.colors }.draw(frame, inner);
}

fn task_line(model: &Model, row: &TaskRow<'_>) -> Vec<(String, Option<ratatui::style::Color>)> {
    let info = row.info.filter(|info| info.started.is_some());
    let workers: Vec<String> =
        info.map(|info| info.workers.iter().map(ToString::to_string).collect()).unwrap_or_default();
    let started = info.and_then(|info| info.started).filter(|_| row.state != TaskState::Waiting);
    let ended = info.and_then(|info| info.ended);
    let now = model.moment().unwrap_or_else(|| model.timeline.last());
    let span = started.map(|start| makespan(start, ended.unwrap_or(now)));
    vec![
        plain(row.number),
        plain(workers.join(",")),
        (row.state.label().to_owned(), Some(task(row.state))),
        plain(clock_of(model, started)),
        plain(clock_of(model, ended)),
        plain(span.unwrap_or_default()),
    ]
}

fn details(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    if area.height == 0 {
        return;
    }
    let title = model.job.map_or_else(|| "Job".to_owned(), |job| format!("Job {job}"));
    let inner = pane(frame, area, &title, false);
    let Some(detail) = &model.detail else { return nothing(frame, inner, "") };
    let task = model.task_number();
    // Of a graph each task has a program of its own.
    let found = task.and_then(|task| locate(detail, task)).or_else(|| Some((&*detail.submits.first()?.submit, 0)));
    let Some((submit, index)) = found else { return nothing(frame, inner, "no tasks were submitted") };
    let of_submit = body(submit);
    let kind = match &of_submit {
        crate::view::Body::Graph => "graph of tasks".to_owned(),
        crate::view::Body::Other => format!("tasks of kind {}", submit.kind),
        _ => format!("array of {} tasks", submit.ids.count()),
    };
    let mut lines = vec![("Type", kind)];
    if let Some(spec) = of_submit.program(submit, index) {
        let words = redacted_words(spec.args.iter().map(|word| lossy(word)));
        lines.push(("Command", words.join(" ")));
        lines.push(("Workdir", lossy(&common_paths(&spec, detail.info.id, &detail.server_uid).cwd)));
        lines.push(("Pin", pin_label(&spec).to_owned()));
        let env = spec.env.iter().map(|(name, value)| redacted(&format!("{}={}", lossy(name), lossy(value))));
        let env: Vec<String> = env.collect();
        if !env.is_empty() {
            lines.push(("Environment", env.join(" ")));
        }
    }
    let needs = request_lines(submit.profile(index)).into_iter().filter(|line| !line.is_empty());
    lines.insert(lines.len().min(4), ("Resources", needs.collect::<Vec<_>>().join("; ")));
    let error = task.and_then(|task| detail.tasks.iter().find(|info| info.number == task)?.error.as_deref());
    if let Some(error) = error {
        lines.insert(0, ("Error", error.replace('\n', " ")));
    }
    entries(frame, inner, &lines);
}
