"""Drives a running Recollect with the unmodified PyPI client `supermemory`, pointed at it by its base URL alone.

The client checks every answer against its own types (strict validation), so a wrong shape fails here as well.
Prints one line per step and ends with a status other than 0 at the first step that is not as expected.
"""

import argparse
import subprocess
import time
import uuid

import httpx
from supermemory import APIStatusError, AuthenticationError, NotFoundError, Supermemory

TEXT = "The greenhouse of the botanical garden keeps its orchids at nineteen degrees. Door code: ORCH-4471."
TEXT_QUERY = "What temperature do the orchids in the greenhouse need?"
PAGE = "The lighthouse keeper oils the brass lamp of Skerry Point on every second Tuesday."
PAGE_QUERY = "When is the brass lamp of the lighthouse oiled?"


def main():
    args = arguments()
    client = connect(args, args.key)
    tag = f"client-{uuid.uuid4().hex[:12]}"
    documents = [add_text(client, tag)]
    if not args.text_only:
        documents.append(add_pdf(client, tag))
    if args.work:
        subprocess.run(args.work, shell=True, check=True, timeout=args.seconds)
    for document in documents:
        wait_until_done(client, document, args.seconds)
    check_listed(client, tag, documents)
    check_found(client, tag, documents[0], TEXT_QUERY, "nineteen degrees")
    check_filter(client, tag, documents[0])
    if not args.text_only:
        check_found(client, tag, documents[1], PAGE_QUERY, "second Tuesday")
    check_wrong_key(args)
    for document in documents:
        check_deleted(client, tag, document)
    if not args.work:
        check_batch(client, f"{tag}-batch", args.seconds)
        check_update(client, f"{tag}-update", args.seconds)
        check_presigned(client, f"{tag}-upload", args.seconds)
        check_memories(client, f"{tag}-memories", args.seconds)
        check_conversation(client, f"{tag}-talk", args.seconds)
    step("all steps passed")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="base URL of the API")
    parser.add_argument("--key", required=True, help="a valid API key")
    parser.add_argument("--text-only", action="store_true", help="leave out the PDF")
    parser.add_argument("--work", help="command to run between adding and waiting, where nothing else processes")
    parser.add_argument("--seconds", type=float, default=60, help="longest wait for a document to be done")
    return parser.parse_args()


def connect(args, key):
    return Supermemory(api_key=key, base_url=args.url, timeout=30, max_retries=1, _strict_response_validation=True)


def add_text(client, tag):
    added = client.documents.add(
        content=TEXT, container_tag=tag, custom_id="orchids", metadata={"house": "glass", "floor": 2}, dreaming="instant"
    )
    assert added.id and added.status, added
    step(f"added a text: {added.id}, {added.status}")
    return added.id


def add_pdf(client, tag):
    added = client.documents.upload_file(
        file=("lighthouse.pdf", pdf(PAGE), "application/pdf"), container_tag=tag, dreaming="instant"
    )
    assert added.id and added.status, added
    step(f"added a PDF: {added.id}, {added.status}")
    return added.id


def wait_until_done(client, document, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        got = client.documents.get(document)
        assert got.status != "failed", got
        if got.status == "done":
            assert got.id == document, got
            step(f"{document} is done: type {got.type}, title {got.title!r}")
            return
        time.sleep(0.2)
    raise AssertionError(f"{document} is not done after {seconds} s: {got.status}")


def check_listed(client, tag, documents):
    listed = client.documents.list(container_tags=[tag], include_content=True, limit=50)
    ids = [row.id for row in listed.memories]
    assert ids == documents[::-1], f"newest first expected, {documents[::-1]}: got {ids}"
    assert listed.pagination.total_items == len(documents), listed.pagination
    assert TEXT in [row.content for row in listed.memories], listed
    assert not client.documents.list(container_tags=["another-tag"]).memories, "another tag must be empty"
    step(f"listed {len(ids)} documents, newest first")


def check_found(client, tag, document, query, words):
    for search in (client.search.documents, client.search.execute):
        found = search(q=query, container_tags=[tag])
        assert found.results and found.results[0].document_id == document, (query, found)
        assert any(words in chunk.content for chunk in found.results[0].chunks), found.results[0]
    for mode in ("hybrid", "documents"):
        found = client.search.memories(q=query, container_tag=tag, search_mode=mode)
        texts = [row.memory or row.chunk for row in found.results]
        assert texts and words in texts[0], (mode, query, texts)
        assert all(0 <= row.similarity <= 1 for row in found.results), found
    assert not client.search.documents(q=query, container_tags=["another-tag"]).results, "another tag must be empty"
    step(f"found {words!r} by {query!r}")


def check_filter(client, tag, document):
    for value, expected in (("glass", [document]), ("stone", [])):
        filters = {"AND": [{"key": "house", "value": value}]}
        found = client.search.documents(q=TEXT_QUERY, container_tags=[tag], filters=filters)
        assert [row.document_id for row in found.results] == expected, (value, found)
    step("metadata filters apply")


def check_wrong_key(args):
    refused(AuthenticationError, lambda: connect(args, "rk_no_such_key").documents.list())
    step("a wrong key is refused")


def check_deleted(client, tag, document):
    client.documents.delete(document)
    refused(NotFoundError, lambda: client.documents.get(document))
    refused(NotFoundError, lambda: client.documents.delete(document))
    assert document not in [row.id for row in client.documents.list(container_tags=[tag]).memories]
    for query in (TEXT_QUERY, PAGE_QUERY):
        found = client.search.documents(q=query, container_tags=[tag])
        assert document not in [row.document_id for row in found.results], found
    step(f"deleted {document}: not read, listed or found any more")


def check_batch(client, tag, seconds):
    """Adds many at once, of which one is wrong; watches them; deletes by ids and by tag."""
    notes = [{"content": f"Note {n}: the weir of lock {n} opens at {n + 5} o'clock.", "custom_id": f"n{n}"} for n in range(8)]
    wrong = {"content": " ", "custom_id": "blank"}
    added = client.documents.batch_add(documents=[*notes[:4], wrong, *notes[4:]], container_tag=tag, metadata={"kind": "note"})
    assert (added.success, added.failed) == (8, 1), added
    assert [row.status for row in added.results[-1:]] == ["error"] and added.results[-1].error, added.results[-1]
    strings = client.documents.batch_add(documents=["The ferry rests on Sundays.", "The tide table hangs in the hall."], container_tag=tag)
    assert (strings.success, strings.failed) == (2, 0), strings
    underway = client.documents.list_processing(container_tags=tag, view="all")
    assert underway.total_count <= 10 and all(row.status != "failed" for row in underway.documents), underway
    ids = [row.id for row in added.results[:8]]
    for document in ids + [row.id for row in strings.results]:
        wait_until_done(client, document, seconds)
    assert client.documents.list_processing(container_tags=tag, view="pending").total_count == 0
    assert client.documents.get(ids[0]).metadata == {"kind": "note"}
    deleted = client.documents.delete_bulk(ids=[*ids[:3], "nobody"])
    assert deleted.deleted_count == 3 and [row.id for row in deleted.errors or []] == ["nobody"], deleted
    assert client.documents.list(container_tags=[tag]).pagination.total_items == 7
    deleted = client.documents.delete_bulk(container_tags=[tag])
    assert deleted.success and deleted.deleted_count == 7 and deleted.container_tags == [tag], deleted
    assert not client.search.documents(q="weir of the lock", container_tags=[tag]).results
    step("a batch of ten was added, processed and deleted in bulk")


def check_update(client, tag, seconds):
    """Changes metadata and path in place, then the content."""
    document = client.documents.add(content="The bakery opens at six.", container_tag=tag, filepath="/town/bakery.md").id
    wait_until_done(client, document, seconds)
    assert client.documents.update(document, metadata={"open": True}, filepath="/town/old/bakery.md").status == "done"
    assert [row.id for row in client.documents.list(container_tags=[tag], filepath="/town/old/").memories] == [document]
    filters = {"AND": [{"key": "open", "value": "true"}]}
    assert client.search.documents(q="bakery", container_tags=[tag], filters=filters).results, "metadata must filter at once"
    updated = client.documents.update(document, content="The bakery opens at seven.")
    assert updated.id == document, updated
    wait_until_done(client, document, seconds)
    [found] = client.search.documents(q="when does the bakery open", container_tags=[tag]).results
    assert "seven" in found.chunks[0].content and found.metadata == {"open": True}, found
    deleted = client.documents.delete_bulk(container_tags=[tag], filepath="/town/")
    assert deleted.deleted_count == 1, deleted
    step("a document was changed in place and by content, and deleted by its path")


def check_presigned(client, tag, seconds):
    """Stores a file past the API by a pre-signed form, and reads it by a pre-signed address."""
    sent = pdf(PAGE)
    begun = client.post("/v3/documents/file/uploads", cast_to=object, body={"fileName": "lamp.pdf", "containerTag": tag})
    stored = httpx.post(begun["upload"]["url"], data=begun["upload"]["fields"], files={"file": ("lamp.pdf", sent)}, timeout=30)
    assert stored.status_code in (200, 201, 204), (stored.status_code, stored.text)
    wait_until_done(client, begun["id"], seconds)
    url = client.get(f"/v3/documents/{begun['id']}/file-url", cast_to=object)["url"]
    assert httpx.get(url, timeout=30).content == sent, "the stored file must come back as it was"
    client.documents.delete(begun["id"])
    step("a file went to the bucket by itself, was processed, and came back")


def check_conversation(client, tag, seconds):
    """Sends a conversation, then only what is new, then all of it."""
    first = [{"role": "user", "name": "Ines", "content": "My flight to Oslo is on Thursday."}, {"role": "assistant", "content": "Noted."}]
    more = [{"role": "user", "name": "Ines", "content": "Book the window seat, please."}]
    for messages in (first, more, first + more):
        body = {"conversationId": "trip", "messages": messages, "containerTag": tag}
        document = client.post("/v4/conversations", cast_to=object, body=body)["id"]
        wait_until_done(client, document, seconds)
    text = client.documents.get(document).content
    assert text.count("Oslo") == 1 and text.count("window seat") == 1, text
    client.documents.delete(document)
    step("a conversation grew by what was new")


def check_memories(client, tag, seconds):
    for number, text in enumerate(("I live in Bonn. I prefer tea over coffee.", "I moved from Bonn to Lisbon.")):
        body = {
            "conversationId": f"moves-{number}",
            "containerTags": [tag],
            "messages": [{"role": "user", "content": text}],
        }
        document = client.post("/v4/conversations", cast_to=object, body=body)["id"]
        wait_until_done(client, document, seconds)
    found = client.search.memories(q="Where do I live?", container_tag=tag, include={"related_memories": True})
    assert "Lisbon" in found.results[0].memory, found
    assert any("Bonn" in parent.memory for parent in found.results[0].context.parents), found
    profile = client.profile(container_tag=tag, q="What do I drink?").profile
    lines = profile.static + profile.dynamic
    assert any("Lisbon" in line for line in lines) and any("tea" in line for line in lines), lines
    assert not any("lives in Bonn" in line for line in lines), lines
    changed = client.memories.update_memory(
        container_tag=tag, id=found.results[0].id, new_content="User lives in Lisbon, near the river."
    )
    assert changed.version == found.results[0].version + 1 and changed.parent_memory_id == found.results[0].id, changed
    forgotten = client.memories.forget(container_tag=tag, id=changed.id)
    assert forgotten.forgotten, forgotten
    refused(NotFoundError, lambda: client.memories.forget(container_tag=tag, id="A" * 22))
    assert not client.search.memories(q="Where do I live?", container_tag=tag).results
    step("memories are learned, found, corrected and forgotten")


def refused(kind, call):
    """Calls and expects the client's exception `kind` with the error body of the API."""
    try:
        call()
    except APIStatusError as error:
        assert isinstance(error, kind), repr(error)
        assert isinstance(error.body, dict) and isinstance(error.body.get("error"), str), error.body
        assert error.body.get("type") == kind.__name__, error.body
        return
    raise AssertionError(f"{kind.__name__} expected, but the call succeeded")


def pdf(text):
    """Returns the bytes of a one-page PDF that shows `text` (without brackets or backslashes) in Helvetica."""
    content = f"BT /F1 11 Tf 50 750 Td ({text}) Tj ET".encode("ascii")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    xref = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, xref)
    return bytes(out)


def step(words):
    print(f"python client: {words}", flush=True)


if __name__ == "__main__":
    main()
