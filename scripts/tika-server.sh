#!/bin/sh
# Runs a command beside a private Tika server that lives as long as it: scripts/tika-server.sh COMMAND [ARGUMENT...]
# The command finds it in INGATHER_TEST_TIKA. The server's program comes by Maven, once, into the folder of builds. Where
# there is no Java, no Maven or no network, the command runs without the server, after one line that says so.
set -eu

version=3.3.2
cache=$(cd "$(dirname "$0")/.." && pwd)/target/tika
program="$cache/tika-server-standard-$version.jar"

# fetch: brings the program. The parent of its description is not published, so an empty one stands in for it.
fetch() {
    [ -s "$program" ] && return 0
    command -v mvn >/dev/null 2>&1 || return 1
    mkdir -p "$cache"
    cat >"$folder/pom.xml" <<POM
<project><modelVersion>4.0.0</modelVersion><groupId>org.apache.tika</groupId><artifactId>tika-server</artifactId>
<version>$version</version><packaging>pom</packaging></project>
POM
    (
        cd "$folder"
        mvn -q -B "-Dmaven.repo.local=$cache/maven" install:install-file -Dfile=pom.xml -DpomFile=pom.xml &&
            mvn -q -B "-Dmaven.repo.local=$cache/maven" dependency:copy -Dartifact="org.apache.tika:tika-server-standard:$version" -DoutputDirectory="$folder"
    ) >"$folder/log" 2>&1 || return 1
    mv "$folder/tika-server-standard-$version.jar" "$program"
}

# stop: ends this very server and removes its folder.
stop() {
    status=$?
    trap - EXIT INT TERM HUP
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$folder"
    exit "$status"
}

# start: tries ports until the server answers on one, for a minute each; another program may have a port already.
start() {
    attempt=0
    while [ "$attempt" -lt 3 ]; do
        attempt=$((attempt + 1))
        port=$((32000 + $(od -An -N2 -tu2 /dev/urandom) % 760))
        java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -jar "$program" -h 127.0.0.1 -p "$port" -noFork >"$folder/log" 2>&1 &
        server=$!
        if curl -sf --retry 60 --retry-delay 1 --retry-connrefused "http://127.0.0.1:$port/version" >"$folder/answer" &&
            grep -q "Tika $version" "$folder/answer"; then
            return 0
        fi
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
        server=''
    done
    return 1
}

if [ $# = 0 ]; then
    echo "use: scripts/tika-server.sh COMMAND [ARGUMENT...]" >&2
    exit 2
fi
server=''
folder=$(mktemp -d "${TMPDIR:-/tmp}/ingather-tika.XXXXXX")
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
if command -v java >/dev/null 2>&1 && command -v curl >/dev/null 2>&1 && fetch && start; then
    INGATHER_TEST_TIKA="http://127.0.0.1:$port"
    export INGATHER_TEST_TIKA
else
    echo "scripts/tika-server.sh: no Tika server here (Java, Maven, curl and a network bring one); going on without it" >&2
    [ ! -s "$folder/log" ] || tail -n 5 "$folder/log" >&2
fi
"$@"
