#!/usr/bin/env bash
# Makes the Python environment with the tools that the scripts of this folder call, or finds it ready, and prints
# its path as the only line on standard output. `RECOLLECT_TOOLS` chooses the folder (default: target/tools).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tools=${RECOLLECT_TOOLS:-$root/target/tools}

# Exact versions: a tool changes only by a change of these lists.
main=(
  aws-sam-cli==1.170.0        # sam validate, build, local, deploy
  cargo-lambda==1.9.2         # what `sam build` calls for BuildMethod rust-cargolambda
  ziglang==0.16.0             # the linker cargo-lambda uses; the version SAM tests with
  cfn-lint==1.58.0            # behind `sam validate --lint`, and by itself
  boto3==1.43.108             # the scripts' own calls; the version SAM asks for
  supermemory==3.62.0         # the client that must work unmodified
)
# ministack (AWS on loopback: CloudFormation, Lambda, queues, tables) wants another botocore than SAM, so it has an
# environment of its own inside the first.
ministack=(
  ministack==1.5.33
  aws-sam-translator==1.115.0 # expands the SAM template
  cryptography==50.0.2        # signs and verifies for its IAM and STS
  cbor2==6.3.0                # reads the requests of new SDKs to CloudWatch
)
# schemathesis (requests made up from openapi.yaml) wants newer libraries than SAM allows.
schemathesis=(
  schemathesis==4.32.5
)

stamp=$tools/.installed
want=$(printf '%s\n' "${main[@]}" "${ministack[@]}" "${schemathesis[@]}")
if [[ ! -f $stamp || $(<"$stamp") != "$want" ]]; then
  echo "installing the tools into $tools" >&2
  python3 -m venv "$tools" "$tools/ministack" "$tools/schemathesis" >&2
  # Each keeps one processor busy.
  "$tools/bin/pip" install --quiet --disable-pip-version-check "${main[@]}" >&2 &
  "$tools/ministack/bin/pip" install --quiet --disable-pip-version-check "${ministack[@]}" >&2 &
  "$tools/schemathesis/bin/pip" install --quiet --disable-pip-version-check "${schemathesis[@]}" >&2 &
  for _ in 1 2 3; do wait -n; done
  ln -sf ../ministack/bin/ministack "$tools/bin/ministack"
  ln -sf ../schemathesis/bin/schemathesis "$tools/bin/schemathesis"
  printf '%s\n' "$want" >"$stamp"
fi
echo "$tools"
