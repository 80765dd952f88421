#!/usr/bin/env bash
# Runs workflows through Snakemake and its executor cluster-generic, installed from PyPI, with `hq` as the cluster.
# HQ_BIN=target/debug/hq tests/tools/snakemake.sh; VENV=<path> keeps what is installed, KEEP=1 the logs of a failure.
tool=snakemake.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

set_up
install 'snakemake>=8' snakemake-executor-plugin-cluster-generic
hq server start >"$room/server.log" 2>&1 &
timeout 60 hq server wait
start_worker

# snake <name> <option>...: Snakemake in a directory of its own, as the page of its executor has it.
snake() {
    local dir=$room/$1
    shift
    cd "$dir"
    timeout 300 snakemake --executor cluster-generic --jobs 8 --seconds-between-status-checks 1 "$@" >log 2>&1
}

# Six rules: a fan-out over three samples, a chain for each, a merge.
mkdir "$room/plain"
cat >"$room/plain/Snakefile" <<'SNAKE'
rule all:
    input: "report.txt"
rule make:
    output: "raw/{s}.txt"
    threads: 2
    shell: "seq {threads} 10 > {output}"
rule sort:
    input: "raw/{s}.txt"
    output: "sorted/{s}.txt"
    shell: "sort -rn {input} > {output}"
rule sum:
    input: "sorted/{s}.txt"
    output: "sum/{s}.txt"
    shell: "awk '{{n += $1}} END {{print n}}' {input} > {output}"
rule merge:
    input: expand("sum/{s}.txt", s=["a", "b", "c"])
    output: "merged.txt"
    shell: "cat {input} > {output}"
rule report:
    input: "merged.txt"
    output: "report.txt"
    shell: "paste -sd+ {input} > {output}"
SNAKE
cp -r "$room/plain" "$room/status"

# With nothing but a command that submits: Snakemake watches files that its scripts touch.
snake plain --cluster-generic-submit-cmd 'hq submit --cpus 2' || fail "without a status command: $(tail -n 1 log)"
expect "report without a status command" "54+54+54" "$(cat report.txt)"
expect "id that Snakemake read" "Job submitted successfully, job ID: 1" \
    "$(sed -n "s/.*external jobid '\(.*\)'.*/\1/p" log | head -n 1)"
in_state FINISHED 11 || fail "11 jobs should have finished: $(hq --output-mode=quiet job list --all | tr '\n' ' ')"

# The command that cancels is one word, which gets the ids as its arguments.
printf '#!/bin/sh\nexec hq job cancel "$@"\n' >"$room/bin/hq-cancel"
chmod +x "$room/bin/hq-cancel"
full=(--cluster-generic-submit-cmd 'hq --output-mode=quiet submit --cpus {threads}'
    --cluster-generic-status-cmd 'hq job status --snakemake' --cluster-generic-cancel-cmd hq-cancel)

snake status "${full[@]}" || fail "with a status command: $(tail -n 1 log)"
expect "report with a status command" "54+54+54" "$(cat report.txt)"
expect "id that Snakemake read in quiet mode" 12 "$(sed -n "s/.*external jobid '\(.*\)'.*/\1/p" log | head -n 1)"
in_state FINISHED 22 || fail "22 jobs should have finished: $(hq --output-mode=quiet job list --all | tr '\n' ' ')"

# A rule that fails: Snakemake says so, names its job, runs what does not need it, and exits with 1.
mkdir "$room/failing"
cat >"$room/failing/Snakefile" <<'SNAKE'
rule all:
    input: "bad.txt", "good.txt"
rule bad:
    output: "bad.txt"
    shell: "exit 7"
rule good:
    output: "good.txt"
    shell: "echo good > {output}"
SNAKE
code=0
snake failing "${full[@]}" --keep-going || code=$?
expect "exit code of Snakemake when a rule fails" 1 $code
expect "output of the rule beside the one that fails" good "$(cat good.txt 2>/dev/null)"
grep -q 'Error in rule bad' log || fail "Snakemake did not see that a rule had failed: $(tail -n 1 log)"
failed=$(sed -n 's/.*external_jobid: \([0-9]*\).*/\1/p' log | head -n 1)
expect "state of the job that failed" failed "$(hq job status --snakemake "$failed")"

# Snakemake is interrupted: it cancels what it has submitted.
mkdir "$room/long"
cat >"$room/long/Snakefile" <<'SNAKE'
rule all:
    input: "long1", "long2", "long3"
rule long:
    output: "long{i}"
    threads: 2
    shell: "sleep 600"
SNAKE
cd "$room/long"
# Job control, as without it a shell lets its background ignore the interruption.
set -m
snakemake --executor cluster-generic --jobs 8 --seconds-between-status-checks 1 "${full[@]}" >log 2>&1 &
snakemake=$!
set +m
two_run_one_waits() { in_state RUNNING 2 && in_state WAITING 1; }
wait_for "two long jobs to run and one to wait" two_run_one_waits
kill -INT $snakemake
code=0
wait $snakemake || code=$?
[ $code -ne 0 ] || fail "Snakemake was interrupted and yet exited with 0"
all_canceled() { in_state CANCELED 3; }
wait_for "the jobs of an interrupted Snakemake to be canceled" all_canceled

echo "$tool: Snakemake $(snakemake --version) ran, failed and was canceled as it should, in $SECONDS s"
