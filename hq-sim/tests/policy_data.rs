//! The public workloads: `HQ_SIM_DATA=folder cargo test --release -p hq-sim --test policy_data -- --nocapture` runs them,
//! where the folder holds `swf/KTH-SP2-1996-2.1-cln.swf.gz`, `graphs/*.json.gz`, `graphs/estee_instant.csv` and `fgd/*.csv`.
//! Without it each test says so and passes.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "the data are files, and compressed")]
#![expect(clippy::print_stderr, reason = "the figures are what one runs this for")]

mod policy_reference;

use std::{collections::BTreeMap, path::PathBuf, process::Command};

use hq_core::{Amount, Rng, Span, Tick, WorkerConfig, WorkerResources};
use hq_scheduler::policy::{Order, PassRule, Placement, PlacementKey, QueueView, Rank, SlotView};
use hq_sim::{
    policy::{Report, Simulation},
    wfcommons,
    workload::{Workload, graphs, openb, swf},
};
use policy_reference::{Backfilling, By};

/// A file of the data folder, unpacked; none, and a line, where there is none.
fn data(file: &str) -> Option<String> {
    let Some(folder) = std::env::var_os("HQ_SIM_DATA") else {
        eprintln!("skipped: HQ_SIM_DATA does not name the folder of {file}");
        return None;
    };
    let path = PathBuf::from(folder).join(file);
    if !file.ends_with(".gz") {
        return Some(std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    }
    let output = Command::new("gzip").arg("-dc").arg(&path).output().unwrap();
    assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

fn cpus(n: u32) -> WorkerConfig {
    WorkerConfig::new("node", WorkerResources::cpus(n).unwrap())
}

/// KTH-SP2 1996 of the Parallel Workloads Archive, 100 processors, cleaned as usual.
fn kth_sp2() -> Option<Workload> {
    let log = swf::read(&data("swf/KTH-SP2-1996-2.1-cln.swf.gz")?).unwrap();
    assert_eq!((log.jobs.len(), log.max_procs()), (28_476, Some(100)));
    let (workload, dropped) = log.workload("KTH-SP2", &swf::Cleaning::EASY).unwrap();
    assert_eq!((workload.jobs().len(), dropped), (28_467, 9));
    Some(workload)
}

/// The published rows, by the plain reference: the reader, the cleaning and the figures are the usual ones.
#[test]
fn published_rows_of_kth_sp2() {
    let Some(user) = kth_sp2() else { return };
    let perfect = user.clone().with_perfect_estimates();
    let rows: [(&Workload, By, Backfilling, f64, f64); 6] = [
        (&user, By::Arrival, Backfilling::None, 6818.3, 353_950.0),
        (&user, By::Arrival, Backfilling::Easy, 92.73, 6_837.0),
        (&perfect, By::Arrival, Backfilling::Easy, 71.75, 6_330.0),
        (&user, By::Estimate, Backfilling::Easy, 42.37, 4_601.0),
        (&user, By::Area, Backfilling::Easy, 39.16, 5_653.0),
        (&perfect, By::Estimate, Backfilling::Easy, 22.04, 3_795.0),
    ];
    for (workload, by, backfilling, slowdown, wait) in rows {
        let starts = policy_reference::starts(workload, 100, by, backfilling);
        let (mut slowdowns, mut waits, mut max) = (0.0, 0.0, 0.0f64);
        for (job, start) in workload.jobs().iter().zip(starts) {
            let (waited, run) = (start.less(job.arrival).as_secs_f64(), job.run.as_secs_f64());
            let bounded = ((waited + run) / run.max(10.0)).max(1.0);
            (slowdowns, waits, max) = (slowdowns + bounded, waits + waited, max.max(bounded));
        }
        let n = workload.jobs().len() as f64;
        let (mean, waited) = (slowdowns / n, waits / n);
        eprintln!("{by:?}, {backfilling:?}: slowdown {mean:.2}, max {max:.0}, wait {waited:.1} s");
        assert!((mean - slowdown).abs() < 0.06 && (waited - wait).abs() < 1.0, "{by:?} {backfilling:?}");
    }
}

/// The row "FCFS, none, user" by the scheduler, start by start.
#[test]
fn fcfs_on_kth_sp2() {
    let Some(workload) = kth_sp2() else { return };
    let simulation = Simulation::new(1).workers(1, &cpus(100)).workload(&workload).policy("fcfs", "pack");
    let report = simulation.run().unwrap();
    eprintln!("KTH-SP2, fcfs, no backfilling:\n{report}");
    let starts: Vec<Span> = report.runs.iter().map(|run| Span(run.unwrap().start.0)).collect();
    let reference = policy_reference::starts(&workload, 100, By::Arrival, Backfilling::None);
    let late = starts.iter().zip(&reference).filter(|(start, reference)| start != reference).count();
    assert_eq!(late, 0, "jobs that start at another time than the reference says");
    assert!((report.slowdown_mean - 6818.3).abs() < 0.05, "{}", report.slowdown_mean);
    assert!((report.waits.mean.as_secs_f64() - 353_950.0).abs() < 0.5, "{}", report.waits.mean);
}

/// The rows of EASY backfilling by the scheduler, start by start.
#[test]
fn easy_backfilling_on_kth_sp2() {
    let Some(user) = kth_sp2() else { return };
    let perfect = user.clone().with_perfect_estimates();
    let rows: [(&Workload, &str, By, f64, f64); 5] = [
        (&user, "easy-backfill", By::Arrival, 92.73, 6_837.0),
        (&perfect, "easy-backfill", By::Arrival, 71.75, 6_330.0),
        (&user, "easy-shortest", By::Estimate, 42.37, 4_601.0),
        (&user, "easy-smallest", By::Area, 39.16, 5_653.0),
        (&perfect, "easy-shortest", By::Estimate, 22.04, 3_795.0),
    ];
    for (workload, order, by, slowdown, wait) in rows {
        let simulation = Simulation::new(1).workers(1, &cpus(100)).workload(workload).policy(order, "pack");
        let report = simulation.run().unwrap();
        eprintln!("KTH-SP2, {order}:\n{report}");
        let starts: Vec<Span> = report.runs.iter().map(|run| Span(run.unwrap().start.0)).collect();
        let reference = policy_reference::starts(workload, 100, by, Backfilling::Easy);
        let other = starts.iter().zip(&reference).filter(|(start, reference)| start != reference).count();
        assert_eq!(other, 0, "jobs of {order} that start at another time than the reference says");
        assert!((report.slowdown_mean - slowdown).abs() < 0.06, "{}", report.slowdown_mean);
        assert!((report.waits.mean.as_secs_f64() - wait).abs() < 1.0, "{}", report.waits.mean);
    }
}

/// Ratio of the makespan to the bound, and the best one known.
#[test]
fn task_graphs() {
    let Some(csv) = data("graphs/estee_instant.csv") else { return };
    let mut best: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for row in csv.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let min: f64 = fields[9].parse().unwrap();
        let known = best.entry((fields[1], fields[4])).or_insert(f64::INFINITY);
        *known = known.min(min);
    }
    eprintln!("{:>17} {:>5} {:>7} {:>8} {:>8} {:>10}", "graph", "", "best", "priority", "b-level", "levels");
    for file in ["elementary", "irw"] {
        let text = data(&format!("graphs/{file}.json.gz")).unwrap();
        for graph in graphs::read(&text).unwrap() {
            let levels = graph.clone().by_b_level();
            for (name, workers) in [("8x4", 8u32), ("32x4", 32)] {
                let bound = graph.makespan_bound(u64::from(workers) * 4).as_secs_f64();
                let run = |graph: &Workload, order: &str| -> f64 {
                    let simulation = Simulation::new(1).workers(workers as usize, &cpus(4)).workload(graph);
                    let report = simulation.add_order(Box::new(Levels)).policy(order, "pack").run().unwrap();
                    assert_eq!(report.finished, graph.jobs().len() as u64, "{} {name}", graph.name());
                    report.makespan.as_secs_f64() / bound
                };
                let known = best.get(&(graph.name(), name)).map_or(f64::NAN, |best| best / bound);
                let figures = [run(&graph, "priority"), run(&levels, "priority"), run(&levels, "levels")];
                assert!(figures.iter().all(|ratio| *ratio >= 0.999_999), "{}: {figures:?}", graph.name());
                let [plain, list, free] = figures;
                let mark = if list.min(free) > known + 0.000_5 { " above" } else { "" };
                eprintln!("{:>17} {name:>5} {known:>7.3} {plain:>8.3} {list:>8.3} {free:>10.3}{mark}", graph.name());
            }
        }
    }
}

/// Strict priorities, and anything may overtake: list scheduling as it is in the books.
#[derive(Debug)]
struct Levels;

impl Order for Levels {
    fn name(&self) -> &str {
        "levels"
    }

    fn rank(&self, queue: &QueueView) -> Rank {
        (-i64::from(queue.priority), queue.head.0.cast_signed())
    }

    fn pass_rule(&self) -> PassRule {
        PassRule::Free
    }
}

/// The fullest GPU node on which it fits: what is left of all GPUs and cpus there, by their share of the largest node.
#[derive(Debug)]
struct BestFit;

impl Placement for BestFit {
    fn name(&self) -> &str {
        "best-fit"
    }

    fn key(&self, slot: &SlotView<'_>) -> PlacementKey {
        let after = slot.after();
        let share = |resource, largest: u64| (after.free(resource).parts() * 1_000 / largest).cast_signed();
        (share(openb::GPUS, 8 * Amount::PARTS) + share(openb::CPU, 128 * Amount::PARTS), 0)
    }
}

/// Anywhere; of each class elsewhere.
#[derive(Debug)]
struct Anywhere(u64);

impl Placement for Anywhere {
    fn name(&self) -> &str {
        "random"
    }

    fn key(&self, slot: &SlotView<'_>) -> PlacementKey {
        let lane = slot.last_lane.map_or(0, |lane| u64::from(lane.n));
        let mut rng = Rng::new(self.0 ^ u64::from(slot.worker.0) << 32 ^ lane ^ slot.value.rotate_left(16));
        (rng.next_u64().cast_signed(), 0)
    }
}

/// Arrivals until as many GPUs are asked for as there are: how many are in use then. `HQ_SIM_SEEDS` says how often; the
/// published figures are means of ten.
#[test]
fn fractional_gpus() {
    let Some(nodes) = data("fgd/openb_node_list_gpu_node.csv") else { return };
    let nodes = openb::read_nodes(&nodes).unwrap();
    let gpus: u32 = nodes.iter().map(|node| node.gpus).sum();
    assert_eq!((nodes.len(), gpus), (1213, 6212));
    let seeds: u64 = std::env::var("HQ_SIM_SEEDS").map_or(1, |seeds| seeds.parse().unwrap());
    for (list, reach) in [("default", 95.2), ("gpushare40", 93.9)] {
        let pods = openb::read_pods(&data(&format!("fgd/openb_pod_list_{list}.csv")).unwrap()).unwrap();
        assert_eq!(pods.len(), 8152);
        for placement in ["random", "best-fit", "first-fit", "pack", "least-fragmenting"] {
            let mut shares = vec![];
            let begun = std::time::Instant::now();
            for seed in 1..=seeds {
                let arrivals = openb::arrivals(&pods, gpus, 130, &mut Rng::new(seed)).unwrap();
                let mut simulation = Simulation::new(seed).add_order(Box::new(Levels));
                simulation = simulation.add_placement(Box::new(BestFit)).add_placement(Box::new(Anywhere(seed)));
                for node in &nodes {
                    simulation = simulation.workers(1, &node.config().unwrap());
                }
                let simulation = simulation.workload(&arrivals.workload).policy("levels", placement);
                let report: Report = simulation.until(arrivals.full_at).run().unwrap();
                let used = report.usage_of(openb::GPUS).unwrap().at(Tick(arrivals.full_at.0));
                shares.push(used.parts() as f64 / f64::from(gpus) / 100.0);
            }
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            let sd = (shares.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / shares.len() as f64).sqrt();
            let took = begun.elapsed().as_secs_f64() / seeds as f64;
            eprintln!(
                "openb {list}, {placement}: {mean:.2} % of {gpus} GPUs, sd {sd:.2}, {seeds} seeds of {took:.1} s"
            );
            if placement == "least-fragmenting" {
                assert!(mean >= reach, "{list}: {shares:?}");
            }
        }
    }
}

/// Every file is read, and every recorded workflow runs as its bounds allow.
#[test]
fn all_files_are_read() {
    for (file, jobs) in [("LLNL-Atlas-2006-2.1-cln", 43_778), ("lublin_256", 10_000)] {
        let Some(text) = data(&format!("swf/{file}.swf.gz")) else { return };
        let log = swf::read(&text).unwrap();
        assert_eq!(log.jobs.len(), jobs, "{file}");
    }
    for file in [
        "1000genome-chameleon-2ch-100k-001",
        "bacass-dirt02-001",
        "epigenomics-chameleon-hep-1seq-50k-001",
        "montage-chameleon-2mass-01d-001",
        "sarek-dirt02-001",
        "seismology-chameleon-100p-001",
    ] {
        let workflow = wfcommons::read(&data(&format!("workflows/{file}.json.gz")).unwrap()).unwrap();
        let workload = Workload::try_from(&workflow).unwrap();
        let bound = workload.makespan_bound(64).as_secs_f64();
        let ratio = |workload: &Workload| {
            let report = Simulation::new(1).workers(2, &cpus(32)).workload(workload).run().unwrap();
            assert_eq!(report.finished, workload.jobs().len() as u64, "{file}");
            report.makespan.as_secs_f64() / bound
        };
        let (plain, levels) = (ratio(&workload), ratio(&workload.clone().by_b_level()));
        eprintln!("{file}, 2x32: {plain:.3} of the bound, by b-level {levels:.3}");
        assert!(plain >= 0.999_999 && levels >= 0.999_999);
    }
}

/// A better mean than any row by user estimates, and no one fares worse than the worst under plain backfilling.
#[test]
fn patience_on_kth_sp2() {
    let Some(user) = kth_sp2() else { return };
    let run = |order: &str| {
        let simulation = Simulation::new(1).workers(1, &cpus(100)).workload(&user);
        let report = simulation.policy(order, "pack").run().unwrap();
        eprintln!("KTH-SP2, {order}:\n{report}");
        report
    };
    for order in ["priority", "sjf", "fair-share"] {
        run(order);
    }
    let (easy, own) = (run("easy-backfill"), run("patience"));
    assert!(own.slowdown_mean < 39.2 && own.slowdown_max <= easy.slowdown_max, "{own}");
}
