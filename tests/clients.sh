#!/usr/bin/env bash
# Starts `recollect serve` on a free port over an empty data folder and drives it with the unmodified Python client:
# a text and a PDF are added, listed, found, read and deleted.
#   RECOLLECT_BIN   the binary recollect (otherwise it is built)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

recollect=$(recollect_binary)
port=$(free_port)
say "starting recollect serve on port $port"
start serve "$recollect" serve --bind 127.0.0.1 --port "$port" --data "$work/data"
wait_while_running 30 "recollect serve" curl --silent --fail "http://127.0.0.1:$port/health"
# On the loopback interface the key `local` is accepted.
"$python" tests/clients/python_client.py --url "http://127.0.0.1:$port" --key local
say "passed"
