#!/bin/sh
# Runs a command with the programs in Python that check a service from outside: scripts/checkers.sh COMMAND [ARGUMENT...]
# The command finds the folder of their Python in INGATHER_TEST_CHECKERS. They come by pip, once for each list of them, into the folder of
# builds. Where there is no Python with venv, or no network, the command runs without them, after one line that says so.
set -eu

list=$(cd "$(dirname "$0")" && pwd)/checkers.txt
folder=$(cd "$(dirname "$0")/.." && pwd)/target/checkers

if [ $# = 0 ]; then
    echo "use: scripts/checkers.sh COMMAND [ARGUMENT...]" >&2
    exit 2
fi

# fetch: installs what the list names. The list is copied last: what was broken off is installed anew.
fetch() {
    cmp -s "$list" "$folder/checkers.txt" && return 0
    command -v python3 >/dev/null 2>&1 || return 1
    rm -rf "$folder"
    mkdir -p "$folder"
    {
        python3 -m venv "$folder/python" &&
            "$folder/python/bin/pip" install --quiet --disable-pip-version-check -r "$list"
    } >"$folder/log" 2>&1 || return 1
    cp "$list" "$folder/checkers.txt"
}

if fetch; then
    INGATHER_TEST_CHECKERS="$folder/python/bin"
    export INGATHER_TEST_CHECKERS
else
    echo "scripts/checkers.sh: no checkers here (python3-venv and a network bring them); going on without them" >&2
    [ ! -s "$folder/log" ] || tail -n 5 "$folder/log" >&2
fi
exec "$@"
