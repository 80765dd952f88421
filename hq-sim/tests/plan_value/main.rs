//! What the core's plans are worth, against the exact optimum where cases are small and against a bound where they are large.
//!
//! `HQ_SIM_PLANS=10000 cargo test --release -p hq-sim --test plan_value -- --nocapture` tries that many small cases, and large
//! ones of 1,000 workers and 100 classes; without it a sample that a debug build runs in seconds. `HQ_SIM_PLAN=seed` shows
//! one small case.

#![expect(clippy::print_stderr, reason = "the figures are what one runs this for")]

mod bound;
mod exact;
mod plan;

use hq_core::Rng;
use hq_sim::workload::generate::PlanInstance;

#[expect(clippy::disallowed_methods, reason = "how many, or which one")]
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// A case and how much of the best possible value the core reached.
struct Share {
    share: f64,
    name: String,
}

/// Prints the mean and the worst; returns both.
fn summary(what: &str, shares: &[Share]) -> (f64, f64) {
    let mean = shares.iter().map(|case| case.share).sum::<f64>() / shares.len() as f64;
    let worst = shares.iter().min_by(|a, b| a.share.total_cmp(&b.share)).unwrap();
    let below = shares.iter().filter(|case| case.share < 0.999).count();
    eprintln!(
        "{what}: {} cases, mean {:.4}, worst {:.4} ({}), {below} below 0.999",
        shares.len(),
        mean,
        worst.share,
        worst.name
    );
    (mean, worst.share)
}

#[test]
fn small_plans_reach_the_optimum() {
    if let Some(seed) = number("HQ_SIM_PLAN") {
        let instance = PlanInstance::small(&mut Rng::new(seed));
        let best = exact::optimum(&instance);
        eprintln!("{}\n{:?}\nthe optimum is {best}", plan::shown(&instance), plan::of_core(&instance));
        return;
    }
    let mut shares = vec![];
    for seed in 0..number("HQ_SIM_PLANS").unwrap_or(300) {
        let instance = PlanInstance::small(&mut Rng::new(seed));
        let best = exact::optimum(&instance);
        let plan = plan::of_core(&instance);
        assert!(plan.value <= best * 1.000_001, "seed {seed}: the core found more than there is: {plan:?}, {best}");
        let bound = bound::bound(&instance);
        assert!(bound >= best * 0.999_999, "seed {seed}: the bound {bound} is below the optimum {best}");
        shares.push(Share { share: if best > 0.0 { plan.value / best } else { 1.0 }, name: format!("seed {seed}") });
    }
    let (mean, worst) = summary("small", &shares);
    assert!(mean >= 0.99, "mean {mean}");
    assert!(worst >= 0.9, "worst {worst}");
}

#[test]
fn large_plans_come_close_to_the_bound() {
    let sizes: &[Size] = if number("HQ_SIM_PLANS").is_some() {
        &[
            Size { workers: 1000, classes: 100, tasks: 1_000_000, least: [0.99, 0.995], seeds: 10 },
            Size { workers: 300, classes: 100, tasks: 100_000, least: [0.99, 0.995], seeds: 10 },
            Size { workers: 1000, classes: 20, tasks: 1_000_000, least: [0.98, 0.99], seeds: 10 },
            // Tasks of some classes run out.
            Size { workers: 1000, classes: 100, tasks: 8_000, least: [0.99, 0.99], seeds: 10 },
            // The bound knows nothing of shares of a GPU of which no two go together on one.
            Size { workers: 300, classes: 30, tasks: 3_000, least: [0.96, 0.995], seeds: 10 },
            Size { workers: 100, classes: 100, tasks: 1_000, least: [0.985, 0.995], seeds: 10 },
            Size { workers: 100, classes: 100, tasks: 700, least: [0.98, 0.99], seeds: 10 },
        ]
    } else {
        &[
            Size { workers: 60, classes: 60, tasks: 20_000, least: [0.99, 0.995], seeds: 1 },
            Size { workers: 40, classes: 20, tasks: 300, least: [0.98, 0.99], seeds: 1 },
        ]
    };
    let kinds: [(&str, Make); 2] =
        [("large", PlanInstance::large), ("large, nothing fractional", PlanInstance::large_whole)];
    let mut short = vec![];
    for size in sizes {
        let Size { workers, classes, tasks, .. } = *size;
        for ((kind, make), least) in kinds.into_iter().zip(size.least) {
            let mut shares = vec![];
            for seed in 0..size.seeds {
                let instance = make(&mut Rng::new(seed), workers, classes, tasks);
                let (bound, plan) = (bound::bound(&instance), plan::of_core(&instance));
                assert!(plan.value <= bound * 1.000_001, "{kind}, seed {seed}: {} is above {bound}", plan.value);
                shares.push(Share { share: plan.value / bound, name: format!("seed {seed}") });
            }
            let what = format!("{kind}, {workers} workers, {classes} classes, {tasks} tasks");
            let (_, worst) = summary(&what, &shares);
            if worst < least {
                short.push(format!("{what}: {worst} is below {least}"));
            }
        }
    }
    assert!(short.is_empty(), "{}", short.join("\n"));
}

/// A kind of case, and the least share of the bound, with and without shares of a GPU.
struct Size {
    workers: usize,
    classes: usize,
    tasks: u64,
    least: [f64; 2],
    seeds: u64,
}

type Make = fn(&mut Rng, usize, usize, u64) -> PlanInstance;
