#!/usr/bin/env bash
# Writes the install script for the releases at an address.
# Usage: packages/installer.sh FOLDER RELEASES
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
mkdir -p "$1"
sed "s|RELEASES/latest|$2/latest|; s|:-RELEASES}|:-$2}|" packages/install.sh >"$1/install.sh"
chmod 755 "$1/install.sh"
