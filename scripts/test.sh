#!/bin/sh
# Everything that is checked before a change is taken: installs what is missing, fetches an OpenID provider, starts a PostgreSQL, a Tika server, an OpenSearch, an Elasticsearch and a NATS, runs `cargo x ci`.
set -eu
cd "$(dirname "$0")/.."
scripts/install.sh
# What makes the next build shorter makes this one longer, and takes gigabytes: not where everything is built for the first time.
if [ ! -d target/debug/incremental ]; then
    export CARGO_INCREMENTAL="${CARGO_INCREMENTAL:-0}"
fi
exec scripts/checkers.sh scripts/provider.sh scripts/postgres.sh scripts/tika-server.sh scripts/opensearch.sh scripts/elasticsearch.sh scripts/nats.sh cargo x ci
