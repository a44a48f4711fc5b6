"""Measures built functions: size of the zip that `sam deploy` uploads, and how long a cold start takes.

Each start is a new process under aws-lambda-rie, AWS's runtime interface emulator, which comes with the SAM CLI. `init`
is what the emulator reports from starting the process to its first request for work; `first call` is the answer to an
event that needs no AWS service. Medians of RUNS starts, after one that is not counted and brings the file into memory.
AWS adds the download of the zip and the start of its sandbox, and gives less processor than this machine has.

Usage: init_time.py BUILD_FOLDER [RUNS], where BUILD_FOLDER is what tests/sam-build.sh printed. For this machine's
architecture only; for another, sizes alone are printed. Ends with status 1 when a goal is missed; that of the zip is for
the functions that answer the API, where somebody waits for the start.
"""

import io
import json
import os
import pathlib
import platform
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile

import samcli

GOAL_ZIP_MB, GOAL_INIT_MS = 12, 60
HEALTH = {
    "version": "2.0",
    "routeKey": "GET /health",
    "rawPath": "/health",
    "rawQueryString": "",
    "headers": {"host": "localhost"},
    "requestContext": {
        "http": {"method": "GET", "path": "/health", "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": "-"},
        "accountId": "1", "apiId": "1", "domainName": "localhost", "domainPrefix": "", "requestId": "1",
        "routeKey": "GET /health", "stage": "$default", "time": "01/Jan/2026:00:00:00 +0000", "timeEpoch": 1767225600000,
    },
    "isBase64Encoded": False,
}
# What each function answers without calling AWS: those of the API, and the others.
EVENTS = {"DocumentsFunction": HEALTH, "SearchFunction": HEALTH, "SettingsFunction": HEALTH}
NO_MESSAGES = {"Records": []}


def main():
    build, runs = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    missed = False
    print(f"{'function':<20} {'zip MB':>7} {'init ms':>8} {'first call ms':>14}")
    for bootstrap in sorted(build.glob("*/bootstrap")):
        size, name = zipped_mb(bootstrap), bootstrap.parent.name
        line = f"{name:<20} {size:>7.2f}"
        missed |= name in EVENTS and size > GOAL_ZIP_MB
        if is_for_this_machine(bootstrap):
            starts = [start(bootstrap, EVENTS.get(name, NO_MESSAGES)) for _ in range(runs + 1)][1:]
            init, call = (statistics.median(column) for column in zip(*starts))
            line += f" {init:>8.1f} {call:>14.1f}"
            missed |= init > GOAL_INIT_MS
        print(line, flush=True)
    print(f"goals: zip of an API function at most {GOAL_ZIP_MB} MB, init at most {GOAL_INIT_MS} ms: {'MISSED' if missed else 'met'}")
    return 1 if missed else 0


def zipped_mb(bootstrap):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(bootstrap, "bootstrap")
    return len(buffer.getvalue()) / 1e6


def is_for_this_machine(bootstrap):
    with bootstrap.open("rb") as file:
        machine = int.from_bytes(file.read(20)[18:20], "little")  # e_machine of the ELF header
    return machine == {"x86_64": 62, "aarch64": 183}.get(platform.machine())


def start(bootstrap, event):
    """Starts the function once. Returns the milliseconds of its initialization and of its first call."""
    arch = {"aarch64": "arm64"}.get(platform.machine(), platform.machine())
    emulator = pathlib.Path(samcli.__file__).parent / "local" / "rapid" / f"aws-lambda-rie-{arch}"
    front, runtime = free_ports()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [emulator, "--runtime-interface-emulator-address", front, "--runtime-api-address", runtime, bootstrap],
            cwd=bootstrap.parent, env=environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )
        try:
            invoke(front, event)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=10)
        log.seek(0)
        text = log.read().decode(errors="replace")
    init = re.search(r"INIT REPORT\(durationMs: ([0-9.]+)\)", text)
    call = re.search(r"INVOKE RTDONE\(status: success, .*duration: ([0-9.]+)ms\)", text)
    assert init and call, f"{bootstrap} did not answer:\n{text}"
    return float(init[1]), float(call[1])


def environment():
    """The variables that template.yaml sets, with values that lead nowhere."""
    names = ["RECORDS_TABLE", "SECRETS_TABLE", "ACTIVITY_TABLE", "BUCKET"]
    queues = ["PROCESS_QUEUE_URL", "COMMIT_QUEUE_URL", "KEEPER_QUEUE_URL", "SYNC_QUEUE_URL"]
    variables = {f"RECOLLECT_{name}": "nowhere" for name in names}
    variables |= {f"RECOLLECT_{name}": "http://127.0.0.1:9/nowhere" for name in queues}
    aws = {"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none"}
    return {"PATH": os.environ["PATH"], "AWS_ENDPOINT_URL": "http://127.0.0.1:9", **aws, **variables}


def free_ports():
    with socket.socket() as first, socket.socket() as second:
        for found in (first, second):
            found.bind(("127.0.0.1", 0))
        return tuple("127.0.0.1:%d" % found.getsockname()[1] for found in (first, second))


def invoke(front, event):
    url = f"http://{front}/2015-03-31/functions/function/invocations"
    end = time.monotonic() + 10
    while True:
        try:
            request = urllib.request.Request(url, json.dumps(event).encode())
            return urllib.request.urlopen(request, timeout=30).read()
        except urllib.error.HTTPError as error:
            return error.read()  # the log says more
        except urllib.error.URLError:  # the emulator does not listen yet
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
