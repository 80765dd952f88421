use std::collections::BTreeSet;

use hq_core::{HardwareState, ResourceKind, Share, WallTime, WorkerInfo, WorkerRuntime};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::Color,
};

use super::{
    super::model::{Model, load_of, window},
    chart::{Curve, chart},
    frame::clock_of,
    pane::{entries, nothing, pane},
    table::{Field, Lines, height, plain},
};
use crate::{
    output::{makespan, size},
    view::{resource_summary, worker_state},
};

/// Workers, and all about one of them.
pub(super) fn workers(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let curves = if area.height < 14 { 0 } else { area.height * 3 / 10 };
    let about = if area.height < 10 { 0 } else { area.height * 4 / 10 };
    let rows = [Constraint::Length(curves), Constraint::Min(0), Constraint::Length(about)];
    let [top, middle, bottom] = Layout::vertical(rows).areas(area);
    connected(model, frame, top);
    list(model, frame, middle);
    let three = [Constraint::Percentage(34), Constraint::Percentage(33), Constraint::Min(0)];
    let [left, center, right] = Layout::horizontal(three).areas(bottom);
    if about > 0 {
        usage(model, frame, left);
        tasks(model, frame, center);
        configuration(model, frame, right);
    }
}

fn connected(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    if area.height == 0 {
        return;
    }
    let count = |at: WallTime| {
        let there = |worker: &&WorkerInfo| worker.started <= at && worker.ended.is_none_or(|(end, _)| at < end);
        Some(model.workers.values().filter(there).count() as u64)
    };
    chart(frame, area, model, "Connected", &[Curve::over(&model.timeline, "workers", Color::Green, count)], None);
}

fn list(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let inner = pane(frame, area, "Workers", true);
    if model.workers.is_empty() {
        return nothing(frame, inner, "no workers");
    }
    let chosen = model.workers.keys().position(|id| Some(*id) == model.worker).unwrap_or(0) as u64;
    let shown = window(model.workers.len() as u64, chosen, height(inner));
    let lines = model.workers.values().skip(shown.start as usize).take((shown.end - shown.start) as usize);
    let rows = lines.map(|line| (worker_line(model, line), Some(line.id) == model.worker)).collect();
    let columns =
        vec![("ID", 6, 0), ("Hostname", 10, 1), ("Status", 18, 3), ("Running", 7, 2), ("CPU", 4, 4), ("Memory", 6, 5)];
    Lines { columns, rows, colors: model.colors }.draw(frame, inner);
}

fn worker_line(model: &Model, line: &WorkerInfo) -> Vec<Field> {
    let color = if line.ended.is_some() { Color::Red } else { Color::Green };
    let running = match line.runtime.filter(|_| line.ended.is_none()) {
        Some(WorkerRuntime::Single { running, .. }) => running.to_string(),
        Some(WorkerRuntime::Gang { main: true }) => "1".to_owned(),
        Some(WorkerRuntime::Gang { main: false }) => "part of 1".to_owned(),
        None => String::new(),
    };
    let load = model.hardware.get(&line.id).filter(|_| line.ended.is_none()).map(|state| load_of(state));
    vec![
        plain(line.id),
        plain(&line.config.hostname),
        (worker_state(line).to_owned(), Some(color)),
        plain(running),
        plain(load.map(|load| percent(load.cpu)).unwrap_or_default()),
        plain(load.map(|load| percent(load.memory)).unwrap_or_default()),
    ]
}

fn percent(share: Share) -> String {
    format!("{:3}%", share.0 / 100)
}

fn usage(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let known = model.worker.and_then(|id| Some((model.hardware.get(&id)?, model.history.of_worker(id)?)));
    let Some((state, curve)) = known else {
        let inner = pane(frame, area, "Machine", false);
        return nothing(frame, inner, "unknown: see --overview-interval of workers");
    };
    let rows = [Constraint::Min(0), Constraint::Length(area.height.min(5))];
    let [top, bottom] = Layout::vertical(rows).areas(area);
    let cpu =
        Curve::over(&model.timeline, "cpu", Color::Yellow, |at| curve.at(at).map(|load| u64::from(load.cpu.0) / 100));
    let memory = Curve::over(&model.timeline, "memory", Color::Cyan, |at| {
        curve.at(at).map(|load| u64::from(load.memory.0) / 100)
    });
    chart(frame, top, model, "%", &[cpu, memory], Some(100));
    let inner = pane(frame, bottom, "Machine", false);
    entries(frame, inner, &cpus(model, state));
}

/// Means over the cpus of the machine and over those that the worker has.
fn cpus(model: &Model, state: &HardwareState) -> Vec<(&'static str, String)> {
    let mean = |shares: &[Share]| {
        let sum: u64 = shares.iter().map(|share| u64::from(share.0)).sum();
        format!("{} of {}", percent(Share::of(sum, 10_000 * shares.len() as u64)), shares.len())
    };
    let mut lines = vec![("all cpus", mean(&state.cpus))];
    let managed = model.worker.and_then(|id| Some(managed_cpus(model.workers.get(&id)?)));
    if let Some(managed) = managed.filter(|managed| !managed.is_empty()) {
        let own = state.cpus.iter().enumerate().filter(|(cpu, _)| managed.contains(cpu)).map(|(_, share)| *share);
        lines.push(("its cpus", mean(&own.collect::<Vec<_>>())));
    }
    let used = state.memory_total.saturating_sub(state.memory_free);
    lines.push(("memory", format!("{} of {}", size(used), size(state.memory_total))));
    lines
}

/// Numbers of the cpus that a worker gives to tasks.
fn managed_cpus(worker: &WorkerInfo) -> BTreeSet<usize> {
    let Some(cpus) = worker.config.resources.get("cpus") else { return BTreeSet::new() };
    let number = |label: &String| label.parse().ok();
    match &cpus.kind {
        ResourceKind::List(labels) => labels.iter().filter_map(number).collect(),
        ResourceKind::Groups(groups) => groups.iter().flatten().filter_map(number).collect(),
        ResourceKind::Range { start, end } => {
            (*start..=*end).take(1 << 16).filter_map(|cpu| usize::try_from(cpu).ok()).collect()
        }
        ResourceKind::Sum(_) => BTreeSet::new(),
    }
}

fn tasks(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let inner = pane(frame, area, "Tasks on it", false);
    let now = model.moment().unwrap_or_else(|| model.timeline.last());
    let rows = model.running.iter().take(usize::from(height(inner))).map(|task| {
        let started = task.info.started;
        let span = started.map(|start| makespan(start, now)).unwrap_or_default();
        (vec![plain(format!("{}@{}", task.job, task.info.number)), plain(clock_of(model, started)), plain(span)], false)
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return nothing(frame, inner, "none");
    }
    let columns = vec![("Task", 8, 1), ("Start", 8, 2), ("Makespan", 8, 0)];
    Lines { columns, rows, colors: model.colors }.draw(frame, inner);
}

fn configuration(model: &Model, frame: &mut Frame<'_>, area: Rect) {
    let title = model.worker.map_or_else(|| "Worker".to_owned(), |worker| format!("Worker {worker}"));
    let inner = pane(frame, area, &title, false);
    let Some(worker) = model.worker.and_then(|id| model.workers.get(&id)) else { return nothing(frame, inner, "") };
    let config = &worker.config;
    let batch = config.allocation.as_ref().map(|job| format!("{} {}", job.manager.to_uppercase(), job.id));
    let none = || "none".to_owned();
    let lines = [
        ("Resources", resource_summary(&config.resources, false).join("; ")),
        ("Since", clock_of(model, Some(worker.started))),
        ("Until", worker.ended.map(|(at, _)| clock_of(model, Some(at))).unwrap_or_default()),
        ("Group", config.group.clone()),
        ("Batch job", batch.unwrap_or_else(none)),
        ("Time limit", config.time_limit.map_or_else(none, |limit| limit.to_string())),
        ("Idle timeout", config.idle_timeout.map_or_else(none, |limit| limit.to_string())),
        ("Heartbeat", config.heartbeat.to_string()),
        ("Workdir", config.work_dir.clone()),
        ("Pid", config.pid.to_string()),
    ];
    entries(frame, inner, &lines);
}
