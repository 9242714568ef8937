#!/bin/sh
# Runs a command beside a private PostgreSQL that lives as long as the command: scripts/postgres.sh COMMAND [ARGUMENT...]
# The command finds it in INGATHER_TEST_POSTGRES. With --programs it only prints the folder of the server's programs.
# With --durable before the command the server writes as in earnest, for measuring.
set -eu

# programs: prints the folder of the newest PostgreSQL programs, version 15 or later.
programs() {
    for folder in $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -t/ -k5,5nr) \
        "$(dirname "$(command -v initdb 2>/dev/null || echo /nowhere/initdb)")"; do
        [ -x "$folder/initdb" ] && [ -x "$folder/postgres" ] && [ -x "$folder/pg_ctl" ] || continue
        version=$("$folder/postgres" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
        if [ "$version" -ge 15 ]; then
            echo "$folder"
            return 0
        fi
    done
    echo "scripts/postgres.sh: no PostgreSQL 15 or later; scripts/install.sh installs one" >&2
    return 1
}

# as_user COMMAND...: runs it in the server's folder as somebody whom PostgreSQL accepts (it refuses root).
as_user() (
    cd "$folder"
    if [ "$(id -u)" = 0 ]; then
        exec setpriv --reuid=ingather-test --regid=ingather-test --clear-groups "$@"
    fi
    exec "$@"
)

# stop: ends this very server (pg_ctl reads its process id from its own folder) and removes its folder.
stop() {
    status=$?
    trap - EXIT INT TERM HUP
    if [ -f "$folder/data/postmaster.pid" ]; then
        as_user "$programs/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null || status=1
    fi
    rm -rf "$folder"
    exit "$status"
}

# start: tries ports until one is free; another program may take a port between a look and the start.
start() {
    attempt=0
    while [ "$attempt" -lt 20 ]; do
        attempt=$((attempt + 1))
        port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
        if as_user "$programs/pg_ctl" -D "$folder/data" -l "$folder/log" -o "-p $port" -w start >/dev/null 2>&1; then
            return 0
        fi
        grep -q 'could not create any TCP/IP sockets' "$folder/log" || break
        : >"$folder/log"
    done
    echo "scripts/postgres.sh: PostgreSQL does not start:" >&2
    cat "$folder/log" >&2
    return 1
}

if [ $# = 0 ]; then
    echo "use: scripts/postgres.sh COMMAND [ARGUMENT...]" >&2
    exit 2
fi
programs=$(programs)
if [ "$1" = --programs ]; then
    echo "$programs"
    exit 0
fi
durable=''
if [ "$1" = --durable ]; then
    durable=1
    shift
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/ingather-postgres.XXXXXX")
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
if [ "$(id -u)" = 0 ]; then
    chown ingather-test:ingather-test "$folder"
fi
if ! output=$(as_user "$programs/initdb" -D "$folder/data" -U ingather -A trust -N --locale=C -E UTF8 2>&1); then
    echo "$output" >&2
    exit 1
fi
as_user sh -c 'cat >>data/postgresql.conf' <<SETTINGS
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
SETTINGS
if [ -n "$durable" ]; then
    as_user sh -c 'cat >>data/postgresql.conf' <<SETTINGS
shared_buffers = 512MB
max_wal_size = 8GB
SETTINGS
else
    # A test server may forget everything when the machine dies, so it need not wait for the disk.
    as_user sh -c 'cat >>data/postgresql.conf' <<SETTINGS
fsync = off
full_page_writes = off
synchronous_commit = off
SETTINGS
fi
start

INGATHER_TEST_POSTGRES="postgres://ingather@127.0.0.1:$port/postgres"
export INGATHER_TEST_POSTGRES
"$@"
