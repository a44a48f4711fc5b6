"""Measures what documents cost on one machine: processor time, bytes written to disk, and resident memory.

Starts the server on an empty data folder, adds documents of 2 KB to one container, waits until all are `done`, and then
until the server has been idle for some seconds. Needs Linux, for /proc.

Usage: machine.py BINARY [--documents N] [--single] [--idle SECONDS] [--port PORT]
"""

import argparse
import http.client
import itertools
import json
import os
import random
import subprocess
import tempfile
import threading
import time

DOCUMENT_BYTES = 2000
BATCH = 100
CLIENTS = 16
SYLLABLES = "ba de fi ko lu ma ne ri so ta ve wi pla gre sto tri nor mel dan sur ket".split()


def make_texts(count):
    """Returns texts of made-up words, the same in every run."""
    chance = random.Random(7)
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) for _ in range(4000)]

    def sentence():
        return " ".join(chance.choices(words, k=chance.randint(6, 16))).capitalize() + "."

    texts = []
    for _ in range(count):
        sentences = [sentence()]
        while sum(map(len, sentences)) < DOCUMENT_BYTES:
            sentences.append(sentence())
        texts.append(" ".join(sentences))
    return texts


class Client:
    """A connection to the server, with the key of the machine."""

    def __init__(self, port, timeout=60):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def send(self, method, path, body=None):
        headers = {"authorization": "Bearer local", "content-type": "application/json"}
        self.connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path} answered {answer.status}: {text[:300]}")
        return json.loads(text)


def wait_for_server(port):
    for _ in range(100):
        try:
            return Client(port).send("GET", "/v3/session")
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server did not start")


def add_in_batches(port, texts):
    client = Client(port)
    for first in range(0, len(texts), BATCH):
        documents = [{"content": text} for text in texts[first : first + BATCH]]
        client.send("POST", "/v3/documents/batch", {"containerTag": "box", "documents": documents})


def add_one_by_one(port, texts):
    """Adds one document a request, with several clients at a time."""
    numbers = itertools.count()

    def run():
        client = Client(port)
        while (number := next(numbers)) < len(texts):
            client.send("POST", "/v3/documents", {"containerTag": "box", "content": texts[number]})

    threads = [threading.Thread(target=run) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def read_usage(process):
    """Returns the processor seconds, the bytes written, and the resident bytes now and at most."""
    folder = f"/proc/{process}"
    with open(f"{folder}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    numbers = {}
    for name in ("io", "status"):
        with open(f"{folder}/{name}") as file:
            for line in file:
                key, _, value = line.partition(":")
                numbers[key] = value.split()[0] if value.split() else ""
    return seconds, int(numbers["write_bytes"]), int(numbers["VmRSS"]) * 1024, int(numbers["VmHWM"]) * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--single", action="store_true", help="one document a request, 16 clients")
    parser.add_argument("--idle", type=int, default=60, help="seconds until resident memory is read again")
    parser.add_argument("--port", type=int, default=17860)
    args = parser.parse_args()

    texts = make_texts(args.documents)
    with tempfile.TemporaryDirectory() as folder:
        command = [args.binary, "serve", "--data", folder, "--port", str(args.port)]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            measure(server.pid, args, texts)
        finally:
            server.terminate()
            server.wait()


def measure(process, args, texts):
    wait_for_server(args.port)
    before, start = read_usage(process), time.monotonic()
    add = add_one_by_one if args.single else add_in_batches
    add(args.port, texts)
    accepted = time.monotonic() - start

    client = Client(args.port)
    while client.send("GET", "/v3/documents/processing?limit=1")["totalCount"]:
        time.sleep(1)
    done, after = time.monotonic() - start, read_usage(process)
    time.sleep(args.idle)
    idle = read_usage(process)

    count = len(texts)
    print(f"accepted {count / accepted:.0f}, done {count / done:.0f} documents a second")
    print(f"{1000 * (after[0] - before[0]) / count:.1f} ms of processor time a document")
    print(f"{(after[1] - before[1]) / count / 1000:.0f} KB written a document")
    print(f"resident: at most {after[3] >> 20} MB, {idle[2] >> 20} MB after {args.idle} idle seconds")


if __name__ == "__main__":
    main()
