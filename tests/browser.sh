#!/usr/bin/env bash
# Runs `recollect demo --drive` and does in a real browser what it asks a person to do: refuses and permits access,
# selects in the picker by mouse and by keyboard, saves, follows the synchronization, and looks whether the documents are
# there. axe looks for what keeps people out. Screenshots go to RECOLLECT_SHOTS.
# Then uses the console of an empty `recollect serve` as a person does, and checks each of its views.
# Then calls `recollect serve` from a web page of another origin with the unmodified npm client (CORS).
#   RECOLLECT_BIN     the binary recollect (otherwise it is built)
#   RECOLLECT_SHOTS   a folder for screenshots (default: target/shots)
#   CHROMIUM          the browser (default: chromium)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

npm_install "$work/axe" axe-core@4.14.1
axe=$work/axe/node_modules/axe-core/axe.min.js
# The driver of the browser comes with the package; the browser is the system's.
environment_of browser playwright==1.65.2
chromium=$(command -v "${CHROMIUM:-chromium}") || fail "there is no ${CHROMIUM:-chromium}; install it"
recollect=$(recollect_binary)
shots=${RECOLLECT_SHOTS:-target/shots}
mkdir -p "$shots"
port=$(free_port)
say "starting recollect demo --drive on port $port"
start demo "$recollect" demo --drive --port "$port"
wait_while_running 60 "the demo's link" grep -q auth/start "$work/demo.log"
link=$(grep -o 'http://[^ ]*auth/start[^ ]*' "$work/demo.log")
"$environment/bin/python" tests/clients/picker.py --link "$link" --chromium "$chromium" --shots "$shots" \
  --axe "$axe"
wait_while_running 30 "the demo to tell that all is searchable" grep -q 'It stays in step' "$work/demo.log"

port=$(free_port)
say "starting recollect serve for its console on port $port"
start console "$recollect" serve --bind 127.0.0.1 --port "$port" --data "$work/console"
wait_while_running 30 "recollect serve" curl --silent --fail "http://127.0.0.1:$port/health"
"$environment/bin/python" tests/clients/console.py --url "http://127.0.0.1:$port" --chromium "$chromium" \
  --shots "$shots" --axe "$axe"

npm_package
port=$(free_port)
closed_port=$(free_port)
say "starting recollect serve on port $port, and for other origins on port $closed_port"
start serve "$recollect" serve --bind 127.0.0.1 --port "$port" --data "$work/data"
start closed "$recollect" serve --bind 127.0.0.1 --port "$closed_port" --data "$work/closed" \
  --cors-origins https://app.example.com
for url in "http://127.0.0.1:$port" "http://127.0.0.1:$closed_port"; do
  wait_while_running 30 "recollect serve" curl --silent --fail "$url/health"
done
environment_of browser playwright==1.65.2
"$environment/bin/python" tests/clients/cors.py --url "http://127.0.0.1:$port" --key local --package "$package" \
  --chromium "$chromium" --closed-url "http://127.0.0.1:$closed_port"
say "passed"
