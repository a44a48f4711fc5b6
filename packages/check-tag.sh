#!/usr/bin/env bash
# Checks that a tag is that of the version, and that the changelog tells its changes.
# Usage: packages/check-tag.sh TAG
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[[ $1 == "v$version" ]] || fail "the tag $1 is not v$version, the version in Cargo.toml"
grep -q "^## $version, [0-9]" CHANGELOG.md || fail "CHANGELOG.md has no section \`## $version, DATE\`"
