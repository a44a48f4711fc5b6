"""Runs every method of the unmodified PyPI package `supermemory` 5.x against a running Recollect.

Each step runs with the plain and with the asynchronous client. The package does not check answers
against its own types, so the script does: a field that is missing or of another type is a failure.
At the end, a method that no step called is a failure.
"""

import asyncio
import inspect
import time

import supermemory
from pydantic import TypeAdapter
from supermemory import AsyncSupermemory, Supermemory
from supermemory.core.api_error import ApiError

from common import SECONDS, run_steps

RESOURCES = (
    "connectors",
    "content_management",
    "documents",
    "memories",
    "namespaces",
    "organization",
    "profiles",
)
# Methods of the client itself that send a request of the API.
OWN_METHODS = {"add", "list", "profile", "search"}
ORCHIDS = "The greenhouse of the botanical garden keeps its orchids at nineteen degrees."
QUESTION = "What temperature do the orchids in the greenhouse need?"


class Client:
    """A client whose methods are awaited, whether it is asynchronous or not."""

    called = set()

    def __init__(self, run, kind, key=None):
        self.run = run
        self.inner = kind(api_key=key or run.key, base_url=run.url, timeout=30, max_retries=0)

    async def call(self, method, *args, **fields):
        """Calls a method by its name, as in `documents.get`, and checks the type of the answer."""
        self.called.add(method)
        function = self.inner
        for part in method.split("."):
            function = getattr(function, part)
        answer = function(*args, **fields)
        answer = await answer if inspect.isawaitable(answer) else answer

        sent = self.run.recorder.exchanges[-1].answer
        TypeAdapter(answer_type(function)).validate_json(sent)
        return answer

    async def refused(self, status, method, *args, **fields):
        """Calls a method that is to fail with this status, and returns the error."""
        try:
            answer = await self.call(method, *args, **fields)
        except ApiError as refusal:
            assert refusal.status_code == status, refusal
            return refusal
        raise AssertionError(f"{method} was not refused: {answer}")

    async def done(self, namespace, document):
        """Waits until a document is processed, and returns it."""
        deadline = time.monotonic() + SECONDS
        while True:
            found = await self.call("documents.get", namespace, document)
            if found.system.status == "done":
                return found
            assert found.system.status != "failed" and time.monotonic() < deadline, found
            await asyncio.sleep(0.05)


def answer_type(method):
    """The type of the answer of a method, which the package gives as text."""
    annotation = inspect.signature(method).return_annotation
    if not isinstance(annotation, str):
        return annotation
    inner = inspect.unwrap(method)
    return eval(annotation, getattr(inner, "__func__", inner).__globals__)


async def check_documents(run, client):
    """A document is added, read, gone on with, changed, listed, counted and deleted."""
    namespace = run.tag("sdk5")
    added = await client.call(
        "add",
        namespace,
        content=ORCHIDS,
        id="orchids",
        supporting_context="Notes of a gardener.",
        metadata={"house": "glass", "floor": 2, "open": True, "beds": ["a", "b"]},
        group={"garden": "north"},
        date="2026-03-04",
        task_type="memory",
        dreaming="instant",
    )
    assert added.id == "orchids", added
    document = await client.done(namespace, "orchids")
    assert document.content == ORCHIDS, document
    assert document.metadata == {"house": "glass", "floor": 2, "open": True, "beds": ["a", "b"]}
    assert document.type == "text" and document.system.dreaming_status == "done", document

    await client.call("add", namespace, content="I prefer tea over coffee.", id="orchids")
    document = await client.done(namespace, "orchids")
    assert document.content == f"{ORCHIDS}\n\nI prefer tea over coffee.", document
    whole = await client.call("documents.get", namespace, "orchids", include=["chunks", "memories"])
    assert whole.chunks and "orchids" in whole.chunks[0].content, whole
    assert any("tea" in memory.memory for memory in whole.memories), whole

    counts = await client.call(
        "content_management.post_ns_by_namespace_list_documents_memory_counts",
        namespace,
        ids=["orchids", "nothing"],
    )
    assert [(one.id, one.memory_count > 0) for one in counts.counts] == [("orchids", True)], counts

    updated = await client.call(
        "documents.update", namespace, "orchids", content="Orchids need light.", metadata={"n": 1}
    )
    assert updated.id == "orchids", updated
    document = await client.done(namespace, "orchids")
    assert (document.content, document.metadata) == ("Orchids need light.", {"n": 1}), document

    batch = await client.call(
        "documents.batch_add",
        namespace,
        documents=[{"content": "The well is dry.", "id": "well"}, {"content": ""}],
        task_type="superrag",
    )
    assert (batch.count, batch.failed, batch.results[0].id) == (1, 1, "well"), batch
    await client.done(namespace, "well")

    listed = await client.call(
        "list",
        namespace,
        "documents",
        page=2,
        limit=1,
        sort="createdAt",
        order="asc",
        include={"content": True, "memoryCount": True},
    )
    assert [one.id for one in listed.documents] == ["well"], listed
    assert listed.documents[0].content == "The well is dry.", listed
    assert (listed.pagination.total_items, listed.pagination.total_pages) == (2, 2), listed
    only = {"operator": "and", "operands": [{"field": "n", "operator": "eq", "value": 1}]}
    listed = await client.call("list", namespace, "documents", filter=only)
    assert [one.id for one in listed.documents] == ["orchids"], listed

    deleted = await client.call("documents.delete", namespace, ids=["orchids", "nothing"])
    assert (deleted.count, deleted.errors[0].id) == (1, "nothing"), deleted
    await client.refused(404, "documents.get", namespace, "orchids")


async def check_files(run, client):
    """A file is added, replaced and changed."""
    namespace = run.tag("sdk5-files")
    file = ("herons.md", b"# Herons\n\nThe heron nests in March.", "text/markdown")
    added = await client.call(
        "documents.upload_file",
        namespace,
        file=file,
        metadata='{"year": 2026}',
        date="2026-03-04",
        task_type="superrag",
        mime_type="text/markdown",
    )
    document = await client.done(namespace, added.id)
    assert (document.title, document.metadata) == ("Herons", {"year": 2026}), document

    await client.call(
        "documents.update_file", namespace, added.id, metadata='{"year": 2027}'
    )
    document = await client.done(namespace, added.id)
    assert "March" in document.content and document.metadata == {"year": 2027}, document

    file = ("otters.md", b"# Otters\n\nThe otter dives.", "text/markdown")
    replaced = await client.call("documents.replace_with_file", namespace, added.id, file=file)
    assert replaced.id == added.id, replaced
    document = await client.done(namespace, added.id)
    assert "dives" in document.content and document.metadata == {}, document


async def check_recall(run, client):
    """Memories and chunks are found, listed, read and forgotten; the profile has the facts."""
    namespace = run.tag("sdk5-recall")
    text = "I live in Lisbon. I prefer tea over coffee. My sister Clara is a vet."
    await client.call("add", namespace, content=text, id="me", metadata={"year": 2026})
    await client.call("add", namespace, content=ORCHIDS, id="orchids")
    for name in ("me", "orchids"):
        await client.done(namespace, name)

    found = await client.call(
        "search",
        namespace,
        query="Where do I live?",
        search_mode="memories",
        limit=3,
        threshold=0.3,
        rerank="order",
        rewrite_query=True,
        include={"documents": True, "related": True, "forgotten": False},
    )
    first = found.results[0]
    assert "Lisbon" in first.memory and first.is_latest and first.similarity > 0.3, found
    assert first.included.document.id == "me", first
    assert first.included.related.parents == [], first
    chunks = await client.call("search", namespace, query=QUESTION, search_mode="chunks")
    assert "nineteen" in chunks.results[0].chunk, chunks
    both = await client.call("search", namespace, query=QUESTION)
    assert both.results, both
    only = {"field": "year", "operator": "eq", "value": 2026}
    none = await client.call("search", namespace, query=QUESTION, filter=only, threshold=0.6)
    assert all("orchids" not in (one.chunk or "") for one in none.results), none

    profile = (await client.call("profile", namespace)).profile
    known = [fact.memory for fact in profile.static + profile.dynamic]
    assert any("tea" in fact for fact in known), profile
    await client.call("profile", namespace, filter=only, buckets=["preferences"])

    chunk_page = await client.call("list", namespace, "chunks", sort="position", limit=1)
    assert chunk_page.pagination.total_items >= 2 and len(chunk_page.chunks) == 1, chunk_page
    memory_page = await client.call("list", namespace, "memories", include={"forgotten": True})
    memories = {one.memory: one.id for one in memory_page.memories}
    tea = next(id for text, id in memories.items() if "tea" in text)
    lisbon = next(id for text, id in memories.items() if "Lisbon" in text)
    memory = await client.call(
        "memories.get", namespace, tea, include=["related", "documents"], related_limit=5
    )
    assert memory.included.document.id == "me" and memory.version == 1, memory

    preview = await client.call(
        "memories.forget_matching", namespace, query="the city of Lisbon", dry_run=True
    )
    assert preview.count == 0 and lisbon in [one.id for one in preview.matches], preview
    forgotten = await client.call("memories.forget", namespace, ids=[tea, "nothing"])
    assert (forgotten.count, forgotten.errors[0].id) == (1, "nothing"), forgotten
    await client.call("memories.forget_matching", namespace, query="the city of Lisbon", dry_run=False)
    left = await client.call("list", namespace, "memories")
    left = [one.id for one in left.memories]
    assert tea not in left and lisbon not in left, left


async def check_namespaces(run, client):
    """A namespace is described, listed, moved and deleted."""
    namespace, target = run.tag("sdk5-ns"), run.tag("sdk5-target")
    await client.call("add", namespace, content=ORCHIDS, supporting_context="A garden.")
    await client.call("add", target, content="The well is dry.")
    found = await client.call("namespaces.get", namespace)
    assert found.supporting_context == "A garden.", found
    changed = await client.call("namespaces.update", namespace, supporting_context="A greenhouse.")
    assert changed.supporting_context == "A greenhouse.", changed
    changed = await client.call("namespaces.update", namespace, supporting_context=None)
    assert changed.supporting_context is None, changed
    listed = await client.call("namespaces.list", page=1, limit=10, q=namespace.upper())
    assert [one.namespace for one in listed.namespaces] == [namespace], listed

    buckets = await client.call("profiles.set_buckets", namespace, buckets={"birds": "Birds."})
    assert buckets.buckets["birds"] == "Birds.", buckets
    assert "birds" in (await client.call("profiles.get_buckets", namespace)).buckets
    buckets = await client.call("profiles.delete_buckets", namespace, buckets=["birds", "nothing"])
    assert "birds" not in buckets.buckets, buckets

    moved = await client.call("namespaces.delete", namespace, move_to=target)
    assert (moved.status, moved.move_to) == ("queued", target), moved
    deadline = time.monotonic() + 90
    while (await client.call("list", target, "documents")).pagination.total_items < 2:
        assert time.monotonic() < deadline, "the documents are not moved"
        await asyncio.sleep(0.2)
    other = run.tag("sdk5-gone")
    await client.call("add", other, content=ORCHIDS)
    deleted = await client.call("namespaces.delete", other)
    assert deleted.status == "deleted" and deleted.deleted_documents_count == 1, deleted
    await client.refused(404, "namespaces.get", other)


async def check_organization(run, client):
    """The background of the organization is read and changed."""
    changed = await client.call("organization.update", organizational_context="A garden.")
    assert changed.organizational_context == "A garden.", changed
    found = await client.call("organization.get")
    assert found.organizational_context == "A garden." and found.namespace_count > 0, found
    changed = await client.call("organization.update", organizational_context=None)
    assert changed.organizational_context is None, changed


async def check_connectors(run, client):
    """A website is connected, read, changed, synchronized and disconnected."""
    namespace = run.tag("sdk5-connectors")
    setup = {"provider": "web-crawler", "config": {"startUrl": "https://example.com/"}}
    created = await client.call("connectors.create", namespace, request=setup)
    assert created.authorization is None, created
    found = await client.call("connectors.get", namespace, created.id, include=["syncs"])
    assert (found.provider, found.namespace) == ("web-crawler", namespace), found
    assert isinstance(found.syncs, list), found
    listed = await client.call("connectors.list", namespace, provider="web-crawler", limit=5)
    assert [one.id for one in listed.connectors] == [created.id], listed
    everywhere = await client.call("connectors.list_all", page=1, limit=100)
    assert created.id in [one.id for one in everywhere.connectors], everywhere
    changed = await client.call("connectors.update", namespace, created.id, document_limit=7)
    assert changed.document_limit == 7, changed
    try:
        started = await client.call("connectors.sync", namespace, created.id)
        assert started.status == "queued", started
    except ApiError as refusal:
        assert refusal.status_code == 409, "a synchronization is running"
    await client.refused(404, "connectors.get", run.tag("elsewhere"), created.id)
    deleted = await client.call(
        "connectors.delete", namespace, created.id, delete_documents=False
    )
    assert deleted.id == created.id, deleted
    await client.refused(501, "connectors.create", namespace, request={"provider": "notion"})


async def check_errors(run, client):
    """The errors of the package come with their reason."""
    namespace = run.tag("sdk5-errors")
    refusal = await client.refused(400, "add", namespace, content="")
    assert isinstance(refusal, supermemory.BadRequestError) and refusal.body["error"], refusal
    wrong = Client(run, type(client.inner), key="no_such_key")
    refusal = await wrong.refused(401, "profile", namespace)
    assert isinstance(refusal, supermemory.UnauthorizedError), refusal


def both(step):
    """The step with the plain client, and with the asynchronous one."""

    async def with_both(run):
        for kind in (Supermemory, AsyncSupermemory):
            await step(run, Client(run, kind))

    with_both.__name__ = step.__name__
    return with_both


def check_every_method_was_called(_):
    """No method of the package was left out."""
    client = Supermemory(api_key="none", base_url="http://127.0.0.1")
    methods = set(OWN_METHODS)
    for resource in RESOURCES:
        for name, _ in inspect.getmembers(getattr(client, resource), inspect.isroutine):
            if not name.startswith("_"):
                methods.add(f"{resource}.{name}")
    assert Client.called == methods, f"not called: {methods ^ Client.called}"


STEPS = [
    *map(
        both,
        (
            check_documents,
            check_files,
            check_recall,
            check_namespaces,
            check_organization,
            check_connectors,
            check_errors,
        ),
    ),
    check_every_method_was_called,
]

if __name__ == "__main__":
    run_steps(__doc__, STEPS)
