#!/usr/bin/env bash
# Makes a Python wheel whose one script is the program, so that `pip install recollect` and `uvx recollect` work.
# Usage: packages/wheel.sh BINARY TARGET FOLDER
#   PYTHON   a Python with the package `wheel` (default: python3)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
binary=$1 target=$2 out=$3
name_target "$target"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
info=$work/recollect-$version.dist-info
scripts=$work/recollect-$version.data/scripts
mkdir -p "$info/licenses" "$scripts" "$out"
install -m 755 "$binary" "$scripts/recollect"
cp LICENSE "$info/licenses/"
cat >"$info/METADATA" <<METADATA
Metadata-Version: 2.4
Name: recollect
Version: $version
Summary: Memory and document service for AI agents
License-Expression: Apache-2.0
License-File: LICENSE
Requires-Python: >=3.8
Description-Content-Type: text/markdown

$(cat packages/description.md)
METADATA
cat >"$info/WHEEL" <<WHEEL
Wheel-Version: 1.0
Generator: recollect
Root-Is-Purelib: false
Tag: py3-none-$(wheel_tag "$target" "$binary")
WHEEL
# Writes RECORD with the digests of all files.
"${PYTHON:-python3}" -m wheel pack --dest-dir "$out" "$work"
