"""Runs the unmodified PyPI package `supermemory-agent-framework` against a running Recollect.

Agents of Microsoft's Agent Framework run with its tools, its middleware and its context provider. A
stub is their model, and what it was sent shows what they put into the prompt.

The 2.x versions of the package speak the namespaced interface of the hosted service instead.
"""

import json
import os

import supermemory_agent_framework as package
from agent_framework import AgentSession
from agent_framework.openai import OpenAIChatCompletionClient
from supermemory_agent_framework import (
    AgentSupermemory,
    SupermemoryChatMiddleware,
    SupermemoryConfigurationError,
    SupermemoryContextProvider,
    SupermemoryMiddlewareOptions,
    SupermemoryTools,
)

from common import FACTS, MODES, assert_each_once, run_steps, the_only
from model_stub import KEY, MODEL

CONTEXT = '<supermemory context="user-memories" readonly>'


async def check_tools(run):
    """A model calls the tools, and reads their results in its next turn."""
    connection = connect(run, "agent-tools")
    tools = SupermemoryTools(connection)
    agent = agent_of(run, instructions="Remember.")
    run.model.will_call(("add_memory", {"memory": "I prefer tea over coffee."}))
    await agent.run("Remember that I prefer tea over coffee", tools=tools.get_tools())
    [added] = [json.loads(text) for text in run.model.told("tool")]
    document = run.stored.document(connection.container_tag)
    assert added["success"] and added["memory"]["id"] == document["id"], (added, document)
    assert document["customId"] == f"conversation_{connection.conversation_id}", document
    assert document["content"] == "I prefer tea over coffee.", document

    run.model.will_call(
        ("search_memories", {"information_to_get": "what does the user drink", "limit": 3}),
        ("get_profile", {"query": "what does the user drink"}),
        ("get_profile", {}),
    )
    await agent.run("What do you remember about me?", tools=tools.get_tools())
    found, profile, short = [json.loads(text) for text in run.model.told("tool")]
    assert found["success"] and 1 <= found["count"] == len(found["results"]) <= 3, found
    assert_each_once([one["memory"] or "" for one in found["results"]], "tea")
    for answer in (profile, short):
        assert_each_once(answer["profile"]["static"] + answer["profile"]["dynamic"], "tea")
    assert "tea" in profile["search_results"]["results"][0]["memory"], profile
    assert short["search_results"] is None, short

    sent = {tool["function"]["name"] for tool in run.model.requests[-1]["tools"]}
    assert sent == {"search_memories", "add_memory", "get_profile"}, sent


async def check_tools_in_trouble(run):
    """An error is the result of the tool; a request that failed once is repeated."""
    tools = SupermemoryTools(connect(run, "agent-errors"))
    empty = json.loads(await tools.search_memories("tea"))
    assert empty == {"success": True, "results": [], "count": 0}, empty
    run.recorder.fail("/v4/profile", 500)
    profile = json.loads(await tools.get_profile())
    assert profile["success"] and profile["profile"]["static"] == [], profile
    wrong = SupermemoryTools(connect(run, "agent-errors", api_key="no_such_key"))
    for call in (wrong.search_memories("tea"), wrong.add_memory("tea"), wrong.get_profile()):
        answer = json.loads(await call)
        assert not answer["success"] and "Error code: 401" in answer["error"], answer


async def check_middleware(run):
    """A conversation of a session is stored as it grows; the next one gets its memories."""
    connection = connect(run, "agent-chat")
    tag = connection.container_tag
    saving = middleware_of(connection, add_memory="always")
    agent = agent_of(run, instructions="You are a guide.", middleware=[saving])
    session = AgentSession()
    run.model.will_say("Welcome.")
    for text in ("I live in Lisbon.", "I prefer tea over coffee."):
        await agent.run(text, session=session)
        await saving.wait_for_background_tasks()
    assert run.model.told("user") == ["I live in Lisbon.", "I prefer tea over coffee."]
    expected = "User: I live in Lisbon.\n\nAssistant: Welcome.\n\nUser: I prefer tea over coffee."
    document = await run.stored.containing(tag, "coffee")
    assert (document["content"], document["customId"]) == (expected, connection.custom_id), document
    assert_each_once(run.stored.memories(tag), "Lisbon", "tea")

    for mode, profile, search in MODES:
        reading = middleware_of(connect(run, tag=tag, entity_context="A guest."), mode=mode)
        agent = agent_of(run, instructions="You are a guide.", middleware=[reading])
        await agent.run("Do I prefer tea?")
        check_prompt(run, mode, profile, search)
        assert "A guest.\n\n" in memories_in_prompt(run), run.model.requests[-1]
    assert run.stored.document(tag)["content"] == expected, "reading adds nothing"


async def check_context_provider(run):
    """Each run of a session adds its own turn; a run of another session gets the memories."""
    connection = connect(run, "agent-provider")
    tag = connection.container_tag
    provider = SupermemoryContextProvider(connection, store_conversations=True)
    agent = agent_of(run, instructions="You are a guide.", context_providers=[provider])
    session = AgentSession()
    run.model.will_say("Welcome.")
    run.model.will_say("Tea it is.")
    await agent.run("I live in Lisbon.", session=session)
    run.stored.document(tag)
    await agent.run("I prefer tea over coffee.", session=session)
    assert "Lisbon" in memories_in_prompt(run), "the second turn knows the first"
    document = await run.stored.containing(tag, "coffee")
    assert turns(document) == [
        "User: I live in Lisbon.",
        "Assistant: Welcome.",
        "User: I prefer tea over coffee.",
        "Assistant: Tea it is.",
    ], document
    assert document["customId"] == connection.custom_id, document

    for mode, profile, search in MODES:
        options = {"mode": mode, "context_prompt": "Known:"}
        provider = SupermemoryContextProvider(connect(run, tag=tag), **options)
        await agent_of(run, context_providers=[provider]).run("Do I prefer tea?")
        check_prompt(run, mode, profile, search)
        assert "Known: These are data only" in memories_in_prompt(run), run.model.requests[-1]


async def check_trouble(run):
    """If Recollect does not answer well, the model is asked without memories."""
    wrong = connect(run, "agent-trouble", api_key="no_such_key")
    middleware = middleware_of(wrong, add_memory="always")
    provider = SupermemoryContextProvider(wrong, store_conversations=True)
    for options in ({"middleware": [middleware]}, {"context_providers": [provider]}):
        answer = await agent_of(run, instructions="Be brief.", **options).run("I live in Lisbon.")
        await middleware.wait_for_background_tasks()
        assert answer.text == "Noted." and run.model.told("system") == ["Be brief."], answer
        assert run.recorder.sent("POST", "/v4/profile")[-1].status == 401
        assert run.recorder.sent("POST", "/v3/documents")[-1].status == 401
    assert run.stored.listed(wrong.container_tag) == []
    try:
        connect(run, "agent-trouble", api_key="")
        raise AssertionError("a missing key is refused")
    except SupermemoryConfigurationError:
        pass


async def check_helpers(run):
    """The helpers of the package, on an answer of Recollect: a memory is shown once."""
    connection = connect(run, "agent-helpers")
    await SupermemoryTools(connection).add_memory(FACTS)
    run.stored.document(connection.container_tag)
    answer = run.stored.profile(connection.container_tag, "tea or coffee")
    profile, results = answer["profile"], answer["searchResults"]["results"]
    assert results, answer
    kept = package.deduplicate_memories(profile["static"], profile["dynamic"], results)
    assert_each_once(kept.static + kept.dynamic + kept.search_results, "tea", "whales")
    assert "- User prefers tea over coffee." in package.convert_profile_to_markdown(answer)


async def check_several_memories(run):
    """Each call of the tool adds a memory, although all of them name the same `customId`."""
    connection = connect(run, "agent-memories")
    tools = SupermemoryTools(connection)
    for memory in ("I prefer tea over coffee.", "My sister Clara lives in Porto."):
        assert json.loads(await tools.add_memory(memory))["success"]
        run.stored.document(connection.container_tag)
    assert_each_once(run.stored.memories(connection.container_tag), "tea", "Clara")


async def check_memory_in_conversation(run):
    """A memory that the tool adds during a conversation leaves the conversation as it is."""
    connection = connect(run, "agent-both")
    saving = middleware_of(connection, add_memory="always")
    tools = SupermemoryTools(connection)
    agent = agent_of(run, middleware=[saving])
    await agent.run("I live in Lisbon.")
    await saving.wait_for_background_tasks()
    run.stored.document(connection.container_tag)
    await tools.add_memory("My sister Clara lives in Porto.")
    run.stored.document(connection.container_tag)
    assert_each_once(run.stored.memories(connection.container_tag), "Lisbon", "Clara")


async def check_short_turn(run):
    """A turn of one or two words is added to the conversation, as any other."""
    connection = connect(run, "agent-short")
    saving = middleware_of(connection, add_memory="always")
    agent = agent_of(run, middleware=[saving])
    for text in ("I live in Lisbon.", "Thank you!"):
        await agent.run(text)
        await saving.wait_for_background_tasks()
        run.stored.document(connection.container_tag)
    document = run.stored.document(connection.container_tag)
    assert turns(document) == ["User: I live in Lisbon.", "User: Thank you!"], document


def connect(run, name="", tag=None, api_key=None, **options):
    """A connection of the package, which takes the address from the environment only."""
    os.environ["SUPERMEMORY_BASE_URL"] = run.url
    os.environ.pop("SUPERMEMORY_API_KEY", None)
    key = run.key if api_key is None else api_key
    return AgentSupermemory(api_key=key, container_tag=tag or run.tag(name), **options)


def middleware_of(connection, **options):
    return SupermemoryChatMiddleware(connection, SupermemoryMiddlewareOptions(**options))


def agent_of(run, **options):
    client = OpenAIChatCompletionClient(MODEL, api_key=KEY, base_url=run.model.url)
    return client.as_agent(name="Guide", **options)


def memories_in_prompt(run):
    return the_only(run.model.told("system"), CONTEXT)


def check_prompt(run, mode, profile, search):
    """Checks what the model was told: the memories of the mode, each once."""
    prompt = memories_in_prompt(run)
    assert prompt.count("prefers tea") == 1, (mode, prompt)
    assert ("Lisbon" in prompt) == ("## Static Profile" in prompt) == profile, (mode, prompt)
    assert ("Search results for user's recent message" in prompt) == (not profile), (mode, prompt)
    assert ("q" in run.recorder.sent("POST", "/v4/profile")[-1].json()) == search, mode


def turns(document):
    return [line for line in document["content"].split("\n") if line]


STEPS = [
    check_tools,
    check_tools_in_trouble,
    check_middleware,
    check_context_provider,
    check_trouble,
    check_helpers,
    check_short_turn,
]
SAME_ID = "a sentence under the `customId` of another replaces it, and its memories are gone"
OPEN_STEPS = [
    (check_several_memories, SAME_ID),
    (check_memory_in_conversation, SAME_ID),
]

if __name__ == "__main__":
    run_steps(__doc__, STEPS, OPEN_STEPS)
