"""Measures one system. run.py starts this in the environment of the system, and reads its last line.

Usage: measure.py SYSTEM BINARY [--documents N]
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
from machine import make_texts, read_usage
from systems import SYSTEMS

BATCH = 100
CLIENTS = 16
QUESTIONS = 200
FRESH = 20


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("binary")
    parser.add_argument("--documents", type=int, default=2000)
    args = parser.parse_args()
    make, texts = SYSTEMS[args.system], make_texts(args.documents)

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        system = make(folder, args.binary)
        found["single_rate"], found["single_ms"], found["written_kb"] = ingest(system, texts, add_one_by_one)
        found["resident_mb"] = usage(system)[2] / 2**20
        found.update(measure_searches(system, texts))
        found["fresh_p50"] = measure_freshness(system)
        system.stop()
        if len(system.processes()) > 1:
            start = time.monotonic()
            system = make(folder, args.binary)
            system.search(texts[0][:80])
            found["restart_s"] = time.monotonic() - start
            system.stop()
    if make.batches:
        with tempfile.TemporaryDirectory() as folder:
            system = make(folder, args.binary)
            found["batch_rate"], found["batch_ms"], _ = ingest(system, texts, add_in_batches)
            system.stop()
    print(json.dumps(found))
    sys.stdout.flush()
    # Threads of some libraries would not let the process end.
    os._exit(0)


def ingest(system, texts, add):
    """Returns documents a second, milliseconds of processor time a document, and kilobytes written a document."""
    before, start = usage(system), time.monotonic()
    add(system, texts)
    system.wait()
    seconds, after = time.monotonic() - start, usage(system)
    count = len(texts)
    return count / seconds, 1000 * (after[0] - before[0]) / count, (after[1] - before[1]) / count / 1000


def add_in_batches(system, texts):
    for first in range(0, len(texts), BATCH):
        system.add(texts[first : first + BATCH])


def add_one_by_one(system, texts):
    with ThreadPoolExecutor(CLIENTS) as clients:
        for _ in clients.map(lambda text: system.add([text]), texts):
            pass


def measure_searches(system, texts):
    """Asks for sentences of the texts."""
    times = []
    for number in range(QUESTIONS):
        text = texts[number * 7 % len(texts)]
        question = text.split(". ")[number % 3]
        start = time.monotonic()
        results = system.search(question)
        times.append(1000 * (time.monotonic() - start))
        assert results, question
    times.sort()
    return {"search_p50": statistics.median(times), "search_p99": times[len(times) * 99 // 100]}


def measure_freshness(system):
    """Returns the median milliseconds from the start of adding a text until a search finds it."""
    times = []
    for number in range(FRESH):
        text = f"The lighthouse keeper number {number} counts {number * 31} green bottles in the harbour."
        start = time.monotonic()
        system.add([text])
        while not any(f"number {number} counts" in result for result in system.search(text)):
            if time.monotonic() - start > 30:
                raise SystemExit("an added text is not found")
        times.append(1000 * (time.monotonic() - start))
    return statistics.median(times)


def usage(system):
    """Returns the processor seconds, and the bytes written and resident, of all processes of a system."""
    figures = [read_usage(process)[:3] for process in system.processes()]
    return [sum(column) for column in zip(*figures)]


main()
