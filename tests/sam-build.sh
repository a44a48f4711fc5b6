#!/usr/bin/env bash
# Lints the templates and builds every function as SAM does, then prints the size of each.
#   tests/sam-build.sh [release|dev]      the last line on standard output is the folder of the built template
# release  what `sam deploy` ships: optimized, for arm64 unless ARCH says otherwise, in .aws-sam/build
# dev      debug build with this machine's own linker, in target/sam/dev. The quickest, and it reuses what cargo has
#          built for tests when those ran with CARGO_BUILD_TARGET set to this machine's target. Runs on this machine only.
# ARCH=arm64|x86_64 chooses the architecture, BUILD_DIR another folder (below this one) for the built template.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
export SAM_CLI_TELEMETRY=0
tools=$(tests/tools.sh)
export PATH=$tools/bin:$PATH

profile=${1:-release}
case $(uname -m) in aarch64 | arm64) host=arm64 ;; *) host=x86_64 ;; esac
case $profile in
  release)
    arch=${ARCH:-arm64}
    build=.aws-sam/build
    ;;
  dev)
    arch=${ARCH:-$host}
    [[ $arch == "$host" ]] || { echo "sam-build: dev builds are for $host only" >&2; exit 1; }
    build=target/sam/dev
    export SAM_BUILD_MODE=debug CARGO_LAMBDA_COMPILER=cargo
    ;;
  *)
    echo "usage: $0 [release|dev]" >&2
    exit 2
    ;;
esac

build=${BUILD_DIR:-$build}

echo "sam-build: linting the templates" >&2
sam validate --lint >&2
cfn-lint infra/*.yaml >&2

echo "sam-build: building the functions ($profile, $arch)" >&2
begin=$SECONDS
sam build --build-dir "$build" --parameter-overrides "Arch=$arch" >&2
# A debug binary is mostly line tables, which nobody reads here.
if [[ $profile == dev ]] && command -v strip >/dev/null; then strip "$build"/*Function/bootstrap; fi
echo "sam-build: built in $((SECONDS - begin)) s" >&2

"$tools/bin/python" - "$build" >&2 <<'PYTHON'
import pathlib, sys, zlib
for file in sorted(pathlib.Path(sys.argv[1]).glob("*/bootstrap")):
    data = file.read_bytes()
    zipped = len(zlib.compress(data, 6))
    print(f"sam-build: {file.parent.name}: bootstrap {len(data) / 1e6:.1f} MB, zip {zipped / 1e6:.1f} MB")
PYTHON
echo "$root/$build"
