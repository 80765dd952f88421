//! Commands as processes: bounded in time and output, with all that they start, and never through a shell.

use std::{fs, time::Duration};

use hq_backend::{CommandError, CommandFailure, CommandLine, CommandRunner as _, ProcessRunner};

fn sh(script: &str) -> CommandLine {
    CommandLine::new("sh", ["-c", script])
}

/// Whether a process of this number runs.
fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z")
}

#[tokio::test]
async fn outputs_and_codes() {
    let runner = ProcessRunner::new();
    let output = runner.run(&sh("printf out; printf err >&2; exit 3")).await.unwrap();
    assert_eq!((output.code, &*output.out(), &*output.err(), output.is_cut), (Some(3), "out", "err", false));
    let output = runner.run(&sh("kill -9 $$")).await.unwrap();
    assert_eq!((output.code, output.is_success()), (None, false));
    let odd = CommandLine::new("printf", ["%s|", "$HOME", "a b", "`x`", "a;b\n"]);
    assert_eq!(runner.run(&odd).await.unwrap().out(), "$HOME|a b|`x`|a;b\n|");
}

#[tokio::test]
async fn input_environment_and_place() {
    let runner = ProcessRunner::new();
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    let mut line = sh("cat; printf '%s|' \"$LC_ALL\" \"$TZ\" \"${PATH+set}\" \"$(pwd)\"").in_dir(Some(dir.clone()));
    line.stdin = b"in|".to_vec();
    line = line.in_plain_words();
    assert_eq!(runner.run(&line).await.unwrap().out(), format!("in|C|UTC0|set|{}|", dir.display()));
    // A directory that is gone is no reason to leave a job alive.
    let gone = sh("printf here").in_dir(Some(dir.join("gone")));
    assert_eq!(runner.run(&gone).await.unwrap().out(), "here");
    // Who does not read is not waited for.
    let mut deaf = sh("exit 0");
    deaf.stdin = vec![b'x'; 1 << 20];
    assert!(runner.run(&deaf).await.unwrap().is_success());
}

#[tokio::test]
async fn a_long_output_is_cut_and_read_to_its_end() {
    let runner = ProcessRunner::new();
    let mut line = sh("head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2; echo end >&2");
    line.output_bytes_max = 1_000;
    let output = runner.run(&line).await.unwrap();
    assert_eq!((output.code, output.stdout.len(), output.stderr.len(), output.is_cut), (Some(0), 1_000, 1_000, true));
}

#[tokio::test]
async fn a_command_that_hangs_is_ended_with_all_that_it_started() {
    let runner = ProcessRunner::new();
    let line = sh("echo said; sleep 1000 & echo $! >&2; wait").within(Duration::from_secs(2));
    let Err(CommandError::TimedOut { limit, output }) = runner.run(&line).await else { panic!("it hangs") };
    assert_eq!((limit.as_millis(), &*output.out()), (2000, "said\n"));
    let child = output.err().into_owned();
    while is_alive(&child) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_its_command() {
    let dir = tempfile::tempdir().unwrap();
    let pid = dir.path().join("pid");
    let line = sh("sleep 1000 & echo $! > pid.new; mv pid.new pid; wait").in_dir(Some(dir.path().to_owned()));
    let runner = ProcessRunner::new();
    let call = tokio::spawn(async move { runner.run(&line).await });
    while !pid.exists() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    call.abort();
    let child = fs::read_to_string(pid).unwrap();
    while is_alive(&child) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn what_a_command_leaves_behind_does_not_hold_it() {
    let runner = ProcessRunner::new();
    // The child keeps the output open.
    let output = runner.run(&sh("sleep 1000 & echo $!")).await.unwrap();
    let child = output.out().into_owned();
    assert!(output.is_success() && is_alive(&child), "what it left on purpose lives");
    assert!(runner.run(&CommandLine::new("kill", [child.trim()])).await.unwrap().is_success());
}

#[tokio::test]
async fn commands_run_at_the_same_time() {
    let runner = ProcessRunner::new();
    let dir = tempfile::tempdir().unwrap();
    // Each waits until eight run; were fewer allowed, or more needed, it would hang until its time is over.
    let script = "touch $$.run; while [ $(ls *.run | wc -l) -lt 8 ]; do sleep 0.01; done; ls *.run | wc -l";
    let line = sh(script).in_dir(Some(dir.path().to_owned())).within(Duration::from_secs(60));
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let (runner, line) = (runner.clone(), line.clone());
            tokio::spawn(async move { runner.run(&line).await })
        })
        .collect();
    for call in calls {
        let output = call.await.unwrap().unwrap();
        assert_eq!((output.code, output.out().trim()), (Some(0), "8"));
    }
}

#[tokio::test]
async fn a_program_that_is_not_there() {
    let outcome = ProcessRunner::new().run(&CommandLine::new("no-such-program", ["x"])).await;
    let failure = CommandFailure { program: "no-such-program".to_owned(), outcome };
    assert!(failure.to_string().starts_with("no-such-program start failed: "), "{failure}");
    assert!(failure.brief().starts_with("no-such-program: "), "{}", failure.brief());
    let advice = "not in the PATH of the server: start the server where it is installed";
    assert!(failure.to_string().contains(&format!("\nThe program `no-such-program` is {advice}")), "{failure}");
    assert!(failure.brief().contains(advice), "{}", failure.brief());
}
