use std::collections::{BTreeMap, BTreeSet};

use hq_core::{ResourceName, Tick, Variants};

use super::{
    draw::{Anchor, COLOURS, Drawing},
    scale::{TimeScale, short},
    timeline::{Bar, Row, Timeline},
};
use crate::workload::{Workload, request_text};

/// Kinds of tasks: the most frequent requests, each with a colour; all others share the last.
pub(super) struct Kinds<'a> {
    known: BTreeMap<&'a Variants, usize>,
    names: Vec<String>,
}

impl<'a> Kinds<'a> {
    pub(super) fn new(workload: &'a Workload) -> Self {
        let mut counts: BTreeMap<&Variants, usize> = BTreeMap::new();
        for task in workload.jobs() {
            *counts.entry(&task.request).or_default() += 1;
        }
        let mut kinds: Vec<(&Variants, usize)> = counts.into_iter().collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let (own, others) = if kinds.len() > COLOURS { kinds.split_at(COLOURS - 1) } else { (&kinds[..], &[][..]) };
        let mut names: Vec<String> =
            own.iter().map(|(kind, count)| format!("{} ({count})", request_text(kind))).collect();
        if !others.is_empty() {
            names.push(format!("others ({})", others.iter().map(|(_, count)| count).sum::<usize>()));
        }
        Self { known: own.iter().enumerate().map(|(i, (kind, _))| (*kind, i)).collect(), names }
    }

    fn of(&self, request: &Variants) -> usize {
        self.known.get(request).copied().unwrap_or(COLOURS - 1)
    }

    /// The meaning of the colours, from `top`; returns where it ends.
    fn legend(&self, drawing: &mut Drawing, left: f64, width: f64, top: f64) -> f64 {
        let (mut x, mut y) = (left, top);
        for (i, name) in self.names.iter().enumerate() {
            let name = shortened(name, 60);
            let wide = 30.0 + 6.4 * name.chars().count() as f64;
            if x > left && x + wide > left + width {
                (x, y) = (left, y + 18.0);
            }
            drawing.rect((x, y + 3.0), (11.0, 11.0), &format!("k{i}"), 1.0, "");
            drawing.text(x + 16.0, y + 13.0, Anchor::Start, "", &name);
            x += wide;
        }
        y + 18.0
    }
}

fn shortened(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    text.chars().take(max - 1).chain(['…']).collect()
}

/// What every run took of the workers, from `top`, where they are few enough; returns where it ends.
pub(super) fn workers(
    drawing: &mut Drawing,
    scale: TimeScale,
    top: f64,
    timeline: &Timeline,
    workload: &Workload,
    end: Tick,
) -> f64 {
    if timeline.has_bars() {
        return bars(drawing, scale, top, timeline, workload, end);
    }
    match timeline.workers.len() {
        // One worker alone is what the charts show.
        0 | 1 => top,
        _ => strips(drawing, scale, top, timeline, end),
    }
}

/// A lane for every index, a bar for every run.
fn bars(drawing: &mut Drawing, scale: TimeScale, top: f64, timeline: &Timeline, workload: &Workload, end: Tick) -> f64 {
    let kinds = Kinds::new(workload);
    let rows = timeline.workers.values();
    let used: BTreeSet<&ResourceName> = rows.flat_map(used_resources).collect();
    let workers = timeline.workers.iter();
    let shown: Vec<(String, &Row, Vec<Lanes<'_>>)> =
        workers.map(|(id, row)| (format!("{} {id}", row.host), row, lanes_of(row, &used))).collect();
    let lanes: usize = shown.iter().flat_map(|(_, _, lanes)| lanes).map(|(_, from, to)| to - from).sum();
    if lanes == 0 {
        return top;
    }
    let height = (400.0 / lanes as f64).clamp(4.0, 14.0);
    drawing.text(
        scale.left,
        top + 13.0,
        Anchor::Start,
        "",
        "workers, a lane for each index; tasks by what they ask for:",
    );
    let mut y = kinds.legend(drawing, scale.left, scale.width, top + 18.0) + 4.0;
    for (name, row, lanes) in shown {
        let upper = y;
        for (resource, from, to) in lanes {
            let size = height * (to - from) as f64;
            ground(drawing, scale, y, size, row, end);
            scale.grid(drawing, y, y + size);
            for bar in row.bars.iter().filter(|bar| bar.lane < to && bar.lane + bar.lanes > from) {
                draw_bar(drawing, scale, (y, from, to, height), bar, (workload, &kinds), end);
            }
            if size >= 11.0 {
                let right = scale.left + scale.width + 6.0;
                drawing.text(right, y + size / 2.0 + 4.0, Anchor::Start, "tick", &shortened(resource, 11));
            }
            y += size + 2.0;
        }
        let name = shortened(&name, 11);
        drawing.text(scale.left - 6.0, (upper + y) / 2.0 + 3.0, Anchor::End, "tick", &name);
        y += 4.0;
    }
    y
}

/// A resource of a worker: name, lanes from, to.
type Lanes<'a> = (&'a str, usize, usize);

fn all_lanes(row: &Row) -> impl Iterator<Item = (&ResourceName, usize, usize)> {
    let ends = row.lanes.iter().skip(1).map(|(_, first)| *first).chain([row.lane_count]);
    row.lanes.iter().zip(ends).map(|((name, from), to)| (name, *from, to))
}

/// Of which something was used.
fn used_resources(row: &Row) -> impl Iterator<Item = &ResourceName> {
    let is_used = |from, to| row.bars.iter().any(|bar| bar.lane < to && bar.lane + bar.lanes > from);
    all_lanes(row).filter(move |(_, from, to)| is_used(*from, *to)).map(|(name, ..)| name)
}

fn lanes_of<'a>(row: &'a Row, shown: &BTreeSet<&ResourceName>) -> Vec<Lanes<'a>> {
    let lanes = all_lanes(row).filter(|(name, ..)| shown.contains(name));
    lanes.map(|(name, from, to)| (name.as_str(), from, to)).collect()
}

fn ground(drawing: &mut Drawing, scale: TimeScale, y: f64, height: f64, row: &Row, end: Tick) {
    let (from, to) = (scale.x(row.joined), scale.x(row.left.unwrap_or(end)));
    drawing.rect((scale.left, y), (scale.width, height), "gone", 0.4, "");
    drawing.rect((from, y), ((to - from).max(0.0), height), "plot", 1.0, "");
}

fn draw_bar(
    drawing: &mut Drawing,
    scale: TimeScale,
    (y, from, to, height): (f64, usize, usize, f64),
    bar: &Bar,
    (workload, kinds): (&Workload, &Kinds<'_>),
    end: Tick,
) {
    let Some(task) = workload.jobs().get(bar.task) else { return };
    let (first, last) = (bar.lane.max(from), (bar.lane + bar.lanes).min(to));
    let (low, high) = (bar.part.0 as f64 / 10_000.0, bar.part.1 as f64 / 10_000.0);
    let top = y + height * ((first - from) as f64 + if bar.lanes == 1 { low } else { 0.0 });
    let size = height * if bar.lanes == 1 { high - low } else { (last - first) as f64 };
    let stop = bar.end.unwrap_or(end);
    let (left, right) = (scale.x(bar.start), scale.x(stop));
    let since = |at: Tick| short(at.since(scale.from));
    let waited = short(bar.start.since(Tick(task.arrival.0)));
    let tip = format!(
        "task {}: {}, {} to {}, {waited} after its arrival",
        bar.task,
        request_text(&task.request),
        since(bar.start),
        since(stop)
    );
    let class = format!("bar k{}", kinds.of(&task.request));
    drawing.rect((left, top), ((right - left).max(0.5), size), &class, 1.0, &tip);
}

/// A strip for each worker: the darker, the more of it is used.
fn strips(drawing: &mut Drawing, scale: TimeScale, top: f64, timeline: &Timeline, end: Tick) -> f64 {
    let height = (420.0 / timeline.workers.len() as f64).clamp(5.0, 16.0);
    let label = "workers, a strip for each: the stronger, the more of its scarcest resource is used";
    drawing.text(scale.left, top + 13.0, Anchor::Start, "", label);
    for share in 0..=4u32 {
        let x = scale.left + scale.width - 150.0 + f64::from(share) * 30.0;
        drawing.rect((x, top + 4.0), (30.0, 10.0), "plot", 1.0, "");
        drawing.rect((x, top + 4.0), (30.0, 10.0), "k0", f64::from(share) / 4.0, "");
    }
    drawing.text(scale.left + scale.width - 156.0, top + 13.0, Anchor::End, "tick", "0 %");
    drawing.text(scale.left + scale.width + 6.0, top + 13.0, Anchor::Start, "tick", "100 %");
    let mut y = top + 20.0;
    for (id, row) in &timeline.workers {
        let stop = row.left.unwrap_or(end);
        ground(drawing, scale, y, height - 1.0, row, end);
        let cells = cells(scale, row, stop);
        for (left, right, share) in cells {
            drawing.rect((left, y), (right - left, height - 1.0), "k0", share, "");
        }
        if height >= 10.0 {
            let name = shortened(&format!("{} {id}", row.host), 11);
            drawing.text(scale.left - 6.0, y + height / 2.0 + 3.5, Anchor::End, "tick", &name);
        }
        y += height;
    }
    y
}

/// Width of the cells of a strip.
const CELL: f64 = 4.0;

/// Means of a worker over cells of equal width, equal neighbours as one: from, to, share.
fn cells(scale: TimeScale, row: &Row, stop: Tick) -> Vec<(f64, f64, f64)> {
    let n = (scale.width / CELL).ceil() as usize;
    let mut areas = vec![0.0; n];
    for (i, (at, share)) in row.busy.iter().enumerate() {
        let until = row.busy.get(i + 1).map_or(stop, |(next, _)| *next);
        let (mut x, right) = ((scale.x(*at) - scale.left) / CELL, (scale.x(until) - scale.left) / CELL);
        while x < right {
            let cell = (x.floor() as usize).min(n - 1);
            let next = right.min(cell as f64 + 1.0);
            areas[cell] += (next - x).max(0.0) * *share as f64 / 10_000.0;
            x = if next > x { next } else { right };
        }
    }
    let mut cells: Vec<(f64, f64, f64)> = Vec::new();
    for (i, area) in areas.into_iter().enumerate() {
        let share = (area * 20.0).round() / 20.0;
        let (left, right) = (scale.left + i as f64 * CELL, scale.left + ((i + 1) as f64 * CELL).min(scale.width));
        match cells.last_mut() {
            Some(last) if last.2 == share && last.1 == left => last.1 = right,
            _ if share > 0.0 => cells.push((left, right, share)),
            _ => {}
        }
    }
    cells
}
