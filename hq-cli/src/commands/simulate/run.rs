use std::{
    fs::File,
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use hq_sim::{
    machines::WorkerGroup,
    picture::{self, Scene, Timeline},
    policy::{Report, Simulation},
    workload::{Input, Workload},
};
use tracing::warn;

use super::{Args, cluster, input, progress::Progress};
use crate::{
    context::Context,
    output::Mode,
    view::{Simulated, cluster_text, simulation_json, simulation_line, simulation_table, simulation_title},
};

/// A file for a picture; its name says in which form.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    path: PathBuf,
    is_page: bool,
}

impl Picture {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let is_page = extension.eq_ignore_ascii_case("html");
        if !is_page && !extension.eq_ignore_ascii_case("svg") {
            return Err("the file's name has to end in .svg or .html".to_owned());
        }
        Ok(Self { path, is_page })
    }
}

/// Simulates every order with every placement.
pub(crate) async fn run(args: Args, context: &mut Context) -> anyhow::Result<()> {
    let policies = policies(&args)?;
    let input = input::read(&args)?;
    let groups = match &args.cluster {
        Some(cluster) => cluster.groups()?,
        None => cluster::machine_of(&input)
            .ok_or_else(|| anyhow!("nothing says where it runs: use --cluster, e.g. --cluster '4x cpus=32'"))?,
    };
    if input.dropped > 0 {
        let what = "without a run time, or without anything to ask for, are left out";
        warn!("{} jobs of {} {what}", input.dropped, input.workload.name());
    }
    // Files that cannot be written are found before the work is done.
    let mut picture = args.report.as_ref().map(|picture| create(&picture.path)).transpose()?;
    let mut trace = args.trace.as_deref().map(create).transpose()?;
    let mut runs: Vec<(Simulated, Timeline)> = Vec::with_capacity(policies.len());
    for (order, placement) in policies {
        let (report, timeline) = simulate(&args, &input.workload, &groups, (&order, &placement), trace.as_mut())?;
        runs.push((Simulated { order, placement, report }, timeline));
    }
    if let (Some(file), Some(picture)) = (&mut picture, &args.report) {
        let text = draw(picture, &input.workload, &groups, &runs);
        let written = file.write_all(text.as_bytes()).and_then(|()| file.flush());
        written.with_context(|| format!("cannot write {}", picture.path.display()))?;
    }
    let runs: Vec<Simulated> = runs.into_iter().map(|(simulated, _)| simulated).collect();
    for run in &runs {
        tell_what_is_left(&input.workload, run, args.until.is_some());
    }
    show(context, &input, &groups, args.seed, &runs)
}

/// The pairs of names; `all` stands for all that there are.
fn policies(args: &Args) -> anyhow::Result<Vec<(String, String)>> {
    let known = Simulation::new(0);
    let names = |given: &[String], known: Vec<String>| {
        if given.iter().any(|name| name == "all") { known } else { given.to_vec() }
    };
    let (orders, placements) = (names(&args.order, known.orders()), names(&args.placement, known.placements()));
    let mut policies: Vec<(String, String)> = Vec::new();
    for order in &orders {
        for placement in &placements {
            // With nothing to do it says at once whether it knows them.
            Simulation::new(0).policy(order, placement).run()?;
            let pair = (order.clone(), placement.clone());
            if !policies.contains(&pair) {
                policies.push(pair);
            }
        }
    }
    Ok(policies)
}

fn create(path: &Path) -> anyhow::Result<BufWriter<File>> {
    Ok(BufWriter::new(File::create(path).with_context(|| format!("cannot write {}", path.display()))?))
}

fn simulate(
    args: &Args,
    workload: &Workload,
    groups: &[WorkerGroup],
    (order, placement): (&str, &str),
    mut trace: Option<&mut BufWriter<File>>,
) -> anyhow::Result<(Report, Timeline)> {
    let (mut timeline, mut written) = (Timeline::new(), Ok(()));
    if let Some(file) = &mut trace {
        written = writeln!(file, "# order={order} placement={placement} seed={}", args.seed);
    }
    let mut progress = Progress::new(format!("{order}, {placement}"), workload.jobs().len());
    let mut simulation = Simulation::new(args.seed).cluster(groups).workload(workload).policy(order, placement);
    if let Some(until) = args.until {
        simulation = simulation.until(until);
    }
    if args.report.is_some() {
        simulation = simulation.on_event(|now, event| timeline.see(now, event));
    }
    if let Some(file) = &mut trace {
        simulation = simulation.on_event(|now, event| {
            if written.is_ok() {
                written = writeln!(file, "{} {event}", now.0);
            }
        });
    }
    let report = simulation.on_event(|now, event| progress.see(now, event)).run()?;
    if let Some(file) = trace {
        let written: io::Result<()> = written.and_then(|()| file.flush());
        written.with_context(|| format!("cannot write {}", args.trace.clone().unwrap_or_default().display()))?;
    }
    Ok((report, timeline))
}

fn draw(picture: &Picture, workload: &Workload, groups: &[WorkerGroup], runs: &[(Simulated, Timeline)]) -> String {
    let names: Vec<String> = runs.iter().map(|(run, _)| format!("{}, {}", run.order, run.placement)).collect();
    let scenes = runs.iter().zip(&names);
    let scenes: Vec<Scene<'_>> =
        scenes.map(|((run, timeline), name)| Scene { name, report: &run.report, timeline }).collect();
    let title = format!("{} on {}", workload.name(), cluster_text(groups));
    if picture.is_page { picture::html(&title, workload, &scenes) } else { picture::svg(&title, workload, &scenes) }
}

/// A line about tasks that did not run, with what they ask for.
fn tell_what_is_left(workload: &Workload, run: &Simulated, was_cut: bool) {
    let report = &run.report;
    let left = report.arrived - report.started.min(report.arrived);
    if left == 0 || was_cut {
        return;
    }
    let ended = |on: &usize| report.runs.get(*on).copied().flatten().is_some_and(|run| run.end.is_some());
    let stuck =
        workload.jobs().iter().zip(&report.runs).filter(|(job, run)| run.is_none() && job.deps.iter().all(ended));
    let mut requests: Vec<String> = stuck.map(|(job, _)| hq_sim::workload::request_text(&job.request)).collect();
    requests.sort_unstable();
    requests.dedup();
    let more = if requests.len() > 3 { ", …" } else { "" };
    requests.truncate(3);
    let (order, placement) = (&run.order, &run.placement);
    warn!("{order}, {placement}: {left} tasks never started; there was no place for: {}{more}", requests.join(", "));
}

fn show(
    context: &mut Context,
    input: &Input,
    groups: &[WorkerGroup],
    seed: u64,
    runs: &[Simulated],
) -> anyhow::Result<()> {
    match context.out.mode() {
        Mode::Cli => {
            if runs.len() > 1 {
                context.out.line(&simulation_title(input, groups, seed))?;
            }
            context.out.table(&simulation_table(input, groups, seed, runs))
        }
        Mode::Json => context.out.json(&simulation_json(input, groups, seed, runs)),
        Mode::Quiet => runs.iter().try_for_each(|run| context.out.line(&simulation_line(run))),
    }
}
