#!/usr/bin/env bash
# Deploys the built template with `sam deploy` to ministack, which plays AWS on the loopback interface: CloudFormation
# makes tables, bucket, queues, functions, alarms and the dashboard, and queue messages start the functions. Then drives
# the API with the unmodified Python client, and sends a message that cannot be read, which must end in the dead-letter
# queue and stay.
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

say "deploying"
sam deploy --template-file "$build/template.yaml" --stack-name "$stack" --resolve-s3 --capabilities CAPABILITY_IAM \
  --no-confirm-changeset --no-progressbar --parameter-overrides "Arch=$(host_arch)" \
  >"$work/deploy.log" 2>&1 || { grep FAILED "$work/deploy.log" >&2; fail "sam deploy"; }

"$python" tests/clients/after_deploy.py "$build/template.yaml" "$stack" >"$work/settings"
# shellcheck source=/dev/null
source "$work/settings"

say "calling the API at $api"
wait_while_running 30 "GET /health" curl --silent --fail "$api/health"
key=$("$recollect" keys create --aws --org demo --name deploy | tail -n 1)
"$python" tests/clients/python_client.py --url "$api" --key "$key"

say "sending a message that cannot be read"
"$python" tests/clients/poison.py "$RECOLLECT_PROCESS_QUEUE_URL" "$dead"
say "passed"
