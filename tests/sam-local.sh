#!/usr/bin/env bash
# Runs the deployable functions by `recollect dev`, in `sam local start-api` over embedded AWS services, and drives them
# with the unmodified Python client: a text and a PDF are accepted, processed, listed, found and deleted. Then calls them from a
# web page of another origin with the unmodified npm client (CORS).
# `sam local` does not poll queues: the script hands the waiting messages to the processor's function, and `recollect
# work` does what follows, over the same data folder.
# Needs Linux. Uses the container engine that answers; where none does, or where it reaches no image registry,
# tests/docker-engine.sh starts one (as root).
#   RECOLLECT_BIN        the binary recollect (otherwise it is built)
#   RECOLLECT_SAM_BUILD  folder of a built template (otherwise tests/sam-build.sh makes one, RECOLLECT_SAM_PROFILE)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

clean_up_more() {
  # SAM keeps a container per function; ours are those with a folder of our build mounted.
  if [[ -n ${build:-} ]]; then
    local function container
    for function in "$build"/*Function; do
      for container in $(docker ps --quiet --filter "volume=$function"); do docker rm --force "$container" >/dev/null; done
    done
  fi
  if [[ -n ${engine_started:-} ]]; then tests/docker-engine.sh stop; fi
}

sam_build
recollect=$(recollect_binary)

# Any engine will do that has the Lambda base image or can fetch it.
image=public.ecr.aws/lambda/provided:al2023-$(host_arch)
has_image() { docker info && { docker image inspect "$image" || timeout 300 docker pull "$image"; }; }
if ! has_image >"$work/engine.log" 2>&1; then
  DOCKER_HOST=unix://${RECOLLECT_ENGINE:-/var/lib/recollect-engine}/docker.sock
  export DOCKER_HOST
  docker info >/dev/null 2>&1 || engine_started=yes
  tests/docker-engine.sh start >/dev/null
fi
# Where the containers reach this machine.
bridge=$(docker network inspect bridge --format '{{(index .IPAM.Config 0).Gateway}}')
[[ -n $bridge ]] || bridge=172.17.0.1

say "starting recollect dev, with the AWS services on $bridge"
data=$work/data
aws_port=$(free_port)
api_port=$(free_port)
start dev "$recollect" dev --functions "$build" --data "$data" --bind "$bridge" --aws-port "$aws_port" --port "$api_port" \
  --no-workers -- --skip-pull-image
wait_while_running 60 "the key of recollect dev" grep --quiet '^Key: ' "$work/dev.log"
key=$(sed -n 's/^Key: *//p' "$work/dev.log")
# The first call builds SAM's image and starts the container.
wait_while_running 180 "GET /health through sam local" curl --silent --fail "http://127.0.0.1:$api_port/health"

# What calls of single functions need beside.
export AWS_ENDPOINT_URL=http://$bridge:$aws_port AWS_ACCESS_KEY_ID=embedded \
  AWS_SECRET_ACCESS_KEY=embedded-services-have-no-secrets
export AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1
settings=(--template "$build/template.yaml" --parameter-overrides "Arch=$(host_arch) EndpointUrl=$AWS_ENDPOINT_URL"
  --env-vars "$data/sam-variables.json" --skip-pull-image)
queue=$("$python" -c 'import json, sys
print(json.load(open(sys.argv[1]))["Parameters"]["RECOLLECT_PROCESS_QUEUE_URL"])' "$data/sam-variables.json")

# The processor's function reads the documents in its container; the rest is left to `recollect work`.
processor=$(printf '%q ' "$python" tests/clients/invoke_worker.py ProcessorFunction "$queue" "${settings[@]}")
"$python" tests/clients/python_client.py --url "http://127.0.0.1:$api_port" --key "$key" \
  --work "$processor && '$recollect' work --data '$data' --until-idle"

say "calling the API from a web page of another origin"
start work "$recollect" work --data "$data"
npm_package
environment_of browser playwright==1.65.2
"$environment/bin/python" tests/clients/cors.py --url "http://127.0.0.1:$api_port" --key "$key" --package "$package" \
  --chromium "$(command -v "${CHROMIUM:-chromium}")"
say "passed"
