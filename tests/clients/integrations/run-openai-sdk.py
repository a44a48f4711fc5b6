"""Runs the unmodified PyPI package `supermemory-openai-sdk` against a running Recollect.

The seven tools run as a model calls them, as methods and as single tools. The middleware runs with
both OpenAI clients, in its three modes, with answers in one piece and as a stream. A stub is the
model, and what it was sent shows what the middleware put into the prompt.
"""

import json
import sys

import supermemory_openai as package
from openai import AsyncOpenAI, OpenAI
from supermemory_openai import (
    OpenAIMiddlewareOptions,
    SupermemoryConfigurationError,
    SupermemoryTools,
    execute_memory_tool_calls,
    with_supermemory,
)

from common import FACTS, MODES, assert_each_once, recall, run_steps, the_only
from model_stub import KEY, MODEL

CONTEXT = '<supermemory context="user-memories" readonly>'
MINUTES = "Minutes of Monday: the greenhouse gets new glass in May. The door code is ORCH-4471."


async def check_tool_calls(run):
    """A model calls every tool; the results go back to it as JSON."""
    tag = run.tag("openai-calls")
    calls = ToolCalls(run, tag)
    added, document = await calls.run(
        ("add_memory", {"memory": "I prefer tea over coffee."}),
        ("document_add", {"content": MINUTES, "title": "Monday", "description": "Minutes"}),
    )
    assert added["success"] and document["success"], (added, document)
    stored = run.stored.documents(tag, 2)
    note, minutes = added["memory"]["id"], document["document"]["id"]
    assert {one["id"] for one in stored} == {note, minutes}, stored
    kept = next(one for one in stored if one["id"] == minutes)
    assert kept["content"] == MINUTES, kept
    assert kept["metadata"] == {"title": "Monday", "description": "Minutes"}, kept

    found, profile, listed = await calls.run(
        ("search_memories", {"information_to_get": "what does the user drink", "limit": 5}),
        ("get_profile", {"query": "what does the user drink"}),
        ("document_list", {"limit": 1, "page": 2}),
    )
    assert found["count"] == len(found["results"]) <= 5, found
    memory = next(one for one in found["results"] if one["memory"] and "tea" in one["memory"])
    assert_each_once(profile["profile"]["static"] + profile["profile"]["dynamic"], "tea")
    assert "tea" in profile["search_results"]["results"][0]["memory"], profile
    assert [one["id"] for one in listed["documents"]] == [stored[0]["id"]], "the oldest comes last"
    assert (listed["pagination"]["total_items"], listed["pagination"]["total_pages"]) == (2, 2)

    forgotten, deleted = await calls.run(
        ("memory_forget", {"memory_id": memory["id"], "reason": "corrected"}),
        ("document_delete", {"document_id": minutes}),
    )
    assert forgotten["success"] and deleted["success"], (forgotten, deleted)
    assert run.stored.document(tag)["id"] == note
    assert not any("tea" in one for one in run.stored.memories(tag))
    assert calls.names == set(package.MEMORY_TOOL_SCHEMAS), "every tool runs"


async def check_refused_calls(run):
    """Calls that a model gets wrong are answered, never raised."""
    calls = ToolCalls(run, run.tag("openai-refused"))
    unknown, wrong, forget, document, memory = await calls.run(
        ("no_such_tool", {}),
        ("search_memories", {"query": "tea"}),
        ("memory_forget", {}),
        ("document_delete", {"document_id": "A" * 22}),
        ("memory_forget", {"memory_id": "A" * 22}),
    )
    assert unknown["error"] == "Unknown function: no_such_tool", unknown
    assert wrong["error"] == "Invalid tool arguments", wrong
    assert "must be provided" in forget["error"], forget
    for refused in (document, memory):
        assert not refused["success"] and "Error code: 404" in refused["error"], refused


async def check_methods(run):
    """The methods of the class; a failed request is repeated by the client."""
    project = run.tag("project")
    tag = f"sm_project_{project}"
    tools = package.create_supermemory_tools(run.key, {"project_id": project, "base_url": run.url})
    assert tools.container_tags == [tag]
    assert tools.get_tool_definitions() == package.get_memory_tool_definitions()
    empty = await tools.get_profile()
    assert empty["success"] and not empty["profile"]["static"] + empty["profile"]["dynamic"], empty

    added = await tools.add_memory("My sister Clara lives in Porto.")
    run.stored.document(tag)
    run.recorder.fail("/v4/search", 503)
    found = await tools.search_memories("Where does Clara live?")
    memory = the_only([one["memory"] or "" for one in found["results"]], "Porto")
    assert (await tools.document_list())["documents"][0]["container_tags"] == [tag]
    gone = await tools.memory_forget(memory_content=memory)
    assert gone["success"] and run.stored.memories(tag) == [], gone

    elsewhere = {"container_tags": [run.tag("other")], "base_url": run.url}
    stranger = SupermemoryTools(run.key, elsewhere)
    refused = await stranger.document_delete(added["memory"]["id"])
    assert refused == {"success": False, "error": "Document is outside configured scope"}, refused
    assert (await tools.document_delete(added["memory"]["id"]))["success"]
    assert (await tools.document_list())["pagination"]["total_items"] == 0

    wrong = SupermemoryTools("no_such_key", {"base_url": run.url})
    for call in (
        wrong.search_memories("tea"),
        wrong.add_memory("tea"),
        wrong.get_profile(),
        wrong.document_list(),
    ):
        refused = await call
        assert not refused["success"] and "Error code: 401" in refused["error"], refused


async def check_single_tools(run):
    """Each tool as an object of its own."""
    tag = run.tag("openai-single")
    config = {"container_tags": [tag], "base_url": run.url}

    def made(name):
        tool = getattr(package, f"create_{name}_tool")(run.key, config)
        assert tool.definition["function"] == package.MEMORY_TOOL_SCHEMAS[name], name
        return tool

    memory = await made("add_memory").execute("I play the cello.")
    document = await made("document_add").execute(MINUTES)
    run.stored.documents(tag, 2)
    found = await made("search_memories").execute("instrument of the user")
    assert any("cello" in (one["memory"] or "") for one in found["results"]), found
    profile = await made("get_profile").execute()
    assert_each_once(profile["profile"]["static"] + profile["profile"]["dynamic"], "cello")
    assert (await made("document_list").execute(limit=10))["pagination"]["total_items"] == 2
    assert (await made("document_delete").execute(document["document"]["id"]))["success"]
    memories = run.stored.memories(tag)
    forgotten = await made("memory_forget").execute(memory_content=the_only(memories, "cello"))
    assert forgotten["success"] and run.stored.document(tag)["id"] == memory["memory"]["id"]
    assert not any("cello" in one for one in run.stored.memories(tag))


async def check_middleware(run):
    """A conversation is stored as it grows, and the next one gets its memories, in each mode."""
    tag = run.tag("openai-chat")
    messages = [
        {"role": "system", "content": "You are a guide."},
        {"role": "user", "content": "I live in Lisbon."},
    ]
    async with wrap(run, AsyncOpenAI, tag, "first") as client:
        run.model.will_say("Welcome.")
        answer = await client.chat.completions.create(model=MODEL, messages=messages)
        assert run.model.told("system") == ["You are a guide."], "there are no memories yet"
        await client.wait_for_background_tasks()
        assert run.stored.document(tag)["customId"] == f"conversation:{tag}-first"
        parts = [{"type": "text", "text": "I prefer tea over coffee."}]
        messages.append({"role": "assistant", "content": text_of(answer)})
        messages.append({"role": "user", "content": parts})
        await client.chat.completions.create(model=MODEL, messages=messages)
    assert "Lisbon" in run.model.told("system")[0], run.model.requests[-1]
    document = await run.stored.containing(tag, "coffee")
    assert document["content"].split("\n\n") == [
        "System: You are a guide.",
        "User: I live in Lisbon.",
        "Assistant: Welcome.",
        "User: I prefer tea over coffee.",
    ], document
    assert_each_once(run.stored.memories(tag), "Lisbon", "tea")

    question = [{"role": "user", "content": "Do I prefer tea or coffee?"}]
    for mode, profile, search in MODES:
        client = wrap(run, AsyncOpenAI, tag, "second", mode=mode, add_memory="never")
        await client.chat.completions.create(model=MODEL, messages=question)
        prompt = run.model.told("system")[0]
        assert prompt.startswith(CONTEXT) and prompt.count("prefers tea") == 1, prompt
        assert ("Lisbon" in prompt) == profile, (mode, prompt)
        assert ("## Static Profile" in prompt) == profile, (mode, prompt)
        assert ("q" in run.recorder.sent("POST", "/v4/profile")[-1].json()) == search, mode
        if not profile:
            assert "Search results for user's recent message" in prompt, prompt
    assert run.stored.document(tag)["id"] == document["id"], "nothing was added"


def check_synchronous_client(run):
    """The synchronous client, with answers as they are, raw and streamed."""
    tag = run.tag("openai-sync")
    client = wrap(run, OpenAI, tag, "one")
    with client:
        said = [{"role": "user", "content": "I have a dog named Bruno."}]
        client.chat.completions.create(model=MODEL, messages=said)
    run.stored.document(tag)
    messages = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi!"}]
    question = {"model": MODEL, "messages": messages}
    client = wrap(run, OpenAI, tag, "two", add_memory="never", mode="full")

    def streamed():
        chunks = client.chat.completions.create(**question, stream=True)
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)

    def raw():
        return text_of(client.chat.completions.with_raw_response.create(**question).parse())

    def raw_of_client():
        return text_of(client.with_raw_response.chat.completions.create(**question).parse())

    def streaming_response():
        with client.chat.with_streaming_response.completions.create(**question) as response:
            return text_of(response.parse())

    def stream_manager():
        with client.chat.completions.stream(**question) as events:
            return text_of(events.get_final_completion())

    for form in (streamed, raw, raw_of_client, streaming_response, stream_manager):
        before = len(run.model.requests)
        assert form() == "Noted.", form.__name__
        assert len(run.model.requests) == before + 1, form.__name__
        prompt = run.model.told("developer")[0]
        assert prompt.startswith("Be brief.\n" + CONTEXT) and "Bruno" in prompt, prompt


async def check_other_transport(run):
    """Without aiohttp the middleware asks for the profile with `requests`."""
    tag = run.tag("openai-requests")
    tools = SupermemoryTools(run.key, {"container_tags": [tag], "base_url": run.url})
    await tools.add_memory("I play the cello.")
    run.stored.document(tag)
    present = sys.modules.get("aiohttp")
    sys.modules["aiohttp"] = None
    try:
        client = wrap(run, AsyncOpenAI, tag, "one", add_memory="never")
        question = [{"role": "user", "content": "Hi!"}]
        await client.chat.completions.create(model=MODEL, messages=question)
    finally:
        sys.modules["aiohttp"] = present
    assert "cello" in run.model.told("system")[0], run.model.requests[-1]


async def check_trouble(run):
    """If Recollect does not answer well, the model is asked without memories."""
    tag = run.tag("openai-trouble")
    question = {"model": MODEL, "messages": [{"role": "user", "content": "I live in Lisbon."}]}
    run.recorder.fail("/v4/profile", 500)
    run.recorder.fail("/v3/documents", 400)
    async with wrap(run, AsyncOpenAI, tag, "one") as client:
        answer = await client.chat.completions.create(**question)
    assert text_of(answer) == "Noted.", answer
    assert run.model.requests[-1]["messages"] == question["messages"]
    async with wrap(run, AsyncOpenAI, tag, "one", api_key="no_such_key") as client:
        await client.chat.completions.create(**question)
    assert run.model.requests[-1]["messages"] == question["messages"]
    assert run.recorder.sent("POST", "/v4/profile")[-1].status == 401
    run.stored.documents(tag, 0)
    try:
        wrap(run, AsyncOpenAI, tag, "one", api_key=" ")
        raise AssertionError("a missing key is refused")
    except SupermemoryConfigurationError:
        pass


async def check_helpers(run):
    """The helpers of the package, on an answer of Recollect: a memory is shown once."""
    tag = run.tag("openai-helpers")
    tools = SupermemoryTools(run.key, {"container_tags": [tag], "base_url": run.url})
    await tools.add_memory(FACTS)
    run.stored.document(tag)
    answer, kept = recall(run, package, tag)
    assert_each_once(kept.static + kept.dynamic + kept.search_results, "tea", "whales")
    markdown = package.convert_profile_to_markdown(answer)
    assert "- User prefers tea over coffee." in markdown, markdown
    turns = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}]
    assert package.get_last_user_message(turns) == "Hello."
    assert package.get_conversation_content(turns) == "User: Hello.\n\nAssistant: Hi."


async def check_several_tags(run):
    """All configured tags are sent with what is added; the first is searched."""
    tags = [run.tag("openai-user"), run.tag("openai-team")]
    tools = SupermemoryTools(run.key, {"container_tags": tags, "base_url": run.url})
    memory = await tools.add_memory("I prefer tea over coffee.")
    document = await tools.document_add(MINUTES)
    assert memory["success"] and document["success"], (memory, document)
    for tag in tags:
        assert all(one["containerTags"] == tags for one in run.stored.documents(tag, 2))
    assert (await tools.search_memories("tea or coffee"))["count"], "found under the first tag"
    alone = SupermemoryTools(run.key, {"container_tags": tags[1:], "base_url": run.url})
    shared = document["document"]["id"]
    assert not (await alone.document_delete(shared))["success"], "shared with another tag"
    assert (await tools.document_delete(shared))["success"]


async def check_summaries(run):
    """The list of documents has a summary of each, by which a model chooses one."""
    tag = run.tag("openai-summaries")
    tools = SupermemoryTools(run.key, {"container_tags": [tag], "base_url": run.url})
    text = "\n\n".join(f"Item {n}: the council lays gravel on path {n} in May." for n in range(30))
    await tools.document_add(f"{MINUTES}\n\n{text}")
    run.stored.document(tag)
    [listed] = (await tools.document_list())["documents"]
    assert listed["summary"] and len(listed["summary"]) < len(text), listed


class ToolCalls:
    """Lets the model call tools, runs the calls, and gives the results to the model's next turn."""

    def __init__(self, run, tag):
        self.key, self.model = run.key, run.model
        self.config = {"container_tags": [tag], "base_url": run.url}
        self.openai = AsyncOpenAI(api_key=KEY, base_url=run.model.url)
        self.names = set()

    async def run(self, *calls):
        self.model.will_call(*calls)
        messages = [{"role": "user", "content": "Use your tools."}]
        tools = SupermemoryTools(self.key, self.config).get_tool_definitions()
        ask = self.openai.chat.completions.create
        answer = await ask(model=MODEL, messages=messages, tools=tools)
        message = answer.choices[0].message
        results = await execute_memory_tool_calls(self.key, message.tool_calls, self.config)
        await ask(model=MODEL, messages=[*messages, message, *results], tools=tools)
        assert len(self.model.told("tool")) == len(calls), self.model.requests[-1]
        self.names |= {name for name, _ in calls}
        return [json.loads(text) for text in self.model.told("tool")]


def wrap(run, client, tag, conversation, **options):
    options = {"api_key": run.key, "base_url": run.url} | options
    options |= {"container_tag": tag, "custom_id": f"{tag}-{conversation}"}
    model = client(api_key=KEY, base_url=run.model.url)
    return with_supermemory(model, OpenAIMiddlewareOptions(**options))


def text_of(completion):
    return completion.choices[0].message.content


STEPS = [
    check_tool_calls,
    check_refused_calls,
    check_methods,
    check_single_tools,
    check_middleware,
    check_synchronous_client,
    check_other_transport,
    check_trouble,
    check_helpers,
    check_several_tags,
    check_summaries,
]

if __name__ == "__main__":
    run_steps(__doc__, STEPS)
