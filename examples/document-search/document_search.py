"""Adds a folder of files to Recollect and searches it. Usage: python document_search.py FOLDER [QUESTION]"""

import hashlib
import os
import sys
import time
from pathlib import Path

from supermemory import APIConnectionError, APIError, APIStatusError, Supermemory

RECOLLECT_URL = os.environ.get("RECOLLECT_URL", "http://127.0.0.1:8787")
CONTAINER_TAG = "document-search"


def main():
    if len(sys.argv) not in (2, 3) or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python document_search.py FOLDER [QUESTION]")
    recollect = Supermemory(base_url=RECOLLECT_URL, api_key=os.environ.get("RECOLLECT_KEY", "local"))

    documents = add_folder(recollect, Path(sys.argv[1]))
    wait_until_processed(recollect, documents)
    for question in sys.argv[2:] or questions():
        search(recollect, question)


def add_folder(recollect, folder):
    """Adds every file, and returns the paths by the ids of their documents."""
    documents = {}
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder).as_posix()
        if not file.is_file() or path.startswith(".") or "/." in path:
            continue
        # With a customId, the next run replaces the document of a changed file and leaves the others as they are.
        custom_id = hashlib.sha256(path.encode()).hexdigest()
        try:
            added = recollect.documents.upload_file(
                file=file, container_tag=CONTAINER_TAG, custom_id=custom_id, filepath=f"/{path}"
            )
        except APIStatusError as error:
            if error.status_code not in (400, 413, 415):
                raise
            print(f"left out  {path}: {error.body['error']}")
            continue
        documents[added.id] = path
    return documents


def wait_until_processed(recollect, documents):
    """Prints each document as it becomes searchable, or fails."""
    waiting = dict(documents)
    while waiting:
        for document_id, path in list(waiting.items()):
            document = recollect.documents.get(document_id)
            if document.status not in ("done", "failed"):
                continue
            del waiting[document_id]
            reason = f": {document.errorMessage}" if document.status == "failed" else ""
            print(f"[{len(documents) - len(waiting)}/{len(documents)}] {document.status:<6} {path}{reason}", flush=True)
        if waiting:
            time.sleep(0.2)


def questions():
    """Yields what the user types, or the lines of a file or pipe."""
    prompt = "? " if sys.stdin.isatty() else ""
    while True:
        try:
            question = input(prompt).strip()
        except EOFError:
            return
        if question:
            yield question


def search(recollect, question):
    found = recollect.search.memories(q=question, container_tag=CONTAINER_TAG, search_mode="documents", limit=3)
    print(f"\n{question}")
    if not found.results:
        print("  Nothing was found.")
    for result in found.results:
        print(f"  {result.filepath}  ({result.similarity:.2f})")
        print("    " + result.chunk.strip().replace("\n", "\n    "))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("Stopped.")
    except APIConnectionError:
        sys.exit(f"No answer from Recollect at {RECOLLECT_URL}. Start it, or set RECOLLECT_URL.")
    except APIError as error:
        sys.exit(f"Recollect at {RECOLLECT_URL}: {error}")
