//! Builds the targets for libFuzzer and runs each for `HQ_FUZZ_SECONDS` (60), or those that are named. What is found lies in
//! the target directory, under `fuzz/NAME`, with what was learnt before. Needs a C++ compiler, and no other toolchain.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use hq_fuzz::{Target, targets};

/// What rustc has to put in for libFuzzer to see where an input leads.
const COVERAGE: [&str; 7] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cdebug-assertions",
    "-Ccodegen-units=1",
];

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]
fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let seconds = std::env::var("HQ_FUZZ_SECONDS").unwrap_or_else(|_| "60".to_owned());
    let (binary, work) = match build() {
        Ok(paths) => paths,
        Err(reason) => {
            eprintln!("fuzz: {reason}");
            return ExitCode::FAILURE;
        }
    };
    let mut failed = vec![];
    for target in targets().into_iter().filter(|it| names.is_empty() || names.iter().any(|name| name == it.name)) {
        println!("== {} for {seconds} s", target.name);
        if let Err(reason) = fuzz(&binary, &work, &target, &seconds) {
            println!("{}: {reason}", target.name);
            failed.push(target.name);
        }
    }
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("found something: {}", failed.join(", "));
    ExitCode::FAILURE
}

/// The binary, and where inputs are kept.
fn build() -> Result<(PathBuf, PathBuf), String> {
    let host = host()?;
    let arguments =
        ["build", "--locked", "-p", "hq-fuzz", "--features", "libfuzzer", "--bin", "guided", "--target", &host];
    // With a target named, neither build scripts nor macros are built that way.
    let status =
        Command::new("cargo").args(arguments).args(["--profile", "fuzz"]).env("RUSTFLAGS", COVERAGE.join(" ")).status();
    if !status.map_err(|error| format!("cargo does not start: {error}"))?.success() {
        return Err("cannot build the targets; a C++ compiler is needed".to_owned());
    }
    // This program lies in the directory of its profile.
    let here = std::env::current_exe().map_err(|error| error.to_string())?;
    let dir = here.parent().and_then(Path::parent).ok_or("there is no target directory")?;
    Ok((dir.join(host).join("fuzz/guided"), dir.join("fuzz")))
}

fn host() -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output().map_err(|error| format!("rustc does not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned).ok_or("rustc names no host".to_owned())
}

fn fuzz(binary: &Path, work: &Path, target: &Target, seconds: &str) -> Result<(), String> {
    let corpus = work.join(target.name);
    let found = work.join("found").join(target.name);
    for dir in [&corpus, &found] {
        fs::create_dir_all(dir).map_err(|error| format!("cannot make {}: {error}", dir.display()))?;
    }
    for (i, seed) in target.seeds.iter().enumerate() {
        fs::write(corpus.join(format!("seed-{i}")), seed).map_err(|error| error.to_string())?;
    }
    let artifacts = format!("-artifact_prefix={}/", found.display());
    let time = format!("-max_total_time={seconds}");
    let status = Command::new(binary)
        .args([
            &time,
            &artifacts,
            "-timeout=10",
            "-rss_limit_mb=2048",
            "-max_len=8192",
            "-print_final_stats=1",
            "-print_funcs=0",
            "-verbosity=0",
        ])
        .arg(&corpus)
        .env("HQ_FUZZ_TARGET", target.name)
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{status}; the input is in {}", found.display())),
        Err(error) => Err(format!("cannot run {}: {error}", binary.display())),
    }
}
