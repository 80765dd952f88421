use std::collections::BTreeMap;

use hq_core::{Amount, Span};
use hq_sim::{
    machines::WorkerGroup,
    policy::{Report, Usage},
    workload::{Input, Workload},
};
use serde_json::{Value, json};

use crate::output::{Align, Cell, Table};

/// A simulation that was run.
pub(crate) struct Simulated {
    /// Its order.
    pub(crate) order: String,
    /// Its placement.
    pub(crate) placement: String,
    /// What came of it.
    pub(crate) report: Report,
}

/// `6 workers: cpus 256, gpus 8`
pub(crate) fn cluster_text(groups: &[WorkerGroup]) -> String {
    let count = workers(groups);
    let resources: Vec<String> = totals(groups).iter().map(|(name, total)| format!("{name} {total}")).collect();
    format!("{count} {}: {}", if count == 1 { "worker" } else { "workers" }, resources.join(", "))
}

fn workers(groups: &[WorkerGroup]) -> u64 {
    groups.iter().map(|group| u64::from(group.count)).sum()
}

/// All workers together, by resource.
fn totals(groups: &[WorkerGroup]) -> BTreeMap<&str, Amount> {
    let mut totals: BTreeMap<&str, Amount> = BTreeMap::new();
    for group in groups {
        for def in group.config.resources.resources() {
            let total = totals.entry(def.name.as_str()).or_default();
            let parts = def.kind.total().parts().saturating_mul(group.count.into());
            *total = Amount::from_parts(total.parts().saturating_add(parts));
        }
    }
    totals
}

/// What all simulations of a comparison have in common.
pub(crate) fn simulation_title(input: &Input, groups: &[WorkerGroup], seed: u64) -> String {
    format!("{} on {}; seed {seed}", workload_text(input), cluster_text(groups))
}

/// One simulation in full, or several beside each other.
pub(crate) fn simulation_table(input: &Input, groups: &[WorkerGroup], seed: u64, runs: &[Simulated]) -> Table {
    match runs {
        [run] => full_table(input, groups, seed, run),
        runs => comparison(runs),
    }
}

fn full_table(input: &Input, groups: &[WorkerGroup], seed: u64, run: &Simulated) -> Table {
    let report = &run.report;
    let waits = report.waits;
    let mut table = Table::vertical();
    table.entry("Workload", workload_text(input));
    table.entry("Cluster", cluster_text(groups));
    table.entry("Order", run.order.as_str());
    table.entry("Placement", run.placement.as_str());
    table.entry("Seed", seed.to_string());
    table.entry("Tasks", tasks_text(report));
    table.entry("Makespan", time(report.makespan));
    let spans = [("mean", waits.mean), ("p50", waits.p50), ("p95", waits.p95), ("p99", waits.p99), ("max", waits.max)];
    table.entry("Wait", Cell::from_iter(spans.map(|(name, span)| format!("{name:<4} {}", time(span)))));
    let slowdowns = [("mean", report.slowdown_mean), ("p95", report.slowdown_p95), ("max", report.slowdown_max)];
    table.entry("Bounded slowdown", Cell::from_iter(slowdowns.map(|(name, value)| format!("{name:<4} {value:.2}"))));
    if let Some(jain) = report.jain {
        table.entry("Jain's index of users", format!("{jain:.3}"));
    }
    for usage in &report.usage {
        let text = format!("mean {}, peak {} of {}", percent(usage.mean()), usage.peak(), usage.total);
        table.entry(&format!("Used {}", usage.resource), text);
        if report.useless.iter().any(|useless| useless.resource == usage.resource) {
            let share = report.fragmentation(usage.resource.as_str());
            table.entry(&format!("Free {}", usage.resource), format!("{} of no use to these tasks", percent(share)));
        }
    }
    table.entry(
        "Scheduling",
        format!("{} decisions, {} rounds, {} facts", report.decisions, report.rounds, report.facts),
    );
    table
}

fn workload_text(input: &Input) -> String {
    let workload = &input.workload;
    format!("{}: {} tasks ({})", workload.name(), workload.jobs().len(), input.format)
}

fn tasks_text(report: &Report) -> String {
    let lost = if report.lost == 0 { String::new() } else { format!(", {} runs cut", report.lost) };
    format!("{} arrived, {} started, {} finished{lost}", report.arrived, report.started, report.finished)
}

fn comparison(runs: &[Simulated]) -> Table {
    let mut table = Table::horizontal(&[
        ("Order", Align::Left),
        ("Placement", Align::Left),
        ("Finished", Align::Right),
        ("Makespan", Align::Right),
        ("Mean wait", Align::Right),
        ("p95 wait", Align::Right),
        ("Max wait", Align::Right),
        ("Mean slowdown", Align::Right),
        ("Max slowdown", Align::Right),
        ("Jain", Align::Right),
        ("Used", Align::Left),
    ]);
    for run in runs {
        let report = &run.report;
        table.row(vec![
            run.order.as_str().into(),
            run.placement.as_str().into(),
            report.finished.to_string().into(),
            time(report.makespan).into(),
            time(report.waits.mean).into(),
            time(report.waits.p95).into(),
            time(report.waits.max).into(),
            format!("{:.2}", report.slowdown_mean).into(),
            format!("{:.1}", report.slowdown_max).into(),
            report.jain.map_or_else(|| "-".to_owned(), |jain| format!("{jain:.3}")).into(),
            used(&report.usage).into(),
        ]);
    }
    table
}

/// `cpus 87.3 %, gpus 4.0 %`; nothing of what nobody used.
fn used(usages: &[Usage]) -> String {
    let used = usages.iter().filter(|usage| !usage.peak().is_zero());
    used.map(|usage| format!("{} {}", usage.resource, percent(usage.mean()))).collect::<Vec<_>>().join(", ")
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// With the precision that people read: milliseconds below a minute, else seconds.
fn time(span: Span) -> String {
    let step = if span < Span::secs(60) { 1_000 } else { 1_000_000 };
    match Span(span.0 - span.0 % step) {
        Span::ZERO if span > Span::ZERO => span.to_string(),
        cut => cut.to_string(),
    }
}

/// Order, placement, makespan, mean wait (s), mean slowdown.
pub(crate) fn simulation_line(run: &Simulated) -> String {
    let report = &run.report;
    format!(
        "{} {} {} {} {:.6}",
        run.order,
        run.placement,
        report.makespan.as_secs_f64(),
        report.waits.mean.as_secs_f64(),
        report.slowdown_mean
    )
}

/// The same as JSON; times are in seconds.
pub(crate) fn simulation_json(input: &Input, groups: &[WorkerGroup], seed: u64, runs: &[Simulated]) -> Value {
    let totals = totals(groups).into_iter().map(|(name, total)| (name.to_owned(), number(total)));
    json!({
        "workload": workload_json(&input.workload, input),
        "cluster": { "workers": workers(groups), "resources": totals.collect::<serde_json::Map<_, _>>() },
        "seed": seed,
        "runs": runs.iter().map(run_json).collect::<Vec<_>>(),
    })
}

fn workload_json(workload: &Workload, input: &Input) -> Value {
    json!({
        "name": workload.name(),
        "format": input.format.name(),
        "tasks": workload.jobs().len(),
        "dropped": input.dropped,
        "critical_path": workload.critical_path().as_secs_f64(),
        "cpu_time": workload.work().as_secs_f64(),
    })
}

fn run_json(run: &Simulated) -> Value {
    let report = &run.report;
    let waits = report.waits;
    let resources = report.usage.iter().map(|usage| {
        json!({
            "name": usage.resource,
            "total": number(usage.total),
            "peak": number(usage.peak()),
            "utilisation": usage.mean(),
            "fragmentation": report.fragmentation(usage.resource.as_str()),
        })
    });
    json!({
        "order": run.order,
        "placement": run.placement,
        "tasks": {
            "arrived": report.arrived,
            "started": report.started,
            "finished": report.finished,
            "runs_cut": report.lost,
        },
        "makespan": report.makespan.as_secs_f64(),
        "wait": {
            "mean": waits.mean.as_secs_f64(),
            "p50": waits.p50.as_secs_f64(),
            "p95": waits.p95.as_secs_f64(),
            "p99": waits.p99.as_secs_f64(),
            "max": waits.max.as_secs_f64(),
        },
        "bounded_slowdown": {
            "mean": report.slowdown_mean,
            "p95": report.slowdown_p95,
            "max": report.slowdown_max,
        },
        "jain_index": report.jain,
        "resources": resources.collect::<Vec<_>>(),
        "decisions": report.decisions,
        "rounds": report.rounds,
        "facts": report.facts,
    })
}

fn number(amount: Amount) -> Value {
    if amount.fraction() == 0 { amount.whole().into() } else { (amount.parts() as f64 / Amount::PARTS as f64).into() }
}
