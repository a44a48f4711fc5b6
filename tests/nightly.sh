#!/usr/bin/env bash
# Runs what takes too long for every change: fuzzing, made-up histories, searches by pages, many made-up requests, the soak
# test, the shipped build of both architectures, and the benchmarks. Runs every part even when one fails, prints the time
# of each, and ends with a status other than 0 when one failed. Takes about three hours on two processors from nothing.
#   tests/nightly.sh [PART]…     all parts when none is named; with another name it lists them
# Each night tries other histories and requests; what fails prints how to run it again.
#   RECOLLECT_NIGHT    the number that they are made from (default: the days since 1970)
#   HISTORIES          number of histories (default 8000)
#   FUZZ_SECONDS       seconds for each fuzz target (default 60); each night goes on from what the nights before found
#   SOAK_MINUTES       minutes of the soak test (default 60)
# Results are printed, and the figures of the benchmarks are kept in target/nightly as well.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
night=${RECOLLECT_NIGHT:-$(($(date +%s) / 86400))}
results=target/nightly
parts=(fuzz histories pages requests proxy soak build speed)
mkdir -p "$results"

fuzz() {
  local targets
  mapfile -t targets < <(basename -s .rs fuzz/fuzz_targets/*.rs)
  RECOLLECT_FUZZ_CORPUS=$PWD/$results/corpus tests/fuzz.sh "${FUZZ_SECONDS:-60}" "${targets[@]}"
}

# Histories of faults, other ones than the gate's: half of them of documents, half of whole organizations. Two processes,
# one for each processor.
histories() {
  local count=${HISTORIES:-8000} begun status=0 name range first middle last
  first=$((night * count)) middle=$((first + count / 4)) last=$((first + count / 2))
  local tests=(seeds::histories_0_to_150_lose_nothing service::organizations_0_to_20_keep_what_they_have)
  cargo test --release --workspace --test faults --no-run || return
  for name in "${tests[@]}"; do
    local pids=() pid
    begun=$SECONDS
    for range in "$first..$middle" "$middle..$last"; do
      RECOLLECT_SEEDS=$range cargo test --release --workspace --test faults -- --exact "$name" &
      pids+=("$!")
    done
    for pid in "${pids[@]}"; do wait "$pid" || status=1; done
    echo "-- $name: $((last - first)) histories in $((SECONDS - begun)) s"
  done
  return "$status"
}

# All tests of the whole app, with searches that read segments page by page.
pages() { RECOLLECT_TEST_PAGES=1 cargo test --workspace --test contract; }

requests() { SCHEMA_EXAMPLES=100 SCHEMA_SEED=$night tests/schema.sh; }

# Needs nginx.
proxy() { tests/proxy.sh; }

soak() {
  cargo build --release --bin recollect || return
  python3 tests/soak.py --minutes "${SOAK_MINUTES:-60}" --seed "$night" \
    "${CARGO_TARGET_DIR:-target}/${CARGO_BUILD_TARGET:+$CARGO_BUILD_TARGET/}release/recollect" | tee "$results/soak.txt"
}

build() { tests/full-build.sh; }

# The benchmarks, optimized as what is shipped. The figures are for reading: nothing here fails because of them.
speed() {
  cargo build --profile dist --bin bench || return
  local bench=${CARGO_TARGET_DIR:-target}/${CARGO_BUILD_TARGET:+$CARGO_BUILD_TARGET/}dist/bench arguments
  for arguments in "speed --chunks 1000,10000" batch durability reuse cost hostile; do
    echo "-- bench $arguments"
    # shellcheck disable=SC2086 # options are words
    "$bench" $arguments | tee "$results/${arguments%% *}.txt" || return
  done
}

for part in "$@"; do
  [[ " ${parts[*]} " == *" $part "* ]] || { echo "nightly: no part \`$part\`; there are: ${parts[*]}" >&2; exit 2; }
done

summary=() failed=0
for part in "${@:-${parts[@]}}"; do
  printf '\n== %s\n' "$part"
  begin=$SECONDS result=passed
  "$part" || result=FAILED failed=1
  summary+=("$(printf '%6d s  %-6s  %s' $((SECONDS - begin)) "$result" "$part")")
done

printf '\n== night %s\n' "$night"
printf '%s\n' "${summary[@]}"
exit "$failed"
