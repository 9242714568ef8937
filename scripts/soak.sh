#!/bin/sh
# Uses a real service for long, on SQLite and on a private PostgreSQL: an hour of 64 clients at once, and 1,000 kills of it on each. Whoever wants
# less or the same again says so by INGATHER_TEST_CROWD_SECONDS, INGATHER_TEST_CROWD_SEED, INGATHER_TEST_KILLS and INGATHER_TEST_KILLS_SEED.
set -eu
cd "$(dirname "$0")/.."
now=$(date +%s)
export INGATHER_TEST_CROWD_SECONDS="${INGATHER_TEST_CROWD_SECONDS:-3600}" INGATHER_TEST_CROWD_SEED="${INGATHER_TEST_CROWD_SEED:-$now}"
export INGATHER_TEST_KILLS="${INGATHER_TEST_KILLS:-1000}" INGATHER_TEST_KILLS_SEED="${INGATHER_TEST_KILLS_SEED:-$now}"
for test in break_no_promise left_it; do
    scripts/postgres.sh cargo test -p ingather-app --test it -- "$test" --nocapture
done
