#!/usr/bin/env bash
# Makes the npm package of one platform, and the package `recollect` that starts the one of its platform.
# Usage: packages/npm.sh BINARY TARGET FOLDER
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
binary=$1 out=$3
name_target "$2"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{launcher,platform/bin} "$out"

install -m 755 "$binary" "$work/platform/bin/recollect"
cp LICENSE "$work/platform/"
# Only packages for Linux name the C library that they need.
libc=
[[ $npm_os == linux ]] || libc='/"libc"/d'
sed "s/VERSION/$version/g; s/OS/$npm_os/g; s/CPU/$npm_cpu/g; $libc" packages/npm/platform.json \
  >"$work/platform/package.json"

cp LICENSE packages/npm/recollect.js "$work/launcher/"
cp packages/description.md "$work/launcher/README.md"
sed "s/VERSION/$version/g" packages/npm/launcher.json >"$work/launcher/package.json"

for package in platform launcher; do
  (cd "$work/$package" && npm pack --silent --pack-destination "$work")
done
mv "$work"/*.tgz "$out/"
