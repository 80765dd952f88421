use std::fmt::Write as _;

use hq_core::Tick;

use super::{
    Timeline, charts,
    draw::{Anchor, Drawing, STYLE, escape},
    scale::{TimeScale, short},
    workers,
};
use crate::{policy::Report, workload::Workload};

/// One simulation of several that are shown below each other.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// What is special about it, e.g. its policy.
    pub name: &'a str,
    /// What came of it.
    pub report: &'a Report,
    /// Who ran where.
    pub timeline: &'a Timeline,
}

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 84.0;
/// Resources that are drawn, those used most first.
const RESOURCES_MAX: usize = 6;

/// Simulations of one workload below each other, on one scale of time.
pub fn svg(title: &str, workload: &Workload, scenes: &[Scene<'_>]) -> String {
    let mut drawing = Drawing::default();
    let mut y = 0.0;
    if !title.is_empty() {
        drawing.text(LEFT, 30.0, Anchor::Start, "title", title);
        y = 44.0;
    }
    let scale = scale(scenes);
    for scene in scenes {
        y = draw_scene(&mut drawing, scale, y, workload, scene);
    }
    wrap(&drawing, y + 8.0)
}

/// The same as a page, with a table of all figures.
pub fn html(title: &str, workload: &Workload, scenes: &[Scene<'_>]) -> String {
    let mut text =
        format!("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{}</title>\n", escape(title));
    _ = write!(text, "<style>\n{PAGE_STYLE}</style>\n<h1>{}</h1>\n", escape(title));
    text += &table(scenes);
    text += &svg("", workload, scenes);
    text + "</html>\n"
}

const PAGE_STYLE: &str = "\
body{font-family:system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;font-size:14px;color:#1f2328;background:#fff;max-width:1000px;margin:1.5em auto;padding:0 1em}
h1{font-size:20px}
svg{width:100%;height:auto}
table{border-collapse:collapse;margin:1em 0}
th,td{text-align:right;padding:.25em .8em;border-bottom:1px solid #d1d9e0}
th:first-child,td:first-child{text-align:left;font-weight:600}
@media (prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}th,td{border-color:#2f353d}}
";

/// All figures, a column for each simulation.
fn table(scenes: &[Scene<'_>]) -> String {
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    let mut row = |name: &str, value: &dyn Fn(&Report) -> String| {
        rows.push((name.to_owned(), scenes.iter().map(|scene| value(scene.report)).collect()));
    };
    row("Tasks finished", &|report| format!("{} of {}", report.finished, report.arrived));
    row("Makespan", &|report| short(report.makespan));
    row("Wait, mean", &|report| short(report.waits.mean));
    row("Wait, p50", &|report| short(report.waits.p50));
    row("Wait, p95", &|report| short(report.waits.p95));
    row("Wait, p99", &|report| short(report.waits.p99));
    row("Wait, max", &|report| short(report.waits.max));
    row("Bounded slowdown, mean", &|report| format!("{:.2}", report.slowdown_mean));
    row("Bounded slowdown, p95", &|report| format!("{:.2}", report.slowdown_p95));
    row("Bounded slowdown, max", &|report| format!("{:.2}", report.slowdown_max));
    row("Jain's index over users", &|report| report.jain.map_or("–".to_owned(), |jain| format!("{jain:.3}")));
    row("Decisions", &|report| report.decisions.to_string());
    for usage in scenes.first().map(|scene| &scene.report.usage[..]).unwrap_or_default() {
        let name = usage.resource.as_str();
        row(&format!("{name} used"), &|report| format!("{:.1} %", report.utilisation(name) * 100.0));
        row(&format!("{name} free and of no use"), &|report| format!("{:.1} %", report.fragmentation(name) * 100.0));
    }
    let mut text = "<table>\n<tr><th></th>".to_owned();
    scenes.iter().for_each(|scene| _ = write!(text, "<th>{}</th>", escape(scene.name)));
    text += "</tr>\n";
    for (name, values) in rows {
        _ = write!(text, "<tr><td>{}</td>", escape(&name));
        values.iter().for_each(|value| _ = write!(text, "<td>{}</td>", escape(value)));
        text += "</tr>\n";
    }
    text + "</table>\n"
}

/// Of all of them, from the first arrival to the last end.
fn scale(scenes: &[Scene<'_>]) -> TimeScale {
    let length = scenes.iter().map(|scene| scene.report.makespan).max().unwrap_or_default();
    TimeScale { from: start(scenes), length, left: LEFT, width: WIDTH - LEFT - RIGHT }
}

fn start(scenes: &[Scene<'_>]) -> Tick {
    let usages = scenes.iter().flat_map(|scene| &scene.report.usage);
    usages.map(|usage| usage.from).min().unwrap_or_default()
}

fn draw_scene(drawing: &mut Drawing, scale: TimeScale, top: f64, workload: &Workload, scene: &Scene<'_>) -> f64 {
    let report = scene.report;
    drawing.text(LEFT, top + 20.0, Anchor::Start, "head", scene.name);
    drawing.text(LEFT, top + 38.0, Anchor::Start, "faint", &summary(report));
    let mut y = top + 48.0;
    let mut usages: Vec<_> = report.usage.iter().filter(|usage| !usage.peak().is_zero()).collect();
    usages.sort_by(|a, b| b.mean().total_cmp(&a.mean()));
    for usage in usages.into_iter().take(RESOURCES_MAX) {
        y = charts::usage(drawing, scale, y, usage) + 8.0;
    }
    y = charts::waiting(drawing, scale, y, workload, report) + 10.0;
    let end = Tick(scale.from.0.saturating_add(report.makespan.0));
    y = workers::workers(drawing, scale, y, scene.timeline, workload, end);
    scale.axis(drawing, y + 2.0);
    y + 50.0
}

fn summary(report: &Report) -> String {
    let waits = report.waits;
    let lost = if report.lost > 0 { format!(", {} cut", report.lost) } else { String::new() };
    let parts = [
        format!("makespan {}", short(report.makespan)),
        format!("wait mean {}, p95 {}, max {}", short(waits.mean), short(waits.p95), short(waits.max)),
        format!("slowdown mean {:.2}, max {:.1}", report.slowdown_mean, report.slowdown_max),
        format!("{} of {} tasks{lost}", report.finished, report.arrived),
    ];
    parts.join(" · ")
}

fn wrap(drawing: &Drawing, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" height=\"{height:.0}\" \
         role=\"img\">\n<style>\n{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" class=\"ground\"/>\n{}</svg>\n",
        drawing.0
    )
}
