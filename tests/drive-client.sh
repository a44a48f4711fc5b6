#!/usr/bin/env bash
# Starts the fake drive on a free port and drives it with the vendor's unmodified Python client, which knows the
# description of the real API: consent, listings, changes, content, notifications and errors.
#   RECOLLECT_FAKE_DRIVE   the example `serve` of the crate fake-drive (otherwise it is built)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# Exact versions, in an environment of their own: they want other libraries than the tools do.
client=(
  google-api-python-client==2.202.0 # ships the description of the API
  google-auth-oauthlib==1.5.0       # its consent with PKCE
)
environment_of drive "${client[@]}"

serve=${RECOLLECT_FAKE_DRIVE:-}
if [[ -z $serve ]]; then
  say "building the fake drive"
  cargo build --quiet --locked --example serve >&2
  serve=$(built examples serve)
fi
port=$(free_port)
say "starting the fake drive on port $port"
start serve "$serve" --bind "127.0.0.1:$port"
wait_while_running 30 "the fake drive" grep -q . "$work/serve.log"
{ read -r url; read -r id; read -r secret; } <"$work/serve.log"
"$environment/bin/python" tests/clients/drive.py --url "$url" --client-id "$id" --client-secret "$secret"
say "passed"
