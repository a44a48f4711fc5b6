#!/usr/bin/env bash
# Starts `recollect serve` on free ports over empty data folders and drives it with unmodified packages from PyPI:
# every method of versions 3 and 5 of the Python SDK, the OpenAI tools, the shell, the agent framework, Pipecat and
# Cartesia. A stub on loopback stands in for models.
#   RECOLLECT_BIN   the binary recollect (otherwise it is built)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  say "skipped: Pipecat and Cartesia need Python 3.11 or newer"
  exit 0
fi

# environment_from NAME FILE: the environment with the packages that a file lists.
environment_from() {
  local packages
  mapfile -t packages < <(sed 's/#.*//; /^\s*$/d' "tests/clients/integrations/$2")
  environment_of "$1" --no-deps "${packages[@]}"
}

# run_scripts NAME…: runs scripts of tests/clients/integrations in $environment.
run_scripts() {
  local name
  for name in "$@"; do
    say "$name"
    "$environment/bin/python" "tests/clients/integrations/run-$name.py" --url "http://127.0.0.1:$port" --key local
  done
}

# serve_on_data NAME: starts a server with a data folder of its own on $port.
serve_on_data() {
  port=$(free_port)
  say "starting recollect serve on port $port"
  start "$1" "$recollect" serve --bind 127.0.0.1 --port "$port" --data "$work/$1"
  wait_while_running 30 "recollect serve" curl --silent --fail "http://127.0.0.1:$port/health"
}

recollect=$(recollect_binary)
serve_on_data version-3
environment_from integrations requirements.txt
run_scripts python-sdk openai-sdk bash agent-framework pipecat cartesia

# Versions 3 and 5 of the client have one name. The scripts send wrong keys as well, and a server admits a few from one
# address.
serve_on_data version-5
environment_from integrations-5 requirements-5.txt
run_scripts python-sdk-5 agent-framework-2
say "passed"
