#!/usr/bin/env bash
# Writes the licences of all dependencies to target/packages/NOTICES.html, and the list of these, a CycloneDX SBOM, to
# target/packages/recollect.cdx.json. A licence that packages/about.toml does not accept fails.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
about_version=0.9.3
sbom_version=0.5.9

out=target/packages
mkdir -p "$out"
install() { cargo install --quiet "$1" --version "$2" --locked --root target/tools "${@:3}"; }
install cargo-about "$about_version" --features cli
install cargo-cyclonedx "$sbom_version"
target/tools/bin/cargo-about generate --fail --workspace --config packages/about.toml packages/about.hbs \
  --output-file "$out/NOTICES.html"
# The tool writes a list for each program of the workspace, beside its manifest.
trap 'find cli functions shared tests -name "*_bin.cdx.json" -delete' EXIT
target/tools/bin/cargo-cyclonedx cyclonedx --manifest-path cli/Cargo.toml --format json --spec-version 1.5 \
  --describe binaries
# The identifiers of the workspace's crates have the path of this folder.
sed "s|file://$PWD/|file:///|g" cli/recollect_bin.cdx.json >"$out/recollect.cdx.json"
