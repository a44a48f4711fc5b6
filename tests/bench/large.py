"""Measures a large container on one machine: searches, lists, an export and a deletion, with the most resident memory.

Opens the data folder of a container that `bench scale` has filled. Each first request is that of a new server. Questions
are words of documents of the container, other ones for each search. Needs Linux, for /proc.

Usage: large.py BINARY FOLDER [--export] [--delete] [--port PORT]
  --export  also exports the container, and throws the file away
  --delete  finally deletes the container, which cannot be undone
"""

import argparse
import contextlib
import os
import random
import re
import statistics
import subprocess
import time

from machine import Client, read_usage, wait_for_server

TAG = "scale"
SEARCHES = 25


@contextlib.contextmanager
def run_server(args):
    """Starts a server on the folder, and yields a client of it and its process id."""
    command = [args.binary, "serve", "--data", args.folder, "--port", str(args.port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for_server(args.port)
        yield Client(args.port, timeout=900), server.pid
    finally:
        server.terminate()
        server.wait()


def timed(client, method, path, body=None):
    """Returns the milliseconds of a request, and its answer."""
    start = time.monotonic()
    answer = client.send(method, path, body)
    return 1000 * (time.monotonic() - start), answer


def show(name, millis, pid):
    if isinstance(millis, list):
        times = f"{statistics.median(millis):8.1f} ms, at most {max(millis):.0f} ms"
    else:
        times = f"{millis:8.0f} ms"
    print(f"{name:<42} {times:<30} {read_usage(pid)[3] >> 20:>6} MB", flush=True)


def list_documents(page=1, **options):
    return "POST", "/v3/documents/list", {"containerTags": [TAG], "limit": 10, "page": page, **options}


def list_memories(page=1, **options):
    return "POST", "/v4/memories/list", {"containerTags": [TAG], "limit": 10, "page": page, **options}


def read_words(client):
    """Returns words of documents of the container."""
    pages = [client.send(*list_documents(page, includeContent=True)) for page in (1, 2, 3)]
    texts = [document["content"] for page in pages for document in page["memories"]]
    return sorted(set(re.findall(r"\b[a-z]{4,}\b", " ".join(texts))))


def measure_searches(args):
    chance = random.Random(5)
    with run_server(args) as (client, pid):
        words = read_words(client)
    with run_server(args) as (client, pid):
        for mode in ("hybrid", "documents", "memories"):
            def search():
                question = " ".join(chance.choices(words, k=6))
                body = {"q": question, "containerTag": TAG, "searchMode": mode, "threshold": 0}
                return timed(client, "POST", "/v4/search", body)[0]

            if mode == "hybrid":
                show("first search", search(), pid)
            show(f"search, {mode}", [search() for _ in range(SEARCHES)], pid)


def measure_lists(args):
    lists = {
        "documents": list_documents,
        "documents by the last change": lambda page=1: list_documents(page, sort="updatedAt"),
        "documents below a path": lambda page=1: list_documents(page, filepath="/nowhere/"),
        "memories": list_memories,
    }
    for name, of_page in lists.items():
        with run_server(args) as (client, pid):
            first, answer = timed(client, *of_page())
            show(f"{name}, first request", first, pid)
            middle = max(1, answer["pagination"]["totalPages"] // 2)
            show(f"{name}, page {middle}", timed(client, *of_page(middle))[0], pid)
            show(f"{name}, page {middle} again", timed(client, *of_page(middle))[0], pid)


def measure_export(args):
    command = [args.binary, "export", "--data", args.folder, "--container-tag", TAG, "--output", "-"]
    start = time.monotonic()
    with open(os.devnull, "w", encoding="utf-8") as nothing:
        export = subprocess.Popen(command, stdout=nothing, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(export.pid, 0)
    if status:
        raise SystemExit("the export failed")
    print(f"{'export':<42} {time.monotonic() - start:8.0f} s {'':<20} {usage.ru_maxrss >> 10:>6} MB", flush=True)


def measure_deletion(args):
    with run_server(args) as (client, pid):
        millis, answer = timed(client, "DELETE", f"/v3/container-tags/{TAG}")
        show("deletion, until the answer", millis, pid)
        start = time.monotonic()
        while client.send("GET", f"/v3/container-tags/deletions/{answer['deletionId']}")["status"] != "completed":
            time.sleep(1)
        show("deletion, until everything is removed", 1000 * (time.monotonic() - start), pid)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("folder")
    parser.add_argument("--export", action="store_true", help="also export the container")
    parser.add_argument("--delete", action="store_true", help="finally delete the container")
    parser.add_argument("--port", type=int, default=17861)
    args = parser.parse_args()

    print(f"{'':<42} {'time':<30} {'memory':>9}")
    measure_searches(args)
    measure_lists(args)
    if args.export:
        measure_export(args)
    if args.delete:
        measure_deletion(args)


if __name__ == "__main__":
    main()
