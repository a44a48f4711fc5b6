#!/bin/sh
# Installs the program recollect from a release:
#   curl -fsSL RELEASES/latest/download/install.sh | sh
#   RECOLLECT_VERSION   the version to install, as in 0.1.0 (default: the latest)
#   RECOLLECT_HOME      the folder for bin, man and completions (default: ~/.local)
#   RECOLLECT_RELEASES  the address of the releases, for a mirror
# It downloads an archive and its checksum, compares them, and copies the program. It changes nothing else.
set -eu

releases=${RECOLLECT_RELEASES:-RELEASES}
home=${RECOLLECT_HOME:-$HOME/.local}

fail() {
  echo "recollect: $*" >&2
  exit 1
}

case $(uname -s) in
  Linux) os=linux ;;
  Darwin) os=macos ;;
  *) fail "there is no package for $(uname -s); build it with cargo, as the README says" ;;
esac
case $(uname -m) in
  x86_64 | amd64) cpu=x86_64 ;;
  aarch64 | arm64) cpu=arm64 ;;
  *) fail "there is no package for $(uname -m); build it with cargo, as the README says" ;;
esac
archive=recollect-$os-$cpu.tar.gz
if [ -n "${RECOLLECT_VERSION:-}" ]; then
  address=$releases/download/v$RECOLLECT_VERSION
else
  address=$releases/latest/download
fi

download() {
  if command -v curl >/dev/null; then
    curl --fail --silent --show-error --location --output "$2" "$1"
  elif command -v wget >/dev/null; then
    wget --quiet --output-document="$2" "$1"
  else
    fail "curl or wget is needed"
  fi
}

digest() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum --algorithm 256 "$1"; fi | cut -d ' ' -f 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
download "$address/$archive" "$work/$archive" || fail "cannot download $address/$archive"
download "$address/SHA256SUMS" "$work/SHA256SUMS" || fail "cannot download $address/SHA256SUMS"
expected=$(grep " $archive\$" "$work/SHA256SUMS" | cut -d ' ' -f 1)
[ -n "$expected" ] || fail "SHA256SUMS does not name $archive"
[ "$(digest "$work/$archive")" = "$expected" ] || fail "$archive is not what was released; nothing is installed"

tar -xzf "$work/$archive" -C "$work"
unpacked=$(echo "$work"/recollect-*-"$os-$cpu")
mkdir -p "$home/bin" "$home/share/man/man1" "$home/share/bash-completion/completions"
# Replaced at once, because the old program may be running.
cp "$unpacked/recollect" "$home/bin/.recollect.new"
chmod 755 "$home/bin/.recollect.new"
if ! installed=$("$home/bin/.recollect.new" --version); then
  rm -f "$home/bin/.recollect.new"
  case $os in
    linux) fail "the program does not run here. It needs glibc 2.17; on a system with musl, such as Alpine," \
      "use the container image. Nothing is installed" ;;
    *) fail "the program does not run here; it needs macOS 11. Nothing is installed" ;;
  esac
fi
mv -f "$home/bin/.recollect.new" "$home/bin/recollect"
cp "$unpacked/man/recollect.1" "$home/share/man/man1/"
cp "$unpacked/completions/recollect.bash" "$home/share/bash-completion/completions/recollect"

echo "$installed is installed in $home/bin."
case ":$PATH:" in
  *":$home/bin:"*) ;;
  *) echo "Add it to your PATH: export PATH=\"$home/bin:\$PATH\"" ;;
esac
echo "Start with: recollect"
