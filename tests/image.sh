#!/usr/bin/env bash
# Builds the container image and lets it remember a fact: it is healthy, does not run as root, keeps its data in the
# volume and ends at once when it is told to.
#   RECOLLECT_BIN   the program (otherwise a debug build of it, stripped)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if ! docker info >/dev/null 2>&1; then
  DOCKER_HOST=$(tests/docker-engine.sh start | tail -n 1)
  export DOCKER_HOST
fi
image=recollect-test-$$
clean_up_more() {
  docker logs "$image" >"$work/container.log" 2>&1
  docker rm --force "$image" >/dev/null
  docker volume rm --force "$image" >/dev/null
  docker image rm --force "$image" "$image-base" >/dev/null
}

program=$work/recollect
cp "$(recollect_binary)" "$program"
strip "$program"
# In place of the released base, which is in a registry: the libraries that the program needs, and nothing else.
mkdir "$work/base"
ldd "$program" | grep -o '/[^ ]*' | xargs cp --parents --dereference --target-directory "$work/base"
tar --create --directory "$work/base" . | docker import - "$image-base" >/dev/null
packages/image.sh "$program" --quiet --build-arg "BASE=$image-base" --tag "$image" >/dev/null

# run_image: starts a container with the data of the one before. It has no network but its own loopback.
run_image() {
  docker run --detach --name "$image" --network none --volume "$image:/data" --health-interval 1s \
    "$image" serve --bind 127.0.0.1 >/dev/null
  wait_for 30 "the container is healthy" is_healthy
}
is_healthy() { [[ $(docker inspect --format '{{.State.Health.Status}}' "$image") == healthy ]]; }
inside() { docker exec "$image" /usr/bin/recollect "$@" --tag me; }

run_image
[[ $(docker image inspect --format '{{.Config.User}}' "$image") == 65532:65532 ]] || fail "the image runs as root"
inside add --own-words --text "My name is Mina. I live in Porto." >/dev/null
begin=$SECONDS
docker stop --time 20 "$image" >/dev/null
((SECONDS - begin < 10)) || fail "the container takes $((SECONDS - begin)) s to stop"
[[ $(docker inspect --format '{{.State.ExitCode}}' "$image") == 0 ]] || fail "the container does not end well"
docker rm "$image" >/dev/null

run_image
inside ask "Where do I live?" | grep --quiet Porto || fail "the fact is not in the volume"
say "passed"
