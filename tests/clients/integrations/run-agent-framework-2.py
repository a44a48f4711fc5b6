"""Runs the unmodified PyPI package `supermemory-agent-framework` 2.x against a running Recollect.

It calls the namespaces of version 5 of the Python client. Agents of Microsoft's Agent Framework run
with its tools, its middleware and its context provider. A stub is their model, and what it was sent
shows what they put into the prompt.
"""

import json

import supermemory
from agent_framework import AgentSession
from agent_framework.openai import OpenAIChatCompletionClient
from supermemory_agent_framework import (
    AgentSupermemory,
    SupermemoryChatMiddleware,
    SupermemoryContextProvider,
    SupermemoryMiddlewareOptions,
    SupermemoryTools,
)

from common import MODES, assert_each_once, run_steps, the_only
from model_stub import KEY, MODEL

CONTEXT = '<supermemory context="user-memories" readonly>'


async def check_tools(run):
    """A model calls the tools; several memories under the one id of a conversation stay."""
    connection = connect(run, "agent2-tools")
    tools = SupermemoryTools(connection)
    agent = agent_of(run, instructions="Remember.")
    for memory in ("I prefer tea over coffee.", "My sister Clara lives in Porto."):
        run.model.will_call(("add_memory", {"memory": memory}))
        await agent.run(f"Remember: {memory}", tools=tools.get_tools())
        [added] = [json.loads(text) for text in run.model.told("tool")]
        assert added["success"], added
        assert added["memory"]["id"] == f"conversation_{connection.conversation_id}", added
        await run.stored.containing(connection.container_tag, memory)
    assert_each_once(run.stored.memories(connection.container_tag), "tea", "Clara")

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


async def check_tools_in_trouble(run):
    """An error is the result of the tool."""
    wrong = SupermemoryTools(connect(run, "agent2-errors", api_key="no_such_key"))
    for call in (wrong.search_memories("tea"), wrong.add_memory("tea"), wrong.get_profile()):
        answer = json.loads(await call)
        assert not answer["success"] and "401" in answer["error"], answer


async def check_middleware(run):
    """A conversation of a session is stored as it grows; the next one gets its memories."""
    connection = connect(run, "agent2-chat")
    tag = connection.container_tag
    saving = middleware_of(connection, add_memory="always")
    agent = agent_of(run, instructions="You are a guide.", middleware=[saving])
    session = AgentSession()
    run.model.will_say("Welcome.")
    for text in ("I live in Lisbon.", "I prefer tea over coffee."):
        await agent.run(text, session=session)
        await saving.wait_for_background_tasks()
    document = await run.stored.containing(tag, "coffee")
    assert document["content"].count("I live in Lisbon.") == 1, document
    assert document["customId"] == connection.custom_id, document
    assert_each_once(run.stored.memories(tag), "Lisbon", "tea")

    for mode, profile, search in MODES:
        reading = middleware_of(connect(run, tag=tag), mode=mode)
        agent = agent_of(run, instructions="You are a guide.", middleware=[reading])
        await agent.run("Do I prefer tea?")
        check_prompt(run, tag, mode, profile, search)


async def check_context_provider(run):
    """Each run of a session adds its own turn; a run of another session gets the memories."""
    connection = connect(run, "agent2-provider")
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
    turns = [line for line in document["content"].split("\n") if line]
    assert turns == [
        "User: I live in Lisbon.",
        "Assistant: Welcome.",
        "User: I prefer tea over coffee.",
        "Assistant: Tea it is.",
    ], document


async def check_memory_in_conversation(run):
    """A memory that the tool adds during a conversation leaves the conversation as it is."""
    connection = connect(run, "agent2-both")
    saving = middleware_of(connection, add_memory="always")
    agent = agent_of(run, middleware=[saving])
    await agent.run("I live in Lisbon.")
    await saving.wait_for_background_tasks()
    run.stored.document(connection.container_tag)
    await SupermemoryTools(connection).add_memory("My sister Clara lives in Porto.")
    await run.stored.containing(connection.container_tag, "Clara")
    assert_each_once(run.stored.memories(connection.container_tag), "Lisbon", "Clara")


async def check_trouble(run):
    """If Recollect does not answer well, the model is asked without memories."""
    wrong = connect(run, "agent2-trouble", api_key="no_such_key")
    middleware = middleware_of(wrong, add_memory="always")
    agent = agent_of(run, instructions="Be brief.", middleware=[middleware])
    answer = await agent.run("I live in Lisbon.")
    await middleware.wait_for_background_tasks()
    assert answer.text == "Noted." and run.model.told("system") == ["Be brief."], answer
    assert run.stored.listed(wrong.container_tag) == []


def connect(run, name="", tag=None, api_key=None):
    """A connection of the package with a client of this server: it takes no address itself."""
    key = api_key or run.key
    connection = AgentSupermemory(api_key=key, container_tag=tag or run.tag(name))
    connection.client = supermemory.AsyncSupermemory(api_key=key, base_url=run.url)
    return connection


def middleware_of(connection, **options):
    return SupermemoryChatMiddleware(connection, SupermemoryMiddlewareOptions(**options))


def agent_of(run, **options):
    client = OpenAIChatCompletionClient(MODEL, api_key=KEY, base_url=run.model.url)
    return client.as_agent(name="Guide", **options)


def memories_in_prompt(run):
    return the_only(run.model.told("system"), CONTEXT)


def check_prompt(run, tag, mode, profile, search):
    """Checks what the model was told: the memories of the mode, each once."""
    prompt = memories_in_prompt(run)
    assert prompt.count("prefers tea") == 1, (mode, prompt)
    assert ("Lisbon" in prompt) == ("## Static Profile" in prompt) == profile, (mode, prompt)
    asked = run.recorder.sent("POST", f"/ns/{tag}/search")
    assert bool(asked) or not search, mode


STEPS = [
    check_tools,
    check_tools_in_trouble,
    check_middleware,
    check_context_provider,
    check_memory_in_conversation,
    check_trouble,
]

if __name__ == "__main__":
    run_steps(__doc__, STEPS)
