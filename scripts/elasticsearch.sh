#!/bin/sh
# Runs a command beside a private Elasticsearch that lives as long as it: scripts/elasticsearch.sh COMMAND [ARGUMENT...]
# The command finds it in INGATHER_TEST_ELASTICSEARCH, with the name and the password of somebody who may do everything. The server's program
# comes by Maven, once, into the folder of builds. Where there is no Java, no Maven or no network, the command runs without the server, after
# one line that says so.
set -eu

version=8.19.21
cache=$(cd "$(dirname "$0")/.." && pwd)/target/elasticsearch
program="$cache/elasticsearch-$version"

if [ $# = 0 ]; then
    echo "use: scripts/elasticsearch.sh COMMAND [ARGUMENT...]" >&2
    exit 2
fi

# fetch: brings the program, its core alone. It is unpacked under another name first: what was broken off is brought anew.
fetch() {
    [ -d "$program" ] && return 0
    command -v mvn >/dev/null 2>&1 && command -v unzip >/dev/null 2>&1 || return 1
    mkdir -p "$cache"
    artifact="org.elasticsearch.distribution.integ-test-zip:elasticsearch:$version:zip"
    mvn -q -B "-Dmaven.repo.local=$cache/maven" org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
        "-Dartifact=$artifact" "-DoutputDirectory=$folder" >"$folder/log" 2>&1 || return 1
    rm -rf "$cache/new"
    unzip -q "$folder/elasticsearch-$version.zip" -d "$cache/new"
    mv "$cache/new/elasticsearch-$version" "$program"
    rm -rf "$folder/elasticsearch-$version.zip" "$cache/maven"
}

# as_user COMMAND...: runs it as somebody whom Elasticsearch accepts (it refuses root).
as_user() {
    if [ "$(id -u)" = 0 ]; then
        exec setpriv --reuid=ingather-test --regid=ingather-test --clear-groups "$@"
    fi
    exec "$@"
}

# stop: the server is ended when its input ends, which this shell alone holds; so it is when this shell is killed.
stop() {
    status=$?
    trap - EXIT INT TERM HUP
    exec 9>&-
    [ -z "$server" ] || wait "$server" 2>/dev/null || true
    rm -rf "$folder"
    exit "$status"
}

# configure: settings of a server at a port, and somebody who may do everything.
configure() {
    rm -rf "$folder/config" "$folder/data"
    cp -r "$program/config" "$folder/config"
    mkdir "$folder/data"
    cat >"$folder/config/elasticsearch.yml" <<SETTINGS
discovery.type: single-node
network.host: 127.0.0.1
http.port: $port
transport.port: $((port + 1))
path.data: $folder/data
path.logs: $folder/data
path.repo: $folder/data/snapshots
cluster.routing.allocation.disk.threshold_enabled: false
xpack.security.enabled: true
SETTINGS
    # Somebody who may do everything, somebody with the rights that the manual names, somebody who may write no entry, and somebody who may only
    # look; the password of each is ingather-test.
    for user in ingather-test ingather-least ingather-keeper ingather-reader; do
        echo "$user:"'$2b$04$abcdefghijklmnopqrstuukZmQy70kkwPVWqdsigwtuiz0psACLj.'
    done >"$folder/config/users"
    cat >"$folder/config/users_roles" <<ROLES
superuser:ingather-test
least:ingather-least
keeper:ingather-keeper
reader:ingather-reader
ROLES
    cat >"$folder/config/roles.yml" <<ROLES
least: { indices: [{ names: ["rights-*"], privileges: [read, write, manage] }] }
keeper: { indices: [{ names: ["rights-*"], privileges: [read, manage] }] }
reader: { indices: [{ names: ["rights-*"], privileges: [read] }] }
ROLES
    [ "$(id -u)" != 0 ] || chown -R ingather-test:ingather-test "$folder/config" "$folder/data" "$folder"
}

# start: tries ports until the server answers on one, for a minute each; another program may have a port already.
start() {
    mkfifo "$folder/input"
    java=$(readlink -f "$(command -v java)")
    attempt=0
    while [ "$attempt" -lt 3 ]; do
        attempt=$((attempt + 1))
        port=$((20000 + $(od -An -N2 -tu2 /dev/urandom) % 12000))
        configure
        {
            (
                export ES_PATH_CONF="$folder/config" ES_JAVA_HOME="${java%/bin/java}" ES_JAVA_OPTS="-Xms512m -Xmx512m -XX:TieredStopAtLevel=1"
                as_user "$program/bin/elasticsearch"
            ) >"$folder/log" 2>&1 </dev/null 9>&- &
            # Whatever ends the shell above: this one ends the server first. The server itself has to hear of its end, and is begun by now.
            trap '' INT TERM HUP
            cat <"$folder/input" >/dev/null
            kill "$!" 2>/dev/null || true
            wait "$!" 2>/dev/null || true
            rm -rf "$folder/data"
        } &
        server=$!
        exec 9>"$folder/input"
        url="http://ingather-test:ingather-test@127.0.0.1:$port"
        if curl -sf --retry 60 --retry-delay 1 --retry-all-errors "$url/_cluster/health" >"$folder/answer"; then
            return 0
        fi
        exec 9>&-
        wait "$server" 2>/dev/null || true
        server=''
    done
    return 1
}

server=''
folder=$(mktemp -d "${TMPDIR:-/tmp}/ingather-elasticsearch.XXXXXX")
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
if command -v java >/dev/null 2>&1 && command -v curl >/dev/null 2>&1 && fetch && start; then
    INGATHER_TEST_ELASTICSEARCH="$url"
    export INGATHER_TEST_ELASTICSEARCH
else
    echo "scripts/elasticsearch.sh: no Elasticsearch here (Java, Maven, unzip, curl and a network bring one); going on without it" >&2
    [ ! -s "$folder/log" ] || tail -n 5 "$folder/log" >&2
fi
"$@" 9>&-
