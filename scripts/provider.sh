#!/bin/sh
# Runs a command with the OpenID provider that tests ask: scripts/provider.sh COMMAND [ARGUMENT...]
# The command finds the folder of its packages in INGATHER_TEST_PROVIDER. They come by npm, once for each list of them, into the folder of
# builds. Where there is no Node.js of version 20.19 or later, or no network, the command runs without them, after one line that says so.
set -eu

list=$(cd "$(dirname "$0")" && pwd)/provider
folder=$(cd "$(dirname "$0")/.." && pwd)/target/provider

if [ $# = 0 ]; then
    echo "use: scripts/provider.sh COMMAND [ARGUMENT...]" >&2
    exit 2
fi

# fetch: installs what the list names. The list is copied last: what was broken off is installed anew.
fetch() {
    cmp -s "$list/package-lock.json" "$folder/fetched" && return 0
    command -v npm >/dev/null 2>&1 || return 1
    # From 20.19 on it requires modules of either kind.
    [ "$(node -p 'process.features.require_module' 2>/dev/null)" = true ] || return 1
    rm -rf "$folder"
    mkdir -p "$folder"
    cp "$list/package.json" "$list/package-lock.json" "$folder/"
    (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund) >"$folder/log" 2>&1 || return 1
    cp "$list/package-lock.json" "$folder/fetched"
}

if fetch; then
    INGATHER_TEST_PROVIDER="$folder/node_modules"
    export INGATHER_TEST_PROVIDER
else
    echo "scripts/provider.sh: no OpenID provider here (Node.js 20.19 with npm and a network bring it); going on without it" >&2
    [ ! -s "$folder/log" ] || tail -n 5 "$folder/log" >&2
fi
exec "$@"
