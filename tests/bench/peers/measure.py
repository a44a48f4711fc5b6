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

from systems import SYSTEMS

sys.path.append(str(Path(__file__).resolve().parents[1]))
from machine import make_texts

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
        found["resident_mb"] = sum(status(process, "VmRSS") for process in system.processes()) / 1024
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
    """Returns the processor seconds and the bytes written of all processes of a system."""
    seconds, written = 0.0, 0
    for process in system.processes():
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        lines = Path(f"/proc/{process}/io").read_text().splitlines()
        written += int(dict(line.split(": ") for line in lines)["write_bytes"])
    return seconds, written


def status(process, name):
    """Returns a figure of a process in kilobytes."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return 0


main()
