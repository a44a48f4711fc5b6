# Shared by the scripts of this folder; sourced, not run. Names what a release consists of.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

# The version of the workspace, which every package has.
version=$(sed -n '/^\[workspace\.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
[[ -n $version ]] || fail "no version in Cargo.toml"

# name_target TARGET: sets $platform, the name of a target in the names of archives, and $npm_os and $npm_cpu.
# shellcheck disable=SC2034 # the scripts that source this use them
name_target() {
  case $1 in
    x86_64-unknown-linux-gnu) platform=linux-x86_64 npm_os=linux npm_cpu=x64 ;;
    aarch64-unknown-linux-gnu) platform=linux-arm64 npm_os=linux npm_cpu=arm64 ;;
    x86_64-apple-darwin) platform=macos-x86_64 npm_os=darwin npm_cpu=x64 ;;
    aarch64-apple-darwin) platform=macos-arm64 npm_os=darwin npm_cpu=arm64 ;;
    *) fail "no packages are made for the target $1" ;;
  esac
}

# wheel_tag TARGET BINARY: prints the platform tag of a wheel (PEP 600). On Linux it names the newest version of glibc
# that the binary needs.
wheel_tag() {
  local glibc
  case $1 in
    *-linux-gnu)
      glibc=$(objdump -T "$2" | grep -o 'GLIBC_2\.[0-9]*' | sort -Vu | tail -n 1)
      echo "manylinux_${glibc#GLIBC_}_${1%%-*}" | tr . _
      ;;
    x86_64-apple-darwin) echo macosx_11_0_x86_64 ;;
    aarch64-apple-darwin) echo macosx_11_0_arm64 ;;
  esac
}

# pack_folder FOLDER ARCHIVE: packs a folder so that the same files give the same bytes, with any system's tar.
pack_folder() {
  python3 - "$1" "$2" <<'PYTHON'
import gzip, os, sys, tarfile

def plain(entry):
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry

folder, archive = sys.argv[1:]
with open(archive, "wb") as raw, gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as packed:
    with tarfile.open(fileobj=packed, mode="w") as tar:  # goes through a folder in the order of names
        tar.add(folder, os.path.basename(folder), filter=plain)
PYTHON
}
