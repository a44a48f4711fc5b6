#!/usr/bin/env bash
# Builds the container image from a program for Linux, and tags it `recollect:VERSION`.
# Usage: packages/image.sh BINARY [OPTION…]     (options of `docker build`)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
binary=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
install -m 755 "$binary" "$work/recollect"
cp packages/Dockerfile "$work/"
mkdir "$work/data"
docker build --tag "recollect:$version" "$@" "$work"
