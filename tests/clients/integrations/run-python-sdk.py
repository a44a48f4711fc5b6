"""Runs every method of the unmodified PyPI package `supermemory` 3.x against a running Recollect.

Each step runs with the plain and with the asynchronous client. Both check every answer against
their own types (strict validation). At the end, a method that no step called is a failure.
"""

import asyncio
import inspect
import time

import supermemory
from supermemory import AsyncSupermemory, Supermemory

from common import SECONDS, run_steps

RESOURCES = ("documents", "search", "memories", "connections", "settings")
# Methods of the client itself that send a request of the API.
OWN_METHODS = {"add", "profile"}
ORCHIDS = "The greenhouse of the botanical garden keeps its orchids at nineteen degrees."
QUESTION = "What temperature do the orchids in the greenhouse need?"


class Client:
    """A client whose methods are awaited, whether it is asynchronous or not."""

    called = set()

    def __init__(self, run, kind, key=None):
        self.inner = kind(
            api_key=key or run.key,
            base_url=run.url,
            timeout=30,
            max_retries=0,
            _strict_response_validation=True,
        )

    async def call(self, method, *args, **fields):
        """Calls a method by its name, as in `documents.add`, and notes that it was called."""
        self.called.add(method)
        function = self.inner
        for part in method.split("."):
            function = getattr(function, part)
        answer = function(*args, **fields)
        return await answer if inspect.isawaitable(answer) else answer

    async def refused(self, error, method, *args, **fields):
        """Calls a method that is to fail with an error of the package, and returns the error."""
        try:
            answer = await self.call(method, *args, **fields)
        except error as refusal:
            assert isinstance(refusal.body, dict) and refusal.body["error"], refusal.body
            return refusal
        raise AssertionError(f"{method} was not refused: {answer}")

    async def done(self, document):
        """Waits until a document is processed, and returns it."""
        deadline = time.monotonic() + SECONDS
        while (found := await self.call("documents.get", document)).status != "done":
            assert found.status != "failed" and time.monotonic() < deadline, found
            await asyncio.sleep(0.05)
        return found


async def check_documents(run, client):
    """A document is added, read, changed, listed and deleted."""
    tag = run.tag("sdk")
    added = await client.call(
        "documents.add",
        content=ORCHIDS,
        container_tag=tag,
        custom_id=f"{tag}-orchids",
        metadata={"house": "glass", "floor": 2, "open": True, "beds": ["a", "b"]},
        document_date="2026-03-04",
        entity_context="Notes of a gardener.",
        filepath="/garden/orchids.md",
        task_type="memory",
        dreaming="instant",
    )
    document = await client.done(added.id)
    assert (document.content, document.custom_id) == (ORCHIDS, f"{tag}-orchids"), document
    assert document.metadata == {"house": "glass", "floor": 2, "open": True, "beds": ["a", "b"]}
    assert (document.container_tags, document.filepath) == ([tag], "/garden/orchids.md"), document
    assert (document.type, document.task_type) == ("text", "memory"), document
    by_custom_id = await client.call("documents.get", f"{tag}-orchids")
    assert by_custom_id.id == added.id

    updated = await client.call(
        "documents.update", f"{tag}-orchids", metadata={"house": "stone"}, filepath="/old/orchids.md"
    )
    assert (updated.id, updated.status) == (added.id, "done"), updated
    updated = await client.call("documents.update", added.id, content="Orchids need light.")
    assert (await client.done(updated.id)).content == "Orchids need light."
    moved = await client.call(
        "documents.update", added.id, container_tag=f"{tag}-moved", custom_id=f"{tag}-renamed"
    )
    assert moved.id == added.id, "a document keeps its id"
    moved = await client.done(added.id)
    assert (moved.container_tags, moved.custom_id) == ([f"{tag}-moved"], f"{tag}-renamed"), moved

    own = await client.call("add", content="The well is dry.", container_tag=f"{tag}-moved")
    await client.done(own.id)
    listed = await client.call(
        "documents.list",
        container_tags=[f"{tag}-moved"],
        include_content=True,
        limit=1,
        order="asc",
        page=2,
        sort="createdAt",
    )
    assert [one.id for one in listed.memories] == [own.id], listed
    assert listed.memories[0].content == "The well is dry.", listed
    assert (listed.pagination.total_items, listed.pagination.total_pages) == (2, 2), listed
    filters = {"AND": [{"key": "house", "value": "stone"}]}
    listed = await client.call("documents.list", container_tags=[f"{tag}-moved"], filters=filters)
    assert [one.id for one in listed.memories] == [added.id], listed

    await client.call("documents.delete", f"{tag}-renamed")
    await client.refused(supermemory.NotFoundError, "documents.get", added.id)
    await client.refused(supermemory.NotFoundError, "documents.delete", added.id)
    await client.refused(supermemory.NotFoundError, "documents.update", added.id, content="x")


async def check_many_documents(run, client):
    """Many documents are added at once, watched while they are processed, and deleted."""
    tag = run.tag("sdk-batch")
    notes = [
        {"content": f"Note {n}: lock {n} opens at dawn.", "custom_id": f"{tag}-{n}"} for n in range(4)
    ]
    blank = {"content": " ", "custom_id": f"{tag}-blank"}
    added = await client.call(
        "documents.batch_add", documents=[*notes, blank], container_tag=tag, metadata={"kind": "note"}
    )
    assert (added.success, added.failed) == (4, 1), added
    assert added.results[-1].status == "error" and added.results[-1].error, added
    texts = await client.call(
        "documents.batch_add", documents=["The ferry rests.", "The tide rises."], container_tags=[tag]
    )
    assert (texts.success, texts.failed) == (2, 0), texts

    underway = await client.call(
        "documents.list_processing", container_tags=[tag], view="all", limit=100, page=1
    )
    assert all(one.container_tags == [tag] for one in underway.documents), underway
    ids = [one.id for one in [*added.results[:4], *texts.results]]
    for document in ids:
        await client.done(document)
    pending = await client.call("documents.list_processing", container_tags=[tag], view="pending")
    assert (pending.documents, pending.total_count) == ([], 0), pending

    deleted = await client.call("documents.delete_bulk", ids=[*ids[:2], "nobody"])
    assert (deleted.success, deleted.deleted_count) == (False, 2), deleted
    assert [one.id for one in deleted.errors] == ["nobody"], deleted
    deleted = await client.call("documents.delete_bulk", container_tags=[tag])
    assert (deleted.deleted_count, deleted.container_tags) == (4, [tag]), deleted
    assert run.stored.listed(tag) == []


async def check_files(run, client):
    """A file is uploaded with all its fields, and is found by what is in it."""
    tag = run.tag("sdk-file")
    uploaded = await client.call(
        "documents.upload_file",
        file=("harbour.txt", b"The harbour master keeps a green book.", "text/plain"),
        container_tag=tag,
        custom_id=f"{tag}-harbour",
        metadata='{"kind": "log"}',
        entity_context="A harbour.",
        filepath="/harbour.txt",
        file_type="text",
        mime_type="text/plain",
        task_type="superrag",
        dreaming="instant",
        use_advanced_processing="false",
    )
    document = await client.done(uploaded.id)
    assert (document.title, document.metadata) == ("harbour.txt", {"kind": "log"}), document
    assert (document.custom_id, document.task_type) == (f"{tag}-harbour", "superrag"), document
    found = await client.call("search.documents", q="green book", container_tag=tag)
    assert [one.document_id for one in found.results] == [uploaded.id], found
    await client.refused(
        supermemory.BadRequestError,
        "documents.upload_file",
        file=("harbour.txt", b"x", "text/plain"),
        container_tag=tag,
        metadata="no JSON",
    )


async def check_search(run, client):
    """All searches find the same text, with everything that can be asked of them."""
    tag = run.tag("sdk-search")
    note = await client.call(
        "documents.add",
        content=f"{ORCHIDS} I prefer tea over coffee.",
        container_tag=tag,
        metadata={"house": "glass"},
        filepath="/garden/orchids.md",
    )
    await client.done(note.id)

    fields = {
        "q": QUESTION,
        "container_tags": [tag],
        "chunk_threshold": 0.1,
        "document_threshold": 0.1,
        "filters": {"AND": [{"key": "house", "value": "glass"}]},
        "include_full_docs": True,
        "include_summary": True,
        "limit": 3,
        "only_matching_chunks": False,
        "rerank": True,
        "rewrite_query": True,
    }
    for method in ("search.documents", "search.execute"):
        found = await client.call(method, **fields)
        [result] = found.results
        assert (result.document_id, result.metadata) == (note.id, {"house": "glass"}), result
        assert result.content.startswith(ORCHIDS) and "nineteen" in result.chunks[0].content, result
        assert found.total == 1 and 0 < result.score <= 1, found
        elsewhere = await client.call(method, q=QUESTION, container_tags=[f"{tag}-other"])
        assert elsewhere.results == [], elsewhere

    for mode in ("documents", "hybrid"):
        found = await client.call(
            "search.memories",
            q=QUESTION,
            container_tag=tag,
            search_mode=mode,
            limit=5,
            threshold=0.1,
            rerank=True,
            filters={"AND": [{"key": "house", "value": "glass"}]},
            include={"documents": True, "chunks": True, "related_memories": True, "summaries": True},
        )
        texts = [one.chunk for one in found.results if one.chunk]
        assert any("nineteen degrees" in text for text in texts), (mode, found)
    found = await client.call("search.memories", q="What does the user drink?", container_tag=tag)
    assert "tea" in found.results[0].memory, found
    assert 0 < found.results[0].similarity <= 1, found
    await client.refused(supermemory.BadRequestError, "search.memories", q="", container_tag=tag)


async def check_memories(run, client):
    """A memory is found, corrected, shown in the profile and forgotten."""
    tag = run.tag("sdk-memories")
    for text in ("I live in Bonn. I prefer tea over coffee.", "I moved from Bonn to Lisbon."):
        note = await client.call("add", content=text, container_tag=tag)
        await client.done(note.id)
    found = await client.call(
        "search.memories", q="Where does the user live?", container_tag=tag, include={"related_memories": True}
    )
    home = found.results[0]
    assert "Lisbon" in home.memory and "Bonn" in home.context.parents[0].memory, home

    profile = await client.call("profile", container_tag=tag, q="What does the user drink?")
    lines = profile.profile.static + profile.profile.dynamic
    assert any("Lisbon" in line for line in lines) and any("tea" in line for line in lines), lines
    assert "tea" in profile.search_results.results[0].memory, profile

    changed = await client.call(
        "memories.update_memory",
        container_tag=tag,
        id=home.id,
        new_content="User lives in Lisbon, near the river.",
        metadata={"checked": True},
        forget_after="2099-01-01T00:00:00Z",
        forget_reason="moves often",
    )
    assert (changed.parent_memory_id, changed.version) == (home.id, home.version + 1), changed
    assert (changed.metadata, changed.forget_reason) == ({"checked": True}, "moves often"), changed
    by_content = await client.call(
        "memories.update_memory",
        container_tag=tag,
        content="User lives in Lisbon, near the river.",
        new_content="User lives in Lisbon, on the hill.",
    )
    assert by_content.parent_memory_id == changed.id, by_content
    forgotten = await client.call(
        "memories.forget", container_tag=tag, id=by_content.id, reason="asked"
    )
    assert (forgotten.id, forgotten.forgotten) == (by_content.id, True), forgotten
    assert not any("Lisbon" in text for text in run.stored.memories(tag))
    await client.refused(
        supermemory.NotFoundError, "memories.forget", container_tag=tag, id=f"mem_{'a' * 22}"
    )


async def check_connections(run, client):
    """A connection to a site and one that waits for consent are created, read and deleted."""
    tag = run.tag("sdk-connections")
    site = await client.call(
        "connections.create",
        "web-crawler",
        container_tags=[tag],
        document_limit=5,
        metadata={"startUrl": "https://site.example/", "kind": "manual"},
        redirect_url="https://app.example/connected#done",
    )
    found = await client.call("connections.get_by_id", site.id)
    assert (found.provider, found.container_tags) == ("web-crawler", [tag]), found
    assert (found.document_limit, found.metadata["kind"]) == (5, "manual"), found
    by_tag = await client.call("connections.get_by_tag", "web-crawler", container_tags=[tag])
    listed = await client.call("connections.list", container_tags=[tag])
    assert (by_tag.id, [one.id for one in listed]) == (site.id, [site.id]), (by_tag, listed)
    documents = await client.call("connections.list_documents", "web-crawler", container_tags=[tag])
    assert documents == [], documents
    started = await client.call("connections.import_", "web-crawler", container_tags=[tag])
    assert started, "a text says that the run has begun"
    # What is read from a site is said when the connection is made.
    nothing = {"resources": {"page": 1, "per_page": 10}, "configure": {"resources": [{"id": "a"}]}}
    for method, fields in nothing.items():
        refusal = await client.refused(
            supermemory.APIStatusError, f"connections.{method}", site.id, **fields
        )
        assert refusal.body["type"] == "UnsupportedError", refusal.body

    deleted = await client.call("connections.delete_by_id", site.id, delete_documents=True)
    assert [(one.id, one.provider) for one in deleted] == [(site.id, "web-crawler")], deleted
    await client.refused(supermemory.NotFoundError, "connections.get_by_id", site.id)
    again = await client.call(
        "connections.create", "web-crawler", container_tag=tag, metadata={"startUrl": "https://site.example/"}
    )
    deleted = await client.call("connections.delete_by_provider", "web-crawler", container_tags=[tag])
    assert [one.id for one in deleted] == [again.id], deleted
    refusal = await client.refused(
        supermemory.APIStatusError, "connections.create", "notion", container_tags=[tag]
    )
    assert refusal.status_code == 501 and "notion" in refusal.body["error"], refusal.body


async def check_settings(run, client):
    """Settings are changed and read back, and secrets are not."""
    changed = await client.call(
        "settings.update",
        chunk_size=800,
        filter_prompt="Keep what a gardener needs.",
        include_items={"titlePatterns": ["*.md"]},
        exclude_items=["drafts"],
        google_drive_client_id="client-1",
        google_drive_client_secret="secret-1",
        google_drive_custom_key_enabled=True,
        profile_buckets=[{"key": "garden", "description": "What grows where."}],
        should_llm_filter=True,
    )
    assert changed.updated.chunk_size == 800, changed
    settings = await client.call("settings.get")
    assert (settings.chunk_size, settings.filter_prompt) == (800, "Keep what a gardener needs.")
    assert settings.exclude_items == ["drafts"], settings
    assert settings.include_items == {"titlePatterns": ["*.md"]}, settings
    assert settings.google_drive_client_id == "client-1", settings
    assert "secret-1" not in str(settings), "a secret is not read back"
    assert "garden" in [bucket.key for bucket in settings.profile_buckets], settings
    undone = {"filter_prompt": None, "include_items": None, "exclude_items": None}
    undone["should_llm_filter"] = False
    await client.call("settings.update", chunk_size=None, profile_buckets=None, **undone)
    assert (await client.call("settings.get")).exclude_items is None


async def check_responses(run, client):
    """Raw and streamed answers have the status, the headers and the parsed object."""
    tag = run.tag("sdk-raw")
    raw = await client.call("documents.with_raw_response.list", container_tags=[tag])
    parsed = raw.parse()
    parsed = await parsed if inspect.isawaitable(parsed) else parsed
    assert (raw.status_code, parsed.memories) == (200, []), raw
    assert raw.headers["content-type"].startswith("application/json"), raw.headers
    streamed = client.inner.search.with_streaming_response.documents(q="x", container_tags=[tag])
    if isinstance(client.inner, AsyncSupermemory):
        async with streamed as answer:
            found = await answer.parse()
    else:
        with streamed as answer:
            found = answer.parse()
    assert found.results == [], found


async def check_errors(run, client):
    """A key of another container and a mistyped field become the package's errors."""
    tag = run.tag("sdk-errors")
    scoped = run.stored.post("/v3/auth/scoped-key", {"containerTag": tag, "name": "sdk"})["key"]
    narrow = Client(run, type(client.inner), key=scoped)
    await narrow.refused(
        supermemory.PermissionDeniedError, "add", content="x", container_tag=f"{tag}-other"
    )
    mistyped = {"container_tag": tag}
    await client.refused(
        supermemory.BadRequestError, "search.documents", q="x", extra_body=mistyped
    )


def check_every_method_was_called(_run):
    client = Supermemory(api_key="x", base_url="http://127.0.0.1:1")
    offered = set(OWN_METHODS)
    for resource in RESOURCES:
        methods = inspect.getmembers(type(getattr(client, resource)), inspect.isfunction)
        offered |= {f"{resource}.{name}" for name, _ in methods if not name.startswith("_")}
    assert offered <= Client.called, f"not called: {sorted(offered - Client.called)}"


def with_client(step, kind):
    """Returns a step for `run_steps` that runs `step` with a client of this kind."""

    async def run_step(run):
        await step(run, Client(run, kind))

    run_step.__name__ = f"{step.__name__} with {kind.__name__}"
    return run_step


STEPS = (
    check_documents,
    check_many_documents,
    check_files,
    check_search,
    check_memories,
    check_connections,
    check_settings,
    check_responses,
    check_errors,
)

if __name__ == "__main__":
    kinds = (Supermemory, AsyncSupermemory)
    steps = [with_client(step, kind) for kind in kinds for step in STEPS]
    run_steps(__doc__, [*steps, check_every_method_was_called])
