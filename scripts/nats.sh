#!/bin/sh
# Runs a command beside a private NATS server with JetStream that lives as long as it: scripts/nats.sh COMMAND [ARGUMENT...]
# The command finds it in INGATHER_TEST_NATS. Where there is no nats-server, the command runs without the server, after one line that says so.
set -eu

if [ $# = 0 ]; then
    echo "use: scripts/nats.sh COMMAND [ARGUMENT...]" >&2
    exit 2
fi

# stop: the server ends with its keeper, whose input this shell alone holds; so it does when this shell is killed.
stop() {
    status=$?
    trap - EXIT INT TERM HUP
    exec 9>&-
    [ -z "$keeper" ] || wait "$keeper" 2>/dev/null || true
    rm -rf "$folder"
    exit "$status"
}

# start: waits until the server says that it is ready, for a minute at most, or until it has ended. Another program may take a port between a
# choice and the start.
start() {
    attempt=0
    while [ "$attempt" -lt 5 ]; do
        attempt=$((attempt + 1))
        port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
        start_at "$port" && return 0
        grep -q 'address already in use' "$folder/log" || return 1
        exec 9>&-
        wait "$keeper" || true
    done
    return 1
}

# start_at PORT
start_at() {
    rm -f "$folder/input" "$folder/said"
    : >"$folder/log"
    mkfifo "$folder/input" "$folder/said"
    cat >"$folder/conf" <<CONF
listen: "127.0.0.1:$1"
jetstream { store_dir: "$folder/data", max_memory_store: 64MB, max_file_store: 4GB }
CONF
    {
        nats-server -c "$folder/conf" >"$folder/said" 2>&1 </dev/null &
        server=$!
        cat >/dev/null
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
        rm -rf "$folder/data"
    } <"$folder/input" &
    keeper=$!
    exec 9>"$folder/input" 8<"$folder/said"
    # Letter by letter, so that whoever reads on loses nothing.
    timeout 60 sed -u '/Server is ready/q' <&8 >>"$folder/log" 9>&-
    grep -q 'Server is ready' "$folder/log" || return 1
    # Somebody has to take what it says.
    cat <&8 >>"$folder/log" 9>&- &
    exec 8<&-
}

# Where Debian has the server, and only root looks.
PATH="$PATH:/usr/sbin"
keeper=''
port=''
folder=$(mktemp -d "${TMPDIR:-/tmp}/ingather-nats.XXXXXX")
: >"$folder/log"
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
if command -v nats-server >/dev/null 2>&1 && start; then
    INGATHER_TEST_NATS="nats://127.0.0.1:$port"
    export INGATHER_TEST_NATS
else
    echo "scripts/nats.sh: no NATS here (the package nats-server brings it); going on without it" >&2
    tail -n 5 "$folder/log" >&2
fi
"$@" 9>&-
