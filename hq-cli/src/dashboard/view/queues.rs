use hq_core::{AllocationInfo, AllocationState, WallTime};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::Color,
};

use super::{
    super::model::{Focus, Model, window},
    chart::{Curve, chart},
    frame::clock_of,
    pane::{entries, nothing, pane},
    table::{Field, Lines, height, plain},
};
use crate::view::resource_summary;

/// Queues, and all about one of them.
pub(super) fn queues(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let curves = if area.height < 14 { 0 } else { area.height * 3 / 10 };
    let [top, rest] = Layout::vertical([Constraint::Length(curves), Constraint::Min(0)]).areas(area);
    over_time(model, frame, top);
    let [left, right] = Layout::horizontal([Constraint::Percentage(45), Constraint::Min(0)]).areas(rest);
    let about = if left.height < 10 { 0 } else { left.height / 2 };
    let [upper, lower] = Layout::vertical([Constraint::Min(0), Constraint::Length(about)]).areas(left);
    list(model, frame, upper);
    if about > 0 {
        parameters(model, frame, lower);
    }
    allocations(model, frame, right);
}

fn over_time(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    if area.height == 0 {
        return;
    }
    let count = |is_in: fn(&AllocationInfo, WallTime) -> bool| {
        move |at: WallTime| Some(model.allocations.iter().filter(|one| is_in(one, at)).count() as u64)
    };
    let queued = count(|one, at| one.queued <= at && [one.started, one.ended].iter().flatten().all(|end| at < *end));
    let running = count(|one, at| one.started.is_some_and(|start| start <= at) && one.ended.is_none_or(|end| at < end));
    let curves = [
        Curve::over(&model.timeline, "queued", Color::Cyan, queued),
        Curve::over(&model.timeline, "running", Color::Yellow, running),
    ];
    chart(frame, area, model, "Allocations", &curves, None);
}

fn list(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let inner = pane(frame, area, "Queues", model.focus == Focus::List);
    if model.queues.is_empty() {
        return nothing(frame, inner, "no queues: see `hq alloc add --help`");
    }
    let chosen = model.queues.keys().position(|id| Some(*id) == model.queue).unwrap_or(0) as u64;
    let shown = window(model.queues.len() as u64, chosen, height(inner));
    let lines = model.queues.iter().skip(shown.start as usize).take((shown.end - shown.start) as usize);
    let rows = lines.map(|(id, line)| {
        let fields = vec![
            plain(id),
            plain(line.allocations.map_or_else(String::new, |count| count.to_string())),
            plain(clock_of(model, line.created)),
            plain(clock_of(model, line.removed)),
        ];
        (fields, Some(*id) == model.queue)
    });
    let columns = vec![("ID", 5, 0), ("#Allocations", 12, 2), ("Created", 8, 1), ("Removed", 8, 3)];
    Lines { columns, rows: rows.collect(), colors: model.colors }.draw(frame, inner);
}

fn parameters(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let title = model.queue.map_or_else(|| "Queue".to_owned(), |queue| format!("Queue {queue}"));
    let inner = pane(frame, area, &title, false);
    let Some(info) = model.queue.and_then(|queue| model.queues.get(&queue)?.info.as_ref()) else {
        return nothing(frame, inner, "");
    };
    let spec = &info.spec;
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "none".to_owned());
    let lines = [
        ("Manager", spec.backend.to_uppercase()),
        ("State", if info.paused.is_some() { "PAUSED" } else { "ACTIVE" }.to_owned()),
        ("Name", spec.name.clone().unwrap_or_default()),
        ("Backlog", spec.backlog.to_string()),
        ("Workers per allocation", spec.workers_per_allocation.to_string()),
        ("Workers at most", or_none(spec.max_workers.map(|max| max.to_string()))),
        ("Time limit", or_none(spec.time_limit.map(|limit| limit.to_string()))),
        ("Worker resources", or_none(info.known.as_ref().map(|known| resource_summary(known, false).join("; ")))),
        ("Arguments", spec.submit_args.join(" ")),
    ];
    entries(frame, inner, &lines);
}

fn allocations(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let inner = pane(frame, area, "Allocations", model.focus == Focus::Parts);
    if model.allocations.is_empty() {
        return nothing(frame, inner, "none");
    }
    let shown = window(model.allocations.len() as u64, model.allocation, height(inner));
    let lines = model.allocations.iter().zip(0_u64..).skip(shown.start as usize);
    let lines = lines.take((shown.end - shown.start) as usize);
    let rows = lines.map(|(one, i)| (allocation_line(model, one), i == model.allocation)).collect();
    let columns =
        vec![("ID", 8, 1), ("Status", 8, 0), ("Workers", 7, 5), ("Queued", 8, 2), ("Start", 8, 3), ("Finish", 8, 4)];
    Lines { columns, rows, colors: model.colors }.draw(frame, inner);
}

fn allocation_line(model: &Model, one: &AllocationInfo) -> Vec<Field> {
    let (state, color) = match one.state {
        AllocationState::Queued => ("QUEUED", Color::Cyan),
        AllocationState::Running => ("RUNNING", Color::Yellow),
        AllocationState::Finished => ("FINISHED", Color::Green),
        AllocationState::Failed => ("FAILED", Color::Red),
    };
    vec![
        plain(&one.id),
        (state.to_owned(), Some(color)),
        plain(one.workers),
        plain(clock_of(model, Some(one.queued))),
        plain(clock_of(model, one.started)),
        plain(clock_of(model, one.ended)),
    ]
}
