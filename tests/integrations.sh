#!/usr/bin/env bash
# Starts `recollect serve` on a free port over an empty data folder and drives it with unmodified packages from PyPI:
# every method of the Python SDK, the OpenAI tools, the shell, the agent framework, Pipecat and Cartesia. A stub on
# loopback stands in for models.
#   RECOLLECT_BIN   the binary recollect (otherwise it is built)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  say "skipped: Pipecat and Cartesia need Python 3.11 or newer"
  exit 0
fi

mapfile -t packages < <(sed 's/#.*//; /^\s*$/d' tests/clients/integrations/requirements.txt)
environment_of integrations --no-deps "${packages[@]}"
recollect=$(recollect_binary)
port=$(free_port)
say "starting recollect serve on port $port"
start serve "$recollect" serve --bind 127.0.0.1 --port "$port" --data "$work/data"
wait_while_running 30 "recollect serve" curl --silent --fail "http://127.0.0.1:$port/health"

for name in python-sdk openai-sdk bash agent-framework pipecat cartesia; do
  say "$name"
  "$environment/bin/python" "tests/clients/integrations/run-$name.py" --url "http://127.0.0.1:$port" --key local
done
say "passed"
