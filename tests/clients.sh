#!/usr/bin/env bash
# Starts `recollect serve` on a free port over an empty data folder and drives it with the unmodified Python client:
# a text and a PDF are added, listed, found, read and deleted, and the client's own test suite runs.
#   RECOLLECT_BIN   the binary recollect (otherwise it is built)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

recollect=$(recollect_binary)
port=$(free_port)
say "starting recollect serve on port $port"
start serve "$recollect" serve --bind 127.0.0.1 --port "$port" --data "$work/data"
wait_while_running 30 "recollect serve" curl --silent --fail "http://127.0.0.1:$port/health"
# On the loopback interface the key `local` is accepted.
"$python" tests/clients/python_client.py --url "http://127.0.0.1:$port" --key local

say "the client's own test suite"
version=3.62.0
environment_of sdk-suite "supermemory[aiohttp]==$version" pytest==8.4.2 pytest-asyncio==1.2.0
suite=$environment/supermemory-$version
if [[ ! -d $suite ]]; then
  "$tools/bin/pip" --python "$environment/bin/python" download --quiet --no-deps --no-binary :all: --dest "$work" "supermemory==$version" >&2
  tar --extract --gzip --file "$work/supermemory-$version.tar.gz" --directory "$environment"
fi
export TEST_API_BASE_URL=http://127.0.0.1:$port SDK_SUITE_KEY=local PYTHONPATH=$root/tests/clients/python-suite
(cd "$suite" && "$environment/bin/python" -m pytest -p sdk_suite --override-ini addopts= --quiet tests/api_resources)
say "passed"
