//! The sentences that callers look for, all in one table: whoever changes one sees here that it is a contract (cli.md, †).

use std::fs;

use hq_tests::Cluster;

/// What is called, how it ends, and what it prints among other things.
type Row = (&'static [&'static str], i32, &'static str);

/// In this order, on a server with the worker `w` of one cpu and three jobs: 1 has finished, 2 has failed, 3 is open and empty.
const ROWS: &[Row] = &[
    (&["job", "info", "5"], 0, "ERROR Job 5 not found"),
    (&["job", "cancel", "1"], 0, "ERROR Canceling job 1 failed; all tasks are already finished"),
    (&["job", "cancel", "9"], 0, "ERROR Canceling job 9 failed; job not found"),
    (&["job", "cancel", "all"], 0, "INFO There is nothing to cancel"),
    (&["job", "close", "3"], 0, "INFO Job 3 closed"),
    (&["job", "close", "3"], 0, "ERROR Closing job 3 failed; job is already closed"),
    (&["job", "close", "9"], 0, "ERROR Closing job 9 failed; job not found"),
    (&["job", "close", "all"], 0, "INFO There is nothing to close"),
    (&["job", "cat", "99", "stdout"], 0, "ERROR Job 99 was not found"),
    (&["job", "cat", "1", "stdout", "--tasks=7"], 0, "WARN Task 7 of job 1 not found"),
    (
        &["job", "cat", "1", "stdout", "--tasks=7"],
        0,
        "WARN No tasks were selected for job 1, there is nothing to print",
    ),
    (&["job", "cat", "1", "stderr"], 0, "WARN Task 0 has no `stderr` stream associated with it"),
    (&["--output-mode=json", "job", "cat", "1", "stdout"], 1, "JSON output mode doesn't support job output"),
    (&["job", "progress", "99"], 0, "WARN There are no jobs to wait for"),
    (&["job", "list"], 0, "There are 3 jobs in total. Use `--all` to display all jobs."),
    (&["job", "info", "2"], 0, "1 tasks failed."),
    (&["job", "info", "2"], 0, "Cannot execute \"foo --bar --baz=5\": No such file or directory (os error 2)"),
    (&["job", "info", "2"], 0, "The program that you have tried to execute (`foo`) was not found."),
    (&["task", "info", "1", "4"], 0, "WARN Task 4 not found"),
    (&["task", "info", "9", "4"], 0, "ERROR Cannot find job 9"),
    (&["task", "list", "99"], 0, "WARN Job 99 not found"),
    (&["task", "explain", "9", "0"], 1, "Error: Job not found"),
    (&["task", "explain", "1", "0"], 1, "Error: Explain command works only for tasks in WAITING or RUNNING state"),
    (&["submit", "--job=9", "true"], 1, "Job 9 not found"),
    (&["submit", "--job=3", "true"], 1, "Job 3 is not open"),
    (&["submit", "--job=1", "--name=x", "true"], 1, "Parameter --name is not allowed when submitting to an open job."),
    (
        &["submit", "--job=1", "--max-fails=1", "true"],
        1,
        "Parameter --max-fails is not allowed when submitting to an open job.",
    ),
    (&["submit", "--cpus=1", "--resource=cpus=2", "true"], 1, "--cpus and --resource cpus=... cannot be combined"),
    (&["submit", "--resource=foo=1", "--resource=foo=2", "true"], 1, "Resource 'foo' defined more than once"),
    (&["submit", "--resource=foo=0", "true"], 2, "Zero resources cannot be requested"),
    (&["submit", "--array=5-1", "true"], 2, "Invalid range"),
    (&["submit", "--array=1-3,2", "true"], 2, "Ranges overlap"),
    (&["submit", "--from-json=object.json", "true"], 1, "The top element of the provided JSON file has to be an array"),
    (&["submit", "--directives=stdin", "true"], 1, "You have to use `--stdin` when you specify `--directives=stdin`"),
    (
        &["submit", "--cwd=%{CWD}/x", "true"],
        1,
        "Working directory path cannot contain the working directory placeholder `%{CWD}`.",
    ),
    (
        &["submit", "--stdout=%{FOO}", "--stderr=%{BAR}%{BAZ}", "true"],
        0,
        "WARN Found unknown placeholder `FOO` in stdout path",
    ),
    (
        &["submit", "--stdout=%{FOO}", "--stderr=%{BAR}%{BAZ}", "true"],
        0,
        "WARN Found unknown placeholders `BAR, BAZ` in stderr path",
    ),
    (
        &["submit", "--array=1-2", "--stdout=x", "true"],
        0,
        "WARN You have submitted an array job, but the `stdout` path does not contain the task ID placeholder.",
    ),
    (&["submit", "true"], 0, "Job submitted successfully, job ID: 7"),
    (&["job", "open"], 0, "Job 8 is open."),
    (&["job", "forget", "2"], 0, "INFO 1 job were forgotten"),
    (&["job", "forget", "2"], 0, "INFO 0 jobs were forgotten, 1 were ignored due to wrong state or invalid ID"),
    (&["worker", "info", "9"], 0, "ERROR Worker 9 not found"),
    (&["worker", "address", "9"], 1, "Worker 9 not found"),
    (&["worker", "stop", "9"], 0, "ERROR Stopping worker 9 failed; worker not found"),
    (&["worker", "stop", "1"], 0, "INFO Worker 1 stopped"),
    (
        &["worker", "start", "--detect-resources=none"],
        1,
        "You have to specify --cpus explicitly when opting out of CPU automatic detection",
    ),
    (&["worker", "start", "--cpus=sum(5)"], 1, "Resource kind `sum` cannot be used with CPUs"),
    (&["worker", "start", "--cpus=1", "--resource=cpus=1"], 1, "--cpus and --resource cpus=... cannot be combined"),
    (
        &["worker", "start", "--cpus=1", "--min-utilization=2"],
        2,
        "Minimal utilization has to be in the interval [0.0, 1.0].",
    ),
];

#[test]
fn sentences_are_as_callers_know_them() {
    let mut cluster = Cluster::start();
    fs::write(cluster.path("object.json"), "{}").unwrap();
    let _worker = cluster.worker("w", "1");
    cluster.submit(&["--stderr=none", "true"]);
    cluster.submit(&["foo", "--bar", "--baz=5"]);
    cluster.hq(&["job", "wait", "1-2"]).ok();
    cluster.hq(&["job", "open"]).ok();
    let mut wrong = String::new();
    for (args, code, sentence) in ROWS {
        let output = cluster.hq(args);
        if output.code != *code || !format!("{}{}", output.stdout, output.stderr).contains(sentence) {
            wrong += &format!("hq {} => {code} {sentence:?}, and it is {output:?}\n", args.join(" "));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
