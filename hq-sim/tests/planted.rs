//! Faults that were planted on purpose are found, each within a few seeds.

use hq_sim::{Planted, Simulation, chaos, chaos_returning};

/// The first seed that finds it, and by what.
fn found(make: fn(u64) -> Simulation, planted: Planted, seeds: u64) -> Option<(u64, String)> {
    (0..seeds).find_map(|seed| {
        let outcome = std::panic::catch_unwind(|| make(seed).plant(planted).run().report);
        match outcome {
            Ok(Ok(_)) => None,
            Ok(Err(broken)) => Some((seed, broken.what)),
            Err(_) => Some((seed, "a panic".to_owned())),
        }
    })
}

#[test]
fn each_planted_fault_is_found() {
    let mut missed = vec![];
    for planted in Planted::ALL {
        // What only shows when workers come back, or when servers die often, needs such.
        let often = matches!(planted, Planted::LostAdoption | Planted::ForgottenRetries);
        let make = if often { chaos_returning } else { chaos };
        match found(make, planted, 60) {
            Some((seed, what)) => {
                say(&format!("{planted:?}: seed {seed}, {}", what.chars().take(160).collect::<String>()))
            }
            None => missed.push(planted),
        }
    }
    assert_eq!(missed, [], "nobody notices");
}

#[expect(clippy::print_stderr, reason = "shown with --nocapture, and where the test fails")]
fn say(line: &str) {
    eprintln!("{line}");
}
