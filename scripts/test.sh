#!/bin/sh
# Everything that is checked before a change is taken: installs what is missing, starts a PostgreSQL, runs `cargo x ci`.
set -eu
cd "$(dirname "$0")/.."
scripts/install.sh
exec scripts/postgres.sh cargo x ci
