use hq_core::{Amount, Tick};

use super::{
    draw::{Anchor, Drawing},
    scale::{TimeScale, round_up},
};
use crate::{
    policy::{Report, Usage},
    workload::Workload,
};

const HEIGHT: f64 = 92.0;
/// More steps than that are drawn as means of equal parts of the time.
const STEPS_MAX: usize = 2_000;

/// A resource over time, from `top`; returns where it ends.
pub(super) fn usage(drawing: &mut Drawing, scale: TimeScale, top: f64, usage: &Usage) -> f64 {
    let mean = usage.mean();
    let (name, percent) = (&usage.resource, mean * 100.0);
    let label = match usage.offered.len() {
        0 | 1 => format!("{name}: mean {percent:.1} % (dashed), peak {} of {}", usage.peak(), usage.total),
        _ => {
            format!("{name}: mean {percent:.1} % of what was there (dotted), peak {} of {}", usage.peak(), usage.total)
        }
    };
    let total = usage.total.to_string();
    let area = frame(drawing, scale, top, &label, ["0 %", "50 %", "100 %"], ["0", &total]);
    let y = |share: f64| area.1 - (area.1 - area.0) * share.clamp(0.0, 1.0);
    let whole = usage.total.parts().max(1) as f64;
    let share = |amount: Amount| amount.parts() as f64 / whole;
    let end = scale.x(usage.to);
    let points: Vec<(f64, f64)> = if usage.steps.len() <= STEPS_MAX {
        usage.steps.iter().map(|(at, used)| (scale.x(*at), y(share(*used)))).collect()
    } else {
        let n = (end - scale.left).ceil().max(1.0) as usize;
        let width = (end - scale.left) / n as f64;
        let levels = usage.levels(n).into_iter().enumerate();
        levels.map(|(i, level)| (scale.left + i as f64 * width, y(level))).collect()
    };
    drawing.steps(&points, end, Some(area.1), "used");
    let offered: Vec<(f64, f64)> = usage.offered.iter().map(|(at, there)| (scale.x(*at), y(share(*there)))).collect();
    if offered.len() > 1 {
        drawing.steps(&offered, end, None, "offered");
    }
    if usage.offered.len() <= 1 && mean > 0.0 {
        drawing.line((scale.left, y(mean)), (end, y(mean)), "mean");
    }
    area.1
}

/// Tasks that could start and do not, from `top`; returns where it ends.
pub(super) fn waiting(drawing: &mut Drawing, scale: TimeScale, top: f64, workload: &Workload, report: &Report) -> f64 {
    let (steps, to) = (waiting_steps(workload, report), scale_end(report));
    let peak = steps.iter().map(|(_, waiting)| *waiting).max().unwrap_or(0);
    let most = round_up(peak.max(1));
    let label = format!("waiting tasks that could start: peak {peak}");
    let (half, whole) = ((most / 2).to_string(), most.to_string());
    let area = frame(drawing, scale, top, &label, ["0", &half, &whole], ["", ""]);
    let y = |waiting: u64| area.1 - (area.1 - area.0) * waiting as f64 / most as f64;
    // Of all steps in one column of pixels the highest is drawn: a peak must not be lost.
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (at, waiting) in steps {
        let point = (scale.x(at), y(waiting));
        match points.last_mut() {
            Some(last) if (point.0 * 2.0).floor() == (last.0 * 2.0).floor() && points_are_many(report) => {
                last.1 = last.1.min(point.1);
            }
            _ => points.push(point),
        }
    }
    drawing.steps(&points, scale.x(to), Some(area.1), "wait");
    area.1
}

const fn points_are_many(report: &Report) -> bool {
    report.started as usize > STEPS_MAX
}

fn scale_end(report: &Report) -> Tick {
    report.usage.first().map_or(Tick(0), |usage| usage.to)
}

/// How many tasks have arrived, have all they wait for, and did not begin their last run.
fn waiting_steps(workload: &Workload, report: &Report) -> Vec<(Tick, u64)> {
    let mut changes: Vec<(Tick, i64)> = Vec::new();
    let end_of = |task: &usize| report.runs.get(*task).copied().flatten().and_then(|run| run.end);
    for (task, run) in workload.jobs().iter().zip(&report.runs).take(report.arrived as usize) {
        let Some(met) = task.deps.iter().map(end_of).collect::<Option<Vec<Tick>>>() else { continue };
        let ready = met.into_iter().fold(Tick(task.arrival.0), Tick::max);
        changes.push((ready, 1));
        changes.extend(run.map(|run| (run.start, -1)));
    }
    changes.sort_unstable_by_key(|(at, _)| *at);
    let mut waiting = 0i64;
    let mut steps: Vec<(Tick, u64)> = Vec::new();
    for (at, change) in changes {
        waiting += change;
        let count = waiting.max(0).unsigned_abs();
        match steps.last_mut() {
            Some((last, level)) if *last == at => *level = count,
            _ => steps.push((at, count)),
        }
    }
    steps
}

/// Label, ground, axes; the plot's upper and lower end.
fn frame(
    drawing: &mut Drawing,
    scale: TimeScale,
    top: f64,
    label: &str,
    ticks: [&str; 3],
    amounts: [&str; 2],
) -> (f64, f64) {
    let (upper, lower) = (top + 20.0, top + 20.0 + HEIGHT);
    let right = scale.left + scale.width;
    drawing.text(scale.left, top + 13.0, Anchor::Start, "", label);
    drawing.rect((scale.left, upper), (scale.width, HEIGHT), "plot", 1.0, "");
    scale.grid(drawing, upper, lower);
    for (i, tick) in ticks.into_iter().enumerate() {
        let y = lower - HEIGHT * i as f64 / 2.0;
        drawing.line((scale.left, y), (right, y), if i == 0 { "axis" } else { "grid" });
        drawing.text(scale.left - 6.0, y + 4.0, Anchor::End, "tick", tick);
    }
    drawing.text(right + 6.0, lower + 4.0, Anchor::Start, "tick", amounts[0]);
    drawing.text(right + 6.0, upper + 4.0, Anchor::Start, "tick", amounts[1]);
    (upper, lower)
}
