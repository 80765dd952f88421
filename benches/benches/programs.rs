//! Real `/bin/true` through server and workers, beside a bare loop that spawns as many with the same set-up.
//!
//! `cargo bench -p hq-benches --bench programs [-- TASKS]`
#![allow(clippy::print_stdout, missing_docs)]

use std::{
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use hq_engine::{Engine, Job, LocalWorker, Task};

/// Programs that run at a time.
const WIDTH: u32 = 2;

fn main() {
    let tasks = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(10_000u32);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // In turn, so that what else the machine does hits both.
    let mut ratios = Vec::new();
    for _ in 0..3 {
        let bare = bare_loop(tasks);
        let ours = runtime.block_on(engine(tasks));
        println!(
            "bare loop {:>7.0}/s, engine {:>7.0}/s: {:.1} %",
            rate(tasks, bare),
            rate(tasks, ours),
            bare.as_secs_f64() / ours.as_secs_f64() * 100.0
        );
        ratios.push(bare.as_secs_f64() / ours.as_secs_f64());
    }
    ratios.sort_by(f64::total_cmp);
    println!("median: {:.1} % of a bare loop of {WIDTH} at a time", ratios[1] * 100.0);
}

fn rate(tasks: u32, took: Duration) -> f64 {
    f64::from(tasks) / took.as_secs_f64()
}

/// A session of its own, nothing to read, nowhere to write: what a task without outputs gets.
fn bare_loop(tasks: u32) -> Duration {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..WIDTH {
            scope.spawn(|| {
                for _ in 0..tasks / WIDTH {
                    let mut command = Command::new("/bin/true");
                    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                    #[allow(unsafe_code)]
                    // SAFETY: setsid and prctl are async-signal-safe.
                    unsafe {
                        command.pre_exec(|| {
                            libc::setsid();
                            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                            Ok(())
                        });
                    }
                    assert!(command.status().unwrap().success());
                }
            });
        }
    });
    start.elapsed()
}

async fn engine(tasks: u32) -> Duration {
    let engine = Engine::builder().worker(LocalWorker::cpus(WIDTH)).start().await.unwrap();
    let start = Instant::now();
    let job = engine.submit(Job::array(0..tasks, Task::program("/bin/true"))).await.unwrap();
    let result = job.wait().await.unwrap();
    let took = start.elapsed();
    assert!(result.is_success());
    engine.shutdown().await.unwrap();
    took
}
