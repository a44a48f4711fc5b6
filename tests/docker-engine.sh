#!/usr/bin/env bash
# A container engine for `sam local` on a Debian machine that has none, or whose engine reaches no image registry.
#   tests/docker-engine.sh [start]   starts it where it does not run; the last line is the value for DOCKER_HOST
#   tests/docker-engine.sh stop      stops it; its images stay for the next start
# It has a socket and a data folder of its own, so an engine that is already there is neither used nor changed.
# In place of the Lambda base image, which is in a registry, it holds a minimal Debian under that image's name. That
# is enough to run a Rust `bootstrap` with routes, events and environment; it does not show how Amazon Linux behaves.
set -euo pipefail
state=${RECOLLECT_ENGINE:-/var/lib/recollect-engine}
pidfile=$state/dockerd.pid
export DOCKER_HOST=unix://$state/docker.sock DEBIAN_FRONTEND=noninteractive

say() { echo "docker-engine: $*" >&2; }
fail() { say "$*"; exit 1; }
answers() { docker info >/dev/null 2>&1; }
running() { [[ -f $pidfile ]] && kill -0 "$(<"$pidfile")" 2>/dev/null; }

case $(uname -m) in
  x86_64) arch=x86_64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) fail "no Lambda base image exists for $(uname -m)" ;;
esac
image=public.ecr.aws/lambda/provided:al2023-$arch

stop() {
  running || return 0
  local pid
  pid=$(<"$pidfile")
  kill "$pid"
  for _ in $(seq 30); do kill -0 "$pid" 2>/dev/null || return 0; sleep 1; done
  fail "the engine (process $pid) did not stop within 30 seconds"
}

install() {
  local missing=()
  command -v docker >/dev/null && command -v dockerd >/dev/null || missing+=(docker.io)
  command -v mmdebstrap >/dev/null || missing+=(mmdebstrap)
  command -v iptables >/dev/null || missing+=(iptables)
  ((${#missing[@]})) || return 0
  command -v apt-get >/dev/null || fail "needs ${missing[*]}, and this is no Debian: install a container engine yourself"
  say "installing ${missing[*]}"
  apt-get update -qq >&2
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

start() {
  ((EUID == 0)) || fail "starting an engine needs root"
  install
  mkdir -p "$state"
  if ! answers; then
    say "starting dockerd, log in $state/dockerd.log"
    setsid dockerd --data-root "$state/data" --exec-root "$state/run" --pidfile "$pidfile" -H "$DOCKER_HOST" \
      >"$state/dockerd.log" 2>&1 </dev/null &
    for _ in $(seq 60); do answers && break; sleep 1; done
    answers || { tail -n 20 "$state/dockerd.log" >&2; fail "the engine did not answer within 60 seconds"; }
  fi
  docker image inspect "$image" >/dev/null 2>&1 || import_image
}

import_image() {
  say "making a stand-in for $image from Debian packages"
  local files
  files=$(mktemp --suffix=.tar)
  mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$files" >&2
  docker import --change 'WORKDIR /var/task' --change 'ENV LAMBDA_TASK_ROOT=/var/task' "$files" "$image" >/dev/null
  rm -f "$files"
}

case ${1:-start} in
  start) start; echo "$DOCKER_HOST" ;;
  stop) stop ;;
  *) fail "unknown argument $1: start or stop" ;;
esac
