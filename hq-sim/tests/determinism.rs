//! I24 beyond one process: the same seed in other threads, in other processes, in other environments.

use std::{collections::BTreeSet, env, process, thread};

use hq_sim::chaos;

/// Few: each is run five times.
const SEEDS: [u64; 2] = [17, 71];
const ASKED: &str = "HQ_SIM_PRINT_DIGESTS";

/// What a run put out: all of its outputs, and its report.
fn digest(seed: u64) -> String {
    let outcome = chaos(seed).run();
    format!("{seed} {:016x} {} {:?}", outcome.trace.digest(), outcome.trace.len(), outcome.report)
}

fn digests() -> Vec<String> {
    SEEDS.into_iter().map(digest).collect()
}

#[test]
#[expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "a process is what is asked about")]
fn the_same_in_other_processes() {
    if env::var_os(ASKED).is_some() {
        return; // One of the others.
    }
    let here = digests();
    let other = |zone: &str, threads: &str| {
        let mut command = process::Command::new(env::current_exe().unwrap());
        // Another process has other hash seeds and addresses; these have another everything else as well.
        command.env_clear().env(ASKED, "1").env("TZ", zone);
        command.env("RUST_TEST_THREADS", threads).env("LC_ALL", "tr_TR.UTF-8").current_dir("/");
        command.args(["prints_what_it_is_asked_for", "--exact", "--nocapture"]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().filter_map(|line| line.split_once("digest: ")).map(|(_, digest)| digest.to_owned());
        lines.collect::<Vec<String>>()
    };
    for (zone, threads) in [("UTC", "1"), ("Asia/Kathmandu", "7")] {
        assert_eq!(other(zone, threads), here);
    }
}

#[test]
#[expect(clippy::disallowed_methods, clippy::print_stdout, reason = "it is asked by another process")]
fn prints_what_it_is_asked_for() {
    if env::var_os(ASKED).is_some() {
        digests().iter().for_each(|digest| println!("digest: {digest}"));
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "threads are what is asked about")]
fn the_same_in_other_threads() {
    // At once, so that nothing that they share could stay the same by chance.
    let runs: Vec<Vec<String>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(digests)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let distinct: BTreeSet<&Vec<String>> = runs.iter().collect();
    assert_eq!(distinct.len(), 1, "{runs:?}");
    let of_each_seed: BTreeSet<&String> = runs[0].iter().collect();
    assert_eq!(of_each_seed.len(), SEEDS.len(), "another seed is another run");
}
