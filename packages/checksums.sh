#!/usr/bin/env bash
# Writes the digests of all files of a release into SHA256SUMS, and signs it. What is written later has none.
# Usage: packages/checksums.sh FOLDER
#   MINISIGN_KEY   a file with the secret key, which has no password; without it nothing is signed
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
key=${MINISIGN_KEY:-}
[[ -z $key ]] || key=$(realpath "$key")
cd "$1"
rm -f SHA256SUMS SHA256SUMS.minisig
files=(*)
sha256sum "${files[@]}" >SHA256SUMS
if [[ -n $key ]]; then
  minisign -S -s "$key" -m SHA256SUMS -t "recollect $version" >/dev/null
fi
