"""Measures Recollect beside Chroma's server, mem0 and LanceDB: the same texts and the same embedding table, one after
another in one run.

Installs each system into an environment of its own below the folder --tools, from the package index that pip is
configured with, and prints a table in Markdown. Needs Linux, for /proc.

Usage: run.py BINARY [--documents N] [--systems recollect,chroma,mem0,lancedb] [--tools FOLDER]
"""

import argparse
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMMON = ["numpy==2.4.6", "tokenizers==0.23.3"]
# mem0 keeps its vectors in an embedded qdrant, and runs without a language model.
PACKAGES = {
    "recollect": [],
    "chroma": ["chromadb==1.5.9"],
    "mem0": ["mem0ai==2.2.1", "qdrant-client==1.20.0"],
    "lancedb": ["lancedb==0.40.0"],
}
ROWS = [
    ("one document a request, 16 clients: documents/s", "single_rate", "{:.0f}"),
    ("… processor time a document", "single_ms", "{:.1f} ms"),
    ("batches of 100: documents/s", "batch_rate", "{:.0f}"),
    ("… processor time a document", "batch_ms", "{:.1f} ms"),
    ("written to disk a document", "written_kb", "{:.0f} KB"),
    ("resident memory after it", "resident_mb", "{:.0f} MB"),
    ("search, one client: p50", "search_p50", "{:.1f} ms"),
    ("search, one client: p99", "search_p99", "{:.1f} ms"),
    ("added to found: p50", "fresh_p50", "{:.1f} ms"),
    ("start to the first answer", "restart_s", "{:.2f} s"),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary", help="the program recollect")
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--systems", default=",".join(PACKAGES))
    parser.add_argument("--tools", type=Path, default=HERE.parents[2] / "target" / "tools" / "peers")
    args = parser.parse_args()

    results = {}
    for system in args.systems.split(","):
        print(f"measuring {system}", file=sys.stderr, flush=True)
        python = install(args.tools / system, COMMON + PACKAGES[system])
        results[system] = measure(python, system, args)
    print_table(results)


def install(folder, packages):
    """Makes an environment with these packages, and returns its interpreter."""
    python, stamp, wanted = folder / "bin" / "python", folder / "installed", "\n".join(packages)
    if not stamp.exists() or stamp.read_text() != wanted:
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        stamp.write_text(wanted)
    return python


def measure(python, system, args):
    command = [python, HERE / "measure.py", system, args.binary, "--documents", str(args.documents)]
    # mem0 wants a key of a language model, which it never uses here. Nobody is told about the run.
    quiet = {"OPENAI_API_KEY": "none", "MEM0_TELEMETRY": "False", "ANONYMIZED_TELEMETRY": "False"}
    done = subprocess.run(command, env={**os.environ, **quiet}, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        print(f"{system} could not be measured", file=sys.stderr)
        return {}
    return json.loads(done.stdout.splitlines()[-1])


def print_table(results):
    print("| | " + " | ".join(results) + " |")
    print("|---" * (len(results) + 1) + "|")
    for label, key, form in ROWS:
        cells = [form.format(found[key]) if found.get(key) is not None else "–" for found in results.values()]
        print(f"| {label} | " + " | ".join(cells) + " |")


main()
