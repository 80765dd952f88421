# What the checks with real tools share; sourced, not run. Needs HQ_BIN, python3 with venv, and PyPI.
set -euo pipefail

fail() {
    echo "$tool: $*" >&2
    exit 1
}

# Makes $room, which goes away at the end, with `hq` on PATH and a server directory and a home of its own.
set_up() {
    [ -x "${HQ_BIN:-}" ] || fail "set HQ_BIN to a built hq, e.g. HQ_BIN=target/debug/hq"
    command -v python3 >/dev/null || fail "python3 is missing"
    room=$(mktemp -d)
    trap tear_down EXIT
    mkdir "$room/bin" "$room/home"
    cp "$(realpath "$HQ_BIN")" "$room/bin/hq"
    export PATH="$room/bin:$PATH" HQ_SERVER_DIR="$room/server" HOME="$room/home"
    # What the caller's shell sets would change what the tools are answered.
    unset HQ_OUTPUT_MODE
}

# Ends the server, and with it its workers; on a failure the logs stay, and are named.
tear_down() {
    local code=$?
    timeout 20 hq server stop >/dev/null 2>&1 || true
    if [ $code -ne 0 ] && [ -n "${KEEP:-}" ]; then
        echo "$tool: see $room" >&2
    else
        rm -rf "$room"
    fi
}

# install <package>...: into a fresh venv, or into VENV, which stays for the next run.
install() {
    local venv=${VENV:-$room/venv}
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$@" >"$room/pip.log" 2>&1 ||
        fail "pip could not install $*: $(tail -n 1 "$room/pip.log")"
    export PATH="$venv/bin:$PATH"
}

start_worker() {
    hq worker start --cpus 4 >"$room/worker.log" 2>&1 &
    timeout 60 hq worker wait 1 >/dev/null || fail "no worker came: $(tail -n 1 "$room/worker.log")"
}

# wait_for <what> <command>...: until the command succeeds, for a minute at most.
wait_for() {
    local what=$1 end=$((SECONDS + 60))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || fail "waited a minute for $what"
        sleep 0.2
    done
}

# expect <what> <wanted> <got>
expect() {
    [ "$2" = "$3" ] || fail "$1: expected '$2', got '$3'"
}

# in_state <STATE> <count>: as many jobs are in it, and no matter how many are not.
in_state() {
    [ "$(hq --output-mode=quiet job list --all | grep -c " $1\$")" = "$2" ]
}
