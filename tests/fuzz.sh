#!/usr/bin/env bash
# Feeds what reads the input of strangers with made-up input: builds every target of fuzz/ and runs each for a while.
#   tests/fuzz.sh [SECONDS [TARGET]…]      10 seconds for each otherwise, and all targets but those of the
#                                         whole app, arrivals and requests: they take minutes more to build
# Starts from the inputs in fuzz/corpus, which stay as they are. Prints for each target how many inputs were tried, how
# many branches they reached and how much memory they took. Fails when one crashes, takes more than 20 seconds or more
# than 1 GiB, keeps that input in target/fuzz/failures, and says how to run it again.
# Needs a C++ compiler: the fuzzer (libFuzzer) is compiled from the sources in a crate. Needs no other toolchain, and
# none of cargo-fuzz, which works with fuzz/ as well.
#   RECOLLECT_FUZZ_CORPUS   a folder that keeps what was found worth starting from, for longer runs in turns
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
seconds=${1:-10}
shift $(($# > 0))
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "fuzz: SECONDS is a whole number from 1, not \`$seconds\`" >&2; exit 2; }

if ! command -v c++ >/dev/null; then
  apt-get update -qq && apt-get install -y -qq --no-install-recommends g++ >&2
fi
host=$(rustc -vV | sed -n 's/^host: //p')
builds=${CARGO_TARGET_DIR:-target}/fuzz
failures=target/fuzz/failures
mkdir -p "$failures"

# Counters of branches and what is compared, as libFuzzer reads them. With a named target, build scripts have none.
flags=(-Cpasses=sancov-module)
for flag in level=4 inline-8bit-counters pc-table trace-compares; do
  flags+=("-Cllvm-args=-sanitizer-coverage-$flag")
done
targets=("$@")
((${#targets[@]})) || mapfile -t targets < <(cd fuzz/fuzz_targets && grep -L fuzz::app -- *.rs | sed 's/\.rs$//')
picked=("${targets[@]/#/--bin=}")
[[ " ${targets[*]} " =~ \ (arrivals|requests)\  ]] && picked+=(--features=app)
cp Cargo.lock fuzz/Cargo.lock
CARGO_TARGET_DIR=$builds CARGO_INCREMENTAL=0 RUSTFLAGS="${flags[*]}" \
  cargo build --quiet --release --target "$host" "${picked[@]}" --manifest-path fuzz/Cargo.toml
echo "fuzz: built in $SECONDS s"

work=$(mktemp -d "${TMPDIR:-/tmp}/recollect-fuzz.XXXXXX")
trap 'rm -rf "$work"' EXIT

# The number that a line `stat::NAME: N` of the log tells.
stat() { sed -n "s/^stat::$1: *//p" "$work/log"; }

failed=()
printf '%-13s %10s %9s %9s %8s\n' target inputs 'a second' branches MiB
for target in "${targets[@]}"; do
  binary=$builds/$host/release/$target
  found=${RECOLLECT_FUZZ_CORPUS:-$work}/$target
  mkdir -p "$found"
  # The fuzzer writes into the first folder only.
  if "$binary" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=1024 -max_len=8192 -print_final_stats=1 \
    -artifact_prefix="$failures/$target-" "$found" "fuzz/corpus/$target" >"$work/log" 2>&1; then
    branches=$(sed -n 's/^#.*DONE *cov: \([0-9]*\) .*/\1/p' "$work/log")
    printf '%-13s %10s %9s %9s %8s\n' "$target" "$(stat number_of_executed_units)" "$(stat average_exec_per_sec)" \
      "$branches" "$(stat peak_rss_mb)"
  else
    failed+=("$target")
    tail -n 60 "$work/log"
    input=$(sed -n 's/.*Test unit written to //p' "$work/log" | tail -n 1)
    printf 'fuzz: FAILED: %s; run it again with\n  %s -timeout=20 -rss_limit_mb=1024 %s\n' "$target" "$binary" "${input:-}"
  fi
done
((${#failed[@]} == 0)) || { echo "fuzz: failed: ${failed[*]}" >&2; exit 1; }
