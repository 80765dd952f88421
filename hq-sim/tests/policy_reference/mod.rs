//! Queues of batch jobs on one machine, written down as plainly as possible: what the scheduler is held against.

use std::collections::BTreeSet;

use hq_core::{Quantity, Span};
use hq_sim::workload::{Workload, WorkloadTask};

/// What goes first; smaller is earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Arrival,
    Estimate,
    Area,
}

/// What may overtake the first that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backfilling {
    None,
    /// Whatever does not delay the first, as far as estimates tell: it ends by the *shadow time*, when the first will fit, or
    /// it needs no more than will be left beside the first when all that ends by then has ended.
    Easy,
}

pub(crate) fn cpus_of(job: &WorkloadTask) -> u64 {
    match job.request.get(0).unwrap().entries()[0].quantity {
        Quantity::Amount(amount, _) => amount.whole(),
        Quantity::All => panic!("a number of cpus"),
    }
}

/// When each job starts. All that happens at one moment happens before a decision.
pub(crate) fn starts(workload: &Workload, cpus: u64, by: By, backfilling: Backfilling) -> Vec<Span> {
    let jobs = workload.jobs();
    let estimate = |i: usize| jobs[i].estimate.unwrap_or(jobs[i].run).0;
    let rank = |i: usize| match by {
        By::Arrival => (0, i),
        By::Estimate => (estimate(i), i),
        By::Area => (estimate(i) * cpus_of(&jobs[i]), i),
    };
    let mut starts = vec![Span::ZERO; jobs.len()];
    let mut free = cpus;
    let mut next = 0;
    let mut queue: BTreeSet<(u64, usize)> = BTreeSet::new();
    // By real end, and by expected end.
    let mut running: BTreeSet<(u64, usize)> = BTreeSet::new();
    let mut expected: BTreeSet<(u64, usize)> = BTreeSet::new();
    while let Some(now) =
        running.first().map(|(end, _)| *end).into_iter().chain(jobs.get(next).map(|job| job.arrival.0)).min()
    {
        while let Some((_, i)) = running.first().copied().filter(|(end, _)| *end <= now) {
            running.pop_first();
            expected.remove(&(starts[i].0 + estimate(i), i));
            free += cpus_of(&jobs[i]);
        }
        while jobs.get(next).is_some_and(|job| job.arrival.0 <= now) {
            queue.insert(rank(next));
            next += 1;
        }
        let mut hold: Option<(u64, u64)> = None;
        for (key, i) in queue.clone() {
            let need = cpus_of(&jobs[i]);
            let by_shadow = hold.is_none_or(|(shadow, _)| now + estimate(i) <= shadow);
            if need <= free && (by_shadow || hold.is_some_and(|(_, beside)| need <= beside)) {
                if let Some((_, beside)) = hold.as_mut().filter(|_| !by_shadow) {
                    *beside -= need;
                }
                queue.remove(&(key, i));
                starts[i] = Span(now);
                free -= need;
                running.insert((now + jobs[i].run.0, i));
                expected.insert((now + estimate(i), i));
            } else if hold.is_none() {
                if backfilling == Backfilling::None {
                    break;
                }
                hold = Some(shadow(&expected, free, need, |i| cpus_of(&jobs[i])));
            }
            if free == 0 {
                break;
            }
        }
    }
    starts
}

/// When `need` cpus are expected to be free, and how many are left beside them then.
fn shadow(expected: &BTreeSet<(u64, usize)>, free: u64, need: u64, cpus: impl Fn(usize) -> u64) -> (u64, u64) {
    let (mut free, mut shadow) = (free, None);
    for (end, i) in expected {
        if shadow.is_some_and(|shadow| shadow < *end) {
            break;
        }
        free += cpus(*i);
        if free >= need {
            shadow = Some(*end);
        }
    }
    (shadow.unwrap_or(u64::MAX), free.saturating_sub(need))
}
