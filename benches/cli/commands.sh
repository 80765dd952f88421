#!/usr/bin/env bash
# How long a whole `hq job list` takes, warm: process start, connection, answer, table. Prints the median and the mean
# of 200 runs, beside those of /bin/true, started in the same way; and the cpu time of a run, which does not depend on
# what else the machine does. The same of `hq submit`, with the sum of all runs, and of a submit of an array of a million.
#
#     cargo build --release -p hq-cli && benches/cli/commands.sh target/release/hq
set -euo pipefail
hq=$(realpath "$1")
runs=${2:-200}
dir=$(mktemp -d)
trap '"$hq" --server-dir "$dir" server stop 2> /dev/null || true; rm -rf "$dir"' EXIT
"$hq" --server-dir "$dir" server start > "$dir/log" 2>&1 &
"$hq" --server-dir "$dir" server wait
for _ in $(seq 20); do "$hq" --server-dir "$dir" submit true > /dev/null; done

# Times of the runs of a command in microseconds, one a line.
times() {
    for _ in $(seq "$runs"); do
        local start=$EPOCHREALTIME
        "$@" > /dev/null
        local end=$EPOCHREALTIME
        echo $((${end/./} - ${start/./}))
    done
}

# Cpu time of a run of a command, in milliseconds.
cpu() {
    local name=$1
    shift
    TIMEFORMAT='%U %S'
    { time (for _ in $(seq "$runs"); do "$@" > /dev/null 2>&1; done); } 2>&1 |
        awk -v name="$name" -v runs="$runs" '{ printf "%-12s cpu %.2f ms\n", name, ($1 + $2) * 1000 / runs }'
}

report() {
    sort -n | awk -v name="$1" '{ t[NR] = $1; sum += $1 }
        END { printf "%-12s median %.2f ms, mean %.2f ms, p95 %.2f ms, %d runs %.2f s\n", name, t[int((NR + 1) / 2)] / 1000, sum / NR / 1000, t[int(NR * .95)] / 1000, NR, sum / 1000000 }'
}

times /bin/true > /dev/null
times /bin/true | report /bin/true
times "$hq" --server-dir "$dir" job list > /dev/null
times "$hq" --server-dir "$dir" job list | report "hq job list"
cpu /bin/true /bin/true
cpu "hq job list" "$hq" --server-dir "$dir" job list
times "$hq" --server-dir "$dir" submit true | report "hq submit"
times "$hq" --server-dir "$dir" submit --array=1-1000000 --stdout=none --stderr=none true | report "1 M tasks"
