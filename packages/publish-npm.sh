#!/usr/bin/env bash
# Publishes the npm packages of a folder: those of the platforms first, because the launcher names them.
# Usage: packages/publish-npm.sh FOLDER
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
for package in "$1"/recollect-*-"$version".tgz "$1/recollect-$version.tgz"; do
  npm publish --access public --provenance "$package"
done
