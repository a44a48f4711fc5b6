#!/usr/bin/env bash
# Builds the Lambda functions and packs them with their template, so that `sam deploy` needs no compiler.
# Usage: packages/functions.sh ARCH FOLDER     (ARCH is arm64 or x86_64)
#   RECOLLECT_SAM_BUILD   a folder with functions that are built (otherwise they are built)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
arch=$1 out=$2
build=${RECOLLECT_SAM_BUILD:-}
if [[ -z $build ]]; then
  sam=$(tests/tools.sh)/bin/sam
  build=target/packages/functions-$arch
  "$sam" build --build-dir "$build" --parameter-overrides "Arch=$arch" >&2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=$work/recollect-functions-$version-$arch
mkdir -p "$folder" "$out"
cp -R "$build/." "$folder/"
cp LICENSE "$folder/"
cat >"$folder/samconfig.toml" <<TOML
version = 0.1

[default.deploy.parameters]
stack_name = "recollect"
capabilities = "CAPABILITY_IAM"
resolve_s3 = true
confirm_changeset = true
parameter_overrides = "Arch=$arch"
TOML
archive=$out/recollect-functions-$arch.tar.gz
pack_folder "$folder" "$archive"
echo "$archive"
