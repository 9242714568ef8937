#!/bin/sh
# Prints the path of Apache Tika's program, for the bench; Maven fetches it when it is not there. Needs java and mvn.
set -eu

version=3.2.2
for program in java mvn; do
    if ! command -v "$program" >/dev/null 2>&1; then
        echo "scripts/tika.sh: no $program (Debian: apt-get install default-jre-headless maven)" >&2
        exit 1
    fi
done
folder=$(cd "$(dirname "$0")/.." && pwd)/target/tika
jar=$folder/tika-app-$version.jar
if [ ! -f "$jar" ]; then
    mkdir -p "$folder"
    mvn -q "-Dmaven.repo.local=$folder/maven" org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
        "-Dartifact=org.apache.tika:tika-app:$version" "-DoutputDirectory=$folder" >&2
fi
echo "$jar"
