#!/usr/bin/env bash
# Sorts what the jobs of a release have built into the files of the release, the wheels and the npm packages.
# Usage: packages/gather.sh BUILT FILES WHEELS NPM
# Where a file lies in BUILT depends on how its job uploaded it, so files are known by their names. Fails if an archive
# of the program or of the functions is missing.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
built=$1 files=$2 wheels=$3 npm=$4
mkdir -p "$files" "$wheels" "$npm"
find "$built" -type f \( -name '*.tar.gz' -o -name '*.cdx.json' \) -exec cp {} "$files/" \;
find "$built" -type f -name '*.whl' -exec cp {} "$wheels/" \;
find "$built" -type f -name '*.tgz' -exec cp {} "$npm/" \;
for archive in recollect-{linux,macos}-{x86_64,arm64} recollect-functions-{x86_64,arm64}; do
  [[ -f $files/$archive.tar.gz ]] || fail "$built has no $archive.tar.gz"
done
