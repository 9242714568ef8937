#!/bin/sh
# The main job on real input: a folder of documents becomes searchable, and stays true when the folder changes.
set -eu
cd "$(dirname "$0")/.."

command -v cc >/dev/null 2>&1 || scripts/install.sh
cargo build --release --package ingather-app
ingather="$PWD/target/release/ingather"
demo=$(mktemp -d)
trap 'rm -rf "$demo"' EXIT INT TERM
source=${INGATHER_DEMO_SOURCE:-/usr/share/doc}
export INGATHER_DATA="$demo/data"

# say TEXT: a heading; run COMMAND: shows a command and runs it, whatever it answers.
say() { printf '\n== %s\n' "$1"; }
run() {
    line=''
    for word in "$@"; do
        case $word in *' '*) word="'$word'" ;; esac
        line="$line $word"
    done
    printf '$%s\n' "$(echo "$line" | sed "s#$ingather#ingather#; s#$demo/##g")"
    "$@" || printf '(exit code %s)\n' "$?"
}

say "a real folder: a copy of $source, with what is gzipped uncompressed"
# Other users may pass; the data directory inside keeps itself closed.
chmod 755 "$demo"
mkdir "$demo/documents"
(cd "$source" && tar -cf - --dereference . 2>/dev/null) | tar -xf - -C "$demo/documents"
find "$demo/documents" -type f -name '*.gz' -exec gunzip -qf {} + 2>/dev/null || true
cp -r scripts/demo "$demo/documents/office"
files=$(find "$demo/documents" -type f | wc -l)
if [ "$files" -lt 2000 ]; then
    say "$source holds only $files files; the Rust library sources of this machine are added"
    cp -r "$(rustc --print sysroot)/share" "$demo/documents/rust" 2>/dev/null || true
    cp -r "${CARGO_HOME:-$HOME/.cargo}/registry/src" "$demo/documents/sources" 2>/dev/null || true
    files=$(find "$demo/documents" -type f | wc -l)
fi
echo "$files files, $(du -sh "$demo/documents" | cut -f1)"

say "index it"
run "$ingather" sync "$demo/documents"
say "find something, as the user who asks"
run "$ingather" search 'free software license warranty' --limit 3
say "sentences inside a PDF, a spreadsheet, a slide, and the attachment of a mail inside a ZIP"
for words in '"lighthouse keeper"' 'quince terrace' 'glaciers sing' 'saffron crates'; do
    run "$ingather" search "$words" --limit 1
done
say "nothing changed: again, in a blink"
run "$ingather" sync "$demo/documents"

say "change a file, add one, move a folder, remove three files, close one to others"
set -- $(find "$demo/documents" -type f -name 'copyright' | sort | head -6)
echo 'the quokka is a small wallaby of Rottnest Island' >>"$1"
echo 'a note about quokkas, for its owner alone' >"$demo/documents/private-note.txt"
chmod 600 "$demo/documents/private-note.txt"
mv "$(dirname "$2")" "$demo/documents/moved-folder"
rm -f "$3" "$4" "$5"
chmod 600 "$6"
run "$ingather" sync "$demo/documents"
run "$ingather" job runs documents

say "find what is new"
run "$ingather" search quokka
say "what another user finds: not the note that its owner keeps to himself"
run "$ingather" search quokka --as nobody
