#!/usr/bin/env bash
# Runs the nginx of docs/behind-a-proxy.md before a server, on loopback and without TLS. Needs nginx, curl and python3.
# RECOLLECT_BIN is the binary; it is built when that is not set.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${RECOLLECT_BIN:-}" ]; then
    cargo build --quiet --bin recollect
    RECOLLECT_BIN="${CARGO_TARGET_DIR:-target}${CARGO_BUILD_TARGET:+/$CARGO_BUILD_TARGET}/debug/recollect"
fi

folder=$(mktemp -d)
# Started by root, nginx has workers of another user.
chmod 755 "$folder"
processes=()
finish() {
    for process in "${processes[@]}"; do kill "$process" 2>/dev/null || true; done
    wait
    rm -rf "$folder"
}
trap finish EXIT

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
server=$(free_port) plain=$(free_port) proxy=$(free_port) bare=$(free_port)
public="http://memory.test:$proxy"
curl=(curl --silent --show-error --max-time 20 --resolve "memory.test:$proxy:127.0.0.1")

# The configuration of the document, and one of nginx's defaults before a server that knows of no proxy.
{
    echo "pid $folder/nginx.pid; error_log $folder/error.log; daemon off; events {} http { access_log off;"
    for path in client_body proxy fastcgi uwsgi scgi; do echo "${path}_temp_path $folder/$path;"; done
    sed -n '/^```nginx$/,/^```$/p' docs/behind-a-proxy.md | grep -v -e '^```' -e ssl_certificate |
        sed -e "s/127.0.0.1:8787/127.0.0.1:$server/" -e "s/listen 443 ssl/listen 127.0.0.1:$proxy/" \
            -e "s/memory.example.com/memory.test/"
    echo "server { listen 127.0.0.1:$bare; location / { proxy_pass http://127.0.0.1:$plain; } } }"
} >"$folder/nginx.conf"

key=$("$RECOLLECT_BIN" keys create --data "$folder/data" --name proxy | tail -1)
"$RECOLLECT_BIN" serve --data "$folder/data" --port "$server" --public-url "$public" >"$folder/greeting" &
processes+=($!)
"$RECOLLECT_BIN" serve --data "$folder/plain" --port "$plain" >/dev/null &
processes+=($!)
nginx -c "$folder/nginx.conf" -p "$folder" &
processes+=($!)
for port in "$server" "$plain" "$proxy" "$bare"; do
    for _ in $(seq 200); do
        curl --silent --output /dev/null "http://127.0.0.1:$port/health" && break
        sleep 0.1
    done
done

expect() { # what, wanted, found
    [ "$2" = "$3" ] || { echo "$1: $3 instead of $2" >&2; exit 1; }
}
list() { # key, address
    "${curl[@]}" --output /dev/null --write-out '%{http_code}' -H "authorization: Bearer $1" -H 'content-type: application/json' -d '{}' "$2/v3/documents/list"
}
expect "a created key through the proxy" 200 "$(list "$key" "$public")"
expect "the key local through the proxy" 401 "$(list local "$public")"
expect "the key local beside the proxy" 401 "$(list local "http://127.0.0.1:$server")"
expect "the key local through nginx's defaults" 401 "$(list local "http://127.0.0.1:$bare")"
expect "the key local without a proxy" 200 "$(list local "http://127.0.0.1:$plain")"
grep --quiet "keys create" "$folder/greeting"

head -c 50000000 /dev/zero | tr '\0' 'a' >"$folder/file.txt"
id=$("${curl[@]}" -H "authorization: Bearer $key" -F "file=@$folder/file.txt" "$public/v3/documents/file" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])')
link=$("${curl[@]}" -H "authorization: Bearer $key" "$public/v3/documents/$id/file-url" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["url"])')
"${curl[@]}" --output "$folder/back.txt" "$link"
cmp "$folder/file.txt" "$folder/back.txt"
expect "a wrong key with a large body" 401 "$("${curl[@]}" --output /dev/null --write-out '%{http_code}' \
    -H 'authorization: Bearer wrong' -F "file=@$folder/file.txt" "$public/v3/documents/file")"
for _ in $(seq 25); do last=$(list wrong "$public"); done
expect "many wrong keys" 429 "$last"
expect "a good key after them" 200 "$(list "$key" "$public")"
echo "the proxy of docs/behind-a-proxy.md works"
