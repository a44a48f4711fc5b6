#!/usr/bin/env bash
# Prints what the changelog says about this version.
# Usage: packages/changes.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
awk -v heading="## $version," 'index($0, "## ") == 1 { shown = index($0, heading) == 1; next } shown' CHANGELOG.md
