#!/usr/bin/env bash
# Builds the image for both processors and pushes it under its version and as `latest`.
# Usage: packages/publish-image.sh FOLDER IMAGE     (FOLDER has program-TARGET/packages/recollect)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
folder=$1 image=$2
parts=()
for pair in amd64:x86_64 arm64:aarch64; do
  cpu=${pair%%:*}
  part=$image:$version-$cpu
  packages/image.sh "$folder/program-${pair##*:}-unknown-linux-gnu/packages/recollect" \
    --platform "linux/$cpu" --tag "$part"
  docker push "$part"
  parts+=("$part")
done
for tag in "$version" latest; do
  docker buildx imagetools create --tag "$image:$tag" "${parts[@]}"
done
