#!/usr/bin/env bash
# Builds every function as it is shipped, for both architectures, and measures the result: the full release build that
# is too slow for every change. Takes about half an hour on two processors from nothing; run it before a release.
#   tests/full-build.sh [arm64|x86_64]…      both when none is named
# For each: `sam build` with the release profile into target/sam/ARCH, then the size of each function's zip and, for this
# machine's own architecture, how long a start takes under AWS's runtime interface emulator (tests/clients/init_time.py).
# Also checks that no binary asks for a newer C library than the Lambda runtime has.
# Ends with a status other than 0 when a goal is missed: zip of an API function at most 12 MB, init at most 60 ms (on
# an idle machine).
#   RECOLLECT_INIT_RUNS   starts per function (otherwise 5)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
tools=$(tests/tools.sh)

architectures=("$@")
((${#architectures[@]})) || architectures=(arm64 x86_64)
glibc=2.34 # of Amazon Linux 2023

# Prints the newest version of the C library that a binary needs.
needed_glibc() { grep -aoE 'GLIBC_2\.[0-9]+' "$1" | sort -uV | tail -n 1 | cut -d_ -f2; }

missed=0
for arch in "${architectures[@]}"; do
  build=$(ARCH=$arch BUILD_DIR=target/sam/$arch tests/sam-build.sh release)
  echo "== $arch, release profile"
  "$tools/bin/python" tests/clients/init_time.py "$build" "${RECOLLECT_INIT_RUNS:-5}" || missed=1
  for bootstrap in "$build"/*/bootstrap; do
    needed=$(needed_glibc "$bootstrap")
    if [[ $(printf '%s\n' "$needed" "$glibc" | sort -V | tail -n 1) != "$glibc" ]]; then
      echo "full-build: $bootstrap needs glibc $needed, and Lambda has $glibc" >&2
      missed=1
    fi
  done
done
exit "$missed"
