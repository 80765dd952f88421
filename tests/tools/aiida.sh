#!/usr/bin/env bash
# Runs calculations of AiiDA through aiida-hyperqueue, both installed from PyPI, and the plugin's own command `aiida-hq`.
# No services: a profile on SQLite, no daemon. Needs jq, which the plugin calls.
# HQ_BIN=target/debug/hq tests/tools/aiida.sh; VENV=<path> keeps what is installed, KEEP=1 the logs of a failure.
tool=aiida.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

command -v jq >/dev/null || fail "jq is missing"
set_up
install 'aiida-core>=2.6,<3' aiida-hyperqueue
cd "$room"
export AIIDA_PATH="$room/aiida"
mkdir "$AIIDA_PATH"

# quietly <what> <command>...
quietly() {
    local what=$1
    shift
    "$@" >>"$room/log" 2>&1 || fail "$what: $(tail -n 1 "$room/log")"
}
quietly "no profile" verdi presto --profile-name hq
quietly "no computer" verdi computer setup --non-interactive --label hq --hostname localhost --description '' \
    --transport core.local --scheduler hyperqueue --work-dir "$room/work" --mpiprocs-per-machine 1
# A login shell would set PATH anew, and so lose `hq`.
quietly "no access to the computer" verdi computer configure core.local hq --non-interactive --safe-interval 0 \
    --no-use-login-shell

if aiida-hq server info hq >"$room/log" 2>&1; then fail "aiida-hq server info is content without a server"; fi
quietly "aiida-hq server start" aiida-hq server start hq
timeout 60 hq server wait || fail "the server that aiida-hq started does not answer"
aiida-hq server info hq >"$room/info" 2>&1 || fail "aiida-hq server info: $(tail -n 1 "$room/info")"
grep -q 'Start date' "$room/info" || fail "aiida-hq server info has no row 'Start date'"
start_worker

python "$here/aiida_calculations.py" "$room" >>"$room/log" 2>"$room/err" ||
    fail "$(grep '^aiida.sh: ' "$room/err" | sed 's/^aiida.sh: //' | grep . || tail -n 1 "$room/err")"
if grep -q 'there was some text in stderr\|non-empty stderr' "$room/log" "$room/err"; then
    fail "hq wrote to stderr: $(grep -h 'stderr' "$room/log" "$room/err" | head -n 1)"
fi

# Automatic allocation, where this hq has it.
if hq alloc --help >/dev/null 2>&1; then
    quietly "aiida-hq alloc list" aiida-hq alloc list hq
    alloc="checked"
else
    alloc="left out, this hq has none"
fi

quietly "aiida-hq server stop" aiida-hq server stop hq
if hq server info >/dev/null 2>&1; then fail "the server still answers after aiida-hq server stop"; fi

echo "$tool: AiiDA $(python -c 'import aiida; print(aiida.__version__)') ran, failed and was canceled as it should" \
    "(aiida-hq alloc: $alloc), in $SECONDS s"
