//! Chores of this repository: `cargo xtask deep [STEP…]` runs what takes too long for each change, all of it or the steps that are
//! named. Each goes on where another fails; the last lines tell what came of each, and the exit code is 0 if all went well.

#![forbid(unsafe_code)]

mod steps;

use std::{
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use steps::{DEEP, Step};

const USAGE: &str = "Usage: cargo xtask deep [STEP…]\n\nSteps:";

#[expect(clippy::print_stderr, reason = "it is a program")]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match chosen(&words) {
        Ok(steps) => deep(&steps),
        Err(error) => {
            let all = DEEP.iter().map(|step| format!("\n  {:<16}{}", step.name, step.shows));
            eprintln!("cargo xtask: {error}\n\n{USAGE}{}", all.collect::<String>());
            ExitCode::from(2)
        }
    }
}

/// The steps that the words ask for, in the order of the list.
fn chosen(words: &[String]) -> Result<Vec<&'static Step>, String> {
    match words.split_first() {
        Some((command, [])) if command == "deep" => Ok(DEEP.iter().collect()),
        Some((command, names)) if command == "deep" => {
            match names.iter().find(|name| DEEP.iter().all(|step| step.name != **name)) {
                Some(name) => Err(format!("there is no step `{name}`")),
                None => Ok(DEEP.iter().filter(|step| names.iter().any(|name| name == step.name)).collect()),
            }
        }
        Some((command, _)) => Err(format!("there is no command `{command}`")),
        None => Err("no command".to_owned()),
    }
}

#[expect(clippy::print_stdout, reason = "it is a program")]
fn deep(steps: &[&Step]) -> ExitCode {
    let mut results = Vec::new();
    for step in steps {
        println!("== {}: {}", step.name, step.shows);
        let begun = Instant::now();
        let outcome = run(step);
        results.push((step.name, outcome, begun.elapsed()));
    }
    println!("\n| Step | Result | Time |\n|---|---|---|");
    for (name, outcome, took) in &results {
        println!(
            "| {name} | {} | {} |",
            outcome.as_ref().map_or_else(String::as_str, |()| "passed"),
            whole_seconds(*took)
        );
    }
    if results.iter().all(|(_, outcome, _)| outcome.is_ok()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// `cargo` as it is found, since that of the running toolchain knows no other toolchains.
fn run(step: &Step) -> Result<(), String> {
    let status = Command::new("cargo").args(step.args).envs(step.env.iter().copied()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("failed: {status}")),
        Err(error) => Err(format!("cargo does not start: {error}")),
    }
}

fn whole_seconds(time: Duration) -> String {
    format!("{} s", time.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_chosen_by_name() {
        let names = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            chosen(&words).map(|steps| steps.iter().map(|step| step.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["deep"]).unwrap().len(), DEEP.len());
        assert_eq!(names(&["deep", "plans", "seeds"]).unwrap(), ["seeds", "plans"]);
        assert_eq!(names(&["deep", "nothing"]).unwrap_err(), "there is no step `nothing`");
        assert_eq!(names(&["shallow"]).unwrap_err(), "there is no command `shallow`");
        assert_eq!(names(&[]).unwrap_err(), "no command");
    }
}
