#!/usr/bin/env bash
# Builds the program as it is shipped. For Linux it runs with glibc 2.17 and later: zig links it for that version. For
# macOS it runs with version 11 and later.
# Usage: packages/binary.sh TARGET FILE
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
target=$1 file=$2
glibc=2.17
zig_version=0.15.2
zigbuild_version=0.22.3

name_target "$target"
rustup target add "$target" >&2
options=(--profile dist --locked --bin recollect)
case $target in
  *-linux-gnu)
    python3 -m venv target/zig
    target/zig/bin/pip install --quiet "ziglang==$zig_version" "cargo-zigbuild==$zigbuild_version"
    PATH=$PWD/target/zig/bin:$PATH cargo zigbuild --target "$target.$glibc" "${options[@]}"
    ;;
  *) MACOSX_DEPLOYMENT_TARGET=11.0 cargo build --target "$target" "${options[@]}" ;;
esac
mkdir -p "$(dirname "$file")"
install -m 755 "${CARGO_TARGET_DIR:-target}/$target/dist/recollect" "$file"
