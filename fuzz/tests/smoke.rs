//! Each target over its seeds and some thousands of variants of them, the same each time. `HQ_FUZZ_RUNS` tries more,
//! `HQ_FUZZ_SEED` others, `HQ_FUZZ_TARGET` one target alone.

use std::{env, panic};

use hq_fuzz::{Mutator, Target, check, memory::Counting, targets};

#[global_allocator]
static COUNTING: Counting = Counting;

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().expect("a number"))
}

#[test]
fn no_input_breaks_a_promise() {
    let only = env::var("HQ_FUZZ_TARGET").ok();
    let mut broken = vec![];
    for target in targets().iter().filter(|target| only.as_deref().is_none_or(|name| name == target.name)) {
        broken.extend(break_it(target));
    }
    assert!(broken.is_empty(), "found:\n{}", broken.join("\n"));
}

/// The first input that does, and what is told of it.
fn break_it(target: &Target) -> Option<String> {
    // What costs much is tried less often.
    let runs = number("HQ_FUZZ_RUNS").unwrap_or(if target.is_slow { 200 } else { 3000 });
    let mut mutator = Mutator::new(number("HQ_FUZZ_SEED").unwrap_or(1));
    let variants = (0..runs).map(|_| mutator.input(&target.seeds));
    target.seeds.iter().cloned().chain(variants).find_map(|input| {
        let result = panic::catch_unwind(|| check(target, &input));
        let cause = result.err()?;
        let text = cause.downcast_ref::<String>().map(String::as_str).or(cause.downcast_ref::<&str>().copied());
        Some(format!("{}: b\"{}\": {}", target.name, input.escape_ascii(), text.unwrap_or("?")))
    })
}

#[test]
fn targets_have_names_of_their_own_and_seeds() {
    let targets = targets();
    let mut names: Vec<&str> = targets.iter().map(|target| target.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), targets.len());
    assert!(targets.iter().all(|target| !target.seeds.is_empty()));
}

#[test]
fn memory_is_counted() {
    let greedy = Target {
        name: "greedy",
        run: |_| drop(Vec::<u8>::with_capacity(5 << 20)),
        seeds: vec![],
        memory: (4 << 20, 1),
        is_slow: false,
    };
    assert!(panic::catch_unwind(|| check(&greedy, b"x")).is_err());
    check(&Target { memory: (5 << 20, 1), ..greedy }, b"");
}
