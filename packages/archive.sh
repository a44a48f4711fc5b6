#!/usr/bin/env bash
# Packs the program with its licence, the notices of its dependencies, completions and manual pages.
# Usage: packages/archive.sh BINARY TARGET FOLDER
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
binary=$1 out=$3
name_target "$2"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=$work/recollect-$version-$platform
mkdir -p "$folder"/{completions,man} "$out"
install -m 755 "$binary" "$folder/recollect"
cp LICENSE README.md CHANGELOG.md "$folder/"
# Made by packages/notices.sh, which takes minutes.
if [[ -f target/packages/NOTICES.html ]]; then cp target/packages/NOTICES.html "$folder/"; fi
# They are the same for every target, so a host that cannot run the binary takes them from RECOLLECT_HOST_BINARY.
runnable=${RECOLLECT_HOST_BINARY:-$binary}
for shell in bash zsh fish; do
  "$runnable" completions "$shell" >"$folder/completions/recollect.$shell"
done
"$runnable" manual >"$folder/man/recollect.1"

archive=$out/recollect-$platform.tar.gz
pack_folder "$folder" "$archive"
echo "$archive"
