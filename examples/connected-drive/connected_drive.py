"""Connects a Google Drive, imports what you choose, and searches it. Usage: python connected_drive.py"""

import os
import sys
import time

from supermemory import APIConnectionError, APIError, Supermemory

RECOLLECT_URL = os.environ.get("RECOLLECT_URL", "http://127.0.0.1:8787")
CONTAINER_TAG = "connected-drive"
MINUTES = 10


def main():
    recollect = Supermemory(base_url=RECOLLECT_URL, api_key=os.environ.get("RECOLLECT_KEY", "local"))

    connection = active_connection(recollect)
    if connection:
        last_run = connection.last_sync_run
        recollect.connections.import_("google-drive", container_tags=[CONTAINER_TAG])
    else:
        connection, last_run = connect(recollect), None
        choose_items(recollect, connection.id)  # the import begins by itself
    wait_for_import(recollect, connection.id, last_run)
    wait_until_processed(recollect)

    for question in questions():
        search(recollect, question)


def active_connection(recollect):
    """Returns the connection of an earlier run."""
    connections = recollect.connections.list(container_tags=[CONTAINER_TAG])
    return next((connection for connection in connections if connection.status == "active"), None)


def connect(recollect):
    begun = recollect.connections.create("google-drive", container_tag=CONTAINER_TAG)
    print(f"Open this link in a browser and permit access, then come back here:\n  {begun.auth_link}", flush=True)

    def permitted():
        connection = recollect.connections.get_by_id(begun.id)
        return connection if connection.status != "pending_oauth" else None

    return wait_for("permission", permitted)


def choose_items(recollect, connection_id):
    items = recollect.connections.resources(connection_id, per_page=100).resources
    print("The drive has:")
    for number, item in enumerate(items, 1):
        print(f"  {number}  {item['name']}{'/' if item['type'] == 'folder' else ''}")

    chosen = []
    while not chosen:
        answer = input("Import which? Numbers with spaces between, or Enter if you chose in the browser: ")
        if not answer.strip():
            return
        chosen = [item for number, item in enumerate(items, 1) if str(number) in answer.split()]
    resources = [{"id": item["id"], "name": item["name"], "type": item["type"]} for item in chosen]
    recollect.connections.configure(connection_id, resources=resources)


def wait_for_import(recollect, connection_id, last_run):
    def imported():
        run = recollect.connections.get_by_id(connection_id).last_sync_run
        is_new = run and (not last_run or run.started_at != last_run.started_at)
        return run if is_new and run.status != "running" else None

    run = wait_for("the import", imported)
    if run.status == "failed":
        sys.exit(f"The import failed: {run.error}")


def wait_until_processed(recollect):
    def processed():
        pending = recollect.documents.list_processing(container_tags=CONTAINER_TAG, view="pending")
        if pending.total_count:
            print(f"{pending.total_count:.0f} documents to go", flush=True)
        return not pending.total_count

    wait_for("the documents", processed)
    page = recollect.documents.list(container_tags=[CONTAINER_TAG], limit=50)
    for document in page.memories:
        print(f"{document.status:<6} {document.filepath}")
    print(f"{page.pagination.total_items:.0f} documents from the drive", flush=True)


def wait_for(what, check):
    end = time.monotonic() + 60 * MINUTES
    while time.monotonic() < end:
        found = check()
        if found:
            return found
        time.sleep(0.5)
    sys.exit(f"Waited {MINUTES} minutes for {what}.")


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
    except (EOFError, KeyboardInterrupt):
        sys.exit("Stopped.")
    except APIConnectionError:
        sys.exit(f"No answer from Recollect at {RECOLLECT_URL}. Start it, or set RECOLLECT_URL.")
    except APIError as error:
        sys.exit(f"Recollect at {RECOLLECT_URL}: {error}")
