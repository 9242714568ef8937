#!/bin/sh
# Everything that is checked before a change is taken: installs what is missing, fetches an OpenID provider, starts a PostgreSQL, a Tika server, an OpenSearch and an Elasticsearch, runs `cargo x ci`.
set -eu
cd "$(dirname "$0")/.."
scripts/install.sh
exec scripts/checkers.sh scripts/provider.sh scripts/postgres.sh scripts/tika-server.sh scripts/opensearch.sh scripts/elasticsearch.sh cargo x ci
