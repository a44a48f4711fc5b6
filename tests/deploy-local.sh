#!/usr/bin/env bash
# Deploys the built template with `recollect deploy` to ministack, which plays AWS on the loopback interface:
# CloudFormation makes tables, bucket, queues, functions, alarms and the dashboard, and queue messages start the functions.
# Then drives the API with the unmodified Python client, exports and imports a container, updates the stack and rolls it
# back, moves searches to two tasks of a recall service and back, backs everything up and restores it into a data folder,
# goes back to a time before a deletion, and sends a message that cannot be read, which must end in the dead-letter queue
# and stay. `recollect doctor` must tell a healthy stack from one with a dead letter. At last the stack is deleted, and a
# new one uses the stores that are left.
#   RECOLLECT_BIN        the binary recollect (otherwise it is built)
#   RECOLLECT_SAM_BUILD  folder of a built template (otherwise tests/sam-build.sh makes one, RECOLLECT_SAM_PROFILE)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

sam_build
recollect=$(recollect_binary)
stack=recollect-test

port=$(free_port)
export AWS_ENDPOINT_URL=http://127.0.0.1:$port AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1
export AWS_DEFAULT_REGION=$AWS_REGION AWS_EC2_METADATA_DISABLED=true
unset AWS_PROFILE AWS_SESSION_TOKEN

say "starting ministack on $AWS_ENDPOINT_URL"
# Without these it listens on every interface and on a second port. The functions inherit its AWS_ENDPOINT_URL.
start ministack env TMPDIR="$work" BIND_HOST=127.0.0.1 GATEWAY_PORT="$port" IOT_MTLS_PORT=0 PERSIST_STATE=0 \
  STATE_DIR="$work/state" S3_DATA_DIR="$work/s3" "$tools/ministack/bin/python" tests/clients/start_ministack.py
wait_while_running 60 ministack curl --silent --output /dev/null "$AWS_ENDPOINT_URL/"

# The API of ministack answers at another address than the stack says, so the trial comes later.
deploy() { "$recollect" "$@" --stack "$stack" --org demo --yes --no-trial; }
say "deploying"
data_key=$("$python" -c 'import boto3
print(boto3.client("kms").create_key(Description="the data of demo")["KeyMetadata"]["Arn"])')
deploy deploy --functions "$build" --parameter Monitoring=on --parameter BucketVersionDays=7 \
  --parameter DataKeyArn="$data_key" >"$work/deploy.log" || fail "recollect deploy"
"$python" tests/clients/stores.py encrypt "$stack" "$data_key"
key=$(tail -n 1 "$work/deploy.log")
[[ $key == rk_* ]] || fail "the first key is not on the last line"

"$python" tests/clients/after_deploy.py "$build/template.yaml" "$stack" >"$work/settings"
# shellcheck source=/dev/null
source "$work/settings"

say "calling the API at $api"
wait_while_running 30 "GET /health" curl --silent --fail "$api/health"
"$python" tests/clients/python_client.py --url "$api" --key "$key"
grep -q "for $stack-reader " "$work/ministack.log" || fail "the function reader was not started"

call_api() { curl --silent --fail --header "Authorization: Bearer $key" --header 'Content-Type: application/json' "$@"; }
doctor() { "$recollect" doctor --stack "$stack" --org demo --url "$api" "$@"; }
say "looking for what is wrong"
doctor --trial >"$work/doctor.log" || fail "recollect doctor"
grep -q '^ok  *trial' "$work/doctor.log" || fail "no trial"
grep -q 'none of 9 fires' "$work/doctor.log" || fail "the doctor does not know the alarms"
grep -q '^ok  *data key' "$work/doctor.log" || fail "the doctor does not know the key"

say "exporting and importing"
curl --silent --fail "$api/v3/documents" --header "Authorization: Bearer $key" \
  --header 'Content-Type: application/json' --data '{"content": "The ferry leaves from quay nine.", "containerTag": "moved"}' >/dev/null
export_moved() {
  "$recollect" export --stack "$stack" --org demo --container-tag moved --output "$work/moved.jsonl" &&
    grep -q '"status":"done"' "$work/moved.jsonl"
}
wait_for 60 "the exported document" export_moved
"$recollect" import --stack "$stack" --org copy "$work/moved.jsonl" | grep -q '1 document done' || fail "import"
"$recollect" keys list --stack "$stack" --org demo | grep -q 'first key' || fail "keys list"

say "updating with a secret, and rolling back"
start model "$python" tests/clients/chat_stub.py --key sk-stub --model stub
wait_while_running 30 model grep -q . "$work/model.log"
secret=$("$python" -c 'import boto3
secret = boto3.client("secretsmanager").create_secret(Name="recollect", SecretString="{\"ModelKey\": \"sk-stub\"}")
print(secret["ARN"])')
memory() { "$python" -c 'import boto3, sys
function = boto3.client("lambda").get_function_configuration(FunctionName=sys.argv[1])
print(function["MemorySize"])' "$stack-search"; }
before=$(memory)
mkdir "$work/update"
ln -s "$build"/* "$work/update/"
rm "$work/update/template.yaml"
sed "s/MemorySize: $before\$/MemorySize: $((before + 64))/" "$build/template.yaml" >"$work/update/template.yaml"
deploy deploy --functions "$work/update" --parameter LogLevel=debug --parameter SecretArn="$secret" \
  --parameter ModelUrl="$(<"$work/model.log")" --parameter MemoryModel=stub >"$work/update.log" || fail "update"
[[ $(memory) == $((before + 64)) ]] || fail "the update did not arrive"
if grep -q 'MAY BE LOST' "$work/update.log"; then fail "an update replaces a store"; fi
# The stub answers only the key in the secret, with words that are no memories.
ask_model() {
  id=$(curl --silent --fail "$api/v3/documents?wait=true" --header "Authorization: Bearer $key" \
    --header 'Content-Type: application/json' --data '{"content": "I live in Bonn."}' | "$python" -c 'import json, sys
print(json.load(sys.stdin)["id"])')
  wait_for 60 "the document" model_was_asked
}
model_was_asked() {
  curl --silent --fail "$api/v3/documents/$id" --header "Authorization: Bearer $key" >"$work/asked.log" &&
    grep -q "answer was not usable" "$work/asked.log"
}
ask_model
if deploy deploy --functions "$build" --parameter DataKeyArn= >"$work/refused.log" 2>&1; then fail "a stack without its key"; fi
grep -q "takes its key at its first deployment" "$work/refused.log" || fail "the refusal does not say why"
deploy rollback >"$work/rollback.log" || fail "rollback"
[[ $(memory) == "$before" ]] || fail "the rollback did not arrive"
"$recollect" export --stack "$stack" --org demo --container-tag moved | grep -q ferry || fail "data after the rollback"

say "moving searches to tasks that stay warm"
"$python" tests/clients/recall_stack.py network >"$work/network"
# shellcheck source=/dev/null
source "$work/network"
if deploy deploy --functions "$build" --parameter RecallTier=service \
  --parameter RecallMaxTasks=2 >"$work/refused.log" 2>&1; then fail "a recall service without a network"; fi
grep -q 'needs RecallVpc' "$work/refused.log" || fail "the refusal does not say what is missing"
deploy deploy --functions "$build" --parameter RecallTier=service --parameter RecallVpc="$vpc" \
  --parameter RecallSubnets="$subnets" --parameter RecallImage=recollect --parameter RecallMaxTasks=2 \
  >"$work/recall.log" || fail "deploy with a recall service"
"$python" tests/clients/recall_stack.py variables "$stack" >"$work/variables"
doctor >"$work/doctor.log" || fail "recollect doctor with a recall service"
grep -q 'none of 10 fires' "$work/doctor.log" || fail "the doctor does not know the alarm of the recall service"
port_of_tasks=$(free_port)
tasks=()
for host in 127.0.0.1 127.0.0.2; do
  # shellcheck disable=SC2016
  start "task-$host" bash -c 'source "$1"; exec "${@:2}"' bash "$work/variables" \
    "$recollect" recall --bind "$host" --port "$port_of_tasks"
  tasks+=("$pid")
  wait_for 30 "a task" "$recollect" status --health --url "http://$host:$port_of_tasks"
done
search_ferry() {
  call_api "$api/v3/search" --data '{"q": "Where does the ferry leave?", "containerTag": "moved"}' | grep -q 'quay nine'
}
# answers_of HOST: prints the number of searches that a task has answered.
answers_of() { grep --count 'POST /v3/search answered 200' "$work/task-$1.log" || true; }
"$python" tests/clients/recall_stack.py tasks "$stack" "127.0.0.1:$port_of_tasks,127.0.0.2:$port_of_tasks"
for _ in 1 2; do search_ferry || fail "a search by a task"; done
first=$(answers_of 127.0.0.1) second=$(answers_of 127.0.0.2)
[[ $first$second == 20 || $first$second == 02 ]] || fail "one task did not answer both searches, but $first and $second"
kill "${tasks[first == 2 ? 0 : 1]}"
wait "${tasks[first == 2 ? 0 : 1]}" || fail "a task does not end well"
search_ferry || fail "a search while a task is away"
[[ $(($(answers_of 127.0.0.1) + $(answers_of 127.0.0.2))) == 3 ]] || fail "the other task did not answer"
kill "${tasks[first == 2 ? 1 : 0]}"
search_ferry || fail "a search without tasks"
deploy deploy --functions "$build" --parameter RecallTier=function >"$work/recall.log" || fail "deploy without a recall service"
search_ferry || fail "a search by the function"

say "backing up, restoring and checking"
"$recollect" check --stack "$stack" >"$work/check.log" || { cat "$work/check.log" >&2; fail "check of the stack"; }
"$recollect" backup --stack "$stack" "$work/backup" >"$work/backup.log" || fail "backup"
"$recollect" restore --data "$work/restored" "$work/backup" >"$work/restore.log" || { cat "$work/restore.log" >&2; fail "restore"; }
grep -q '^Verified' "$work/restore.log" || fail "the restored data is not verified"
"$recollect" check --data "$work/restored" >"$work/check.log" || { cat "$work/check.log" >&2; fail "check of the restored folder"; }

say "going back to a time before a deletion"
# Its text is too long for a record, even compressed, so it is an object.
"$python" -c 'import json, random
words = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=8)) for _ in range(4000)]
text = "The lighthouse keeper counts ships. " + " ".join(words)
print(json.dumps({"content": text, "customId": "lighthouse"}))' >"$work/document.json"
id=$(call_api "$api/v3/documents?wait=true" --data "@$work/document.json" | "$python" -c 'import json, sys
print(json.load(sys.stdin)["id"])')
sleep 1 # times of objects are in whole seconds
time=$(date --utc +%Y-%m-%dT%H:%M:%SZ)
records=$stack-records-${time//[^0-9]/}
# The stand-in restores a table as it is now, whatever the time. So the restoration begins before the deletion, and
# `recover` goes on with it.
"$python" tests/clients/stores.py restore "$RECOLLECT_RECORDS_TABLE" "$records"
sleep 1
call_api "$api/v3/documents/lighthouse" --request DELETE
wait_for 150 "the deletion of the object" "$python" tests/clients/stores.py deleted "$RECOLLECT_BUCKET" "$id"
deploy recover --time "$time" >"$work/recover.log" || fail "recover"
if grep -q 'MAY BE LOST' "$work/recover.log"; then fail "recover loses a store"; fi
grep -q '^Brought back [1-9]' "$work/recover.log" || fail "no object came back"
find_lighthouse() { call_api "$api/v3/documents/lighthouse" | grep -q 'counts ships'; }
wait_for 30 "the deleted document" find_lighthouse
# As after an interruption when the stack had changed.
deploy recover --time "$time" >"$work/recover-again.log" || fail "a repeated recover"
grep -q "^The stack already uses $records" "$work/recover-again.log" || fail "recover does not go on"
"$recollect" check --stack "$stack" >"$work/check.log" || { cat "$work/check.log" >&2; fail "check of the recovered stack"; }

say "sending a message that cannot be read"
"$python" tests/clients/poison.py "$RECOLLECT_PROCESS_QUEUE_URL" "$dead"
doctor >"$work/doctor.log" && fail "the doctor overlooks a dead letter"
grep -q '^problem  *queue process' "$work/doctor.log" || fail "the doctor does not name the queue"

say "deleting the stack, and using its stores in a new one"
secrets_key=arn:aws:kms:$AWS_REGION:$account:key/$RECOLLECT_SECRETS_KEY_ID
"$python" tests/clients/stores.py delete-stack "$stack"
stack=recollect-second
deploy deploy --functions "$build" --no-key --parameter Monitoring=on --parameter RecordsTableName="$records" \
  --parameter SecretsTableName="$RECOLLECT_SECRETS_TABLE" --parameter SecretsKeyArn="$secrets_key" \
  --parameter BucketName="$RECOLLECT_BUCKET" --parameter DataKeyArn="$data_key" >"$work/adopt.log" ||
  fail "deploy with existing stores"
"$python" tests/clients/after_deploy.py "$build/template.yaml" "$stack" >"$work/settings"
# shellcheck source=/dev/null
source "$work/settings"
wait_while_running 30 "GET /health" curl --silent --fail "$api/health"
wait_for 30 "the document of the former stack" find_lighthouse
"$python" tests/clients/python_client.py --url "$api" --key "$key"
say "passed"
