"""Runs the unmodified PyPI package `supermemory-cartesia` against a running Recollect.

Its agent runs in the call of Cartesia's Line, whose harness is played by this script: it says when
who speaks, and what. The wrapped agent asks a stub of a model, and what the stub was sent shows the
memories. Line's own agent for models is left out: it needs the package litellm, and only Line's
interface between agents matters here.
"""

import asyncio

import supermemory_cartesia as package
from line.agent import AgentEnv
from line.events import AgentSendText, AgentTextSent, CallStarted, UserTextSent, UserTurnEnded
from line.voice_agent_app import ConversationRunner
from loguru import logger
from openai import AsyncOpenAI
from starlette.websockets import WebSocketDisconnect
from supermemory_cartesia import ConfigurationError, MemoryConfig, SupermemoryCartesiaAgent

from common import (
    FACTS,
    MODES,
    SECONDS,
    assert_each_once,
    assert_shown,
    recall,
    run_steps,
    the_only,
    until,
)
from model_stub import KEY, MODEL

HELLO = "Hello! How can I help you today?"


async def check_call(run):
    """The turns of a call are stored in their order, and the next turn knows what was said."""
    tag = run.tag("cartesia-call")
    async with Call(run, tag, f"{tag}-1") as call:
        call.hears(HELLO)
        await call.say("I live in Lisbon.", answer="Welcome.")
        await run.stored.containing(tag, "Lisbon")
        await call.say("I prefer tea over coffee.", answer="Tea it is.")
        assert run.model.told("user") == ["I live in Lisbon.", "I prefer tea over coffee."]
        assert run.model.told("assistant") == [HELLO, "Welcome."], run.model.requests[-1]
        assert "User lives in Lisbon." in told(run), run.model.requests[-1]
        await run.stored.containing(tag, "coffee")
        await call.say("What do I like?")
        document = await run.stored.containing(tag, "What do I like?")
    assert document["content"].split("\n") == [
        f"Assistant: {HELLO}",
        "User: I live in Lisbon.",
        "Assistant: Welcome.",
        "User: I prefer tea over coffee.",
        "Assistant: Tea it is.",
        "User: What do I like?",
    ], document
    assert document["customId"] == f"{tag}-1", document
    assert document["metadata"] == {"platform": "cartesia"}, document
    assert document["containerTags"] == [tag], document
    assert_each_once(run.stored.memories(tag), "Lisbon", "tea")


async def check_modes(run):
    """Each mode shows its part of the memories, each of them once, and `never` stores nothing."""
    tag = run.tag("cartesia-modes")
    async with Call(run, tag, f"{tag}-1") as call:
        await call.say("I live in Lisbon. I prefer tea over coffee.")
        await run.stored.containing(tag, "coffee")
    for mode, profile, search in MODES:
        config = MemoryConfig(mode=mode, system_prompt="Known:", search_limit=1)
        async with Call(run, tag, f"{tag}-2", config=config, add_memory="never") as call:
            await call.say("Do I prefer tea or coffee?")
        prompt = told(run)
        assert prompt.startswith("<user_memories>\nKnown:"), prompt
        assert_shown(run, prompt, profile, search)
    assert run.stored.document(tag)["customId"] == f"{tag}-1", "the other calls are not stored"


async def check_older_agents(run):
    """Agents of older versions of Line take no context; for a turn it is in their prompt."""
    tag = run.tag("cartesia-older")
    async with Call(run, tag, f"{tag}-1") as call:
        await call.say("I live in Lisbon.")
        await run.stored.containing(tag, "Lisbon")
    older = OlderAgent(run)
    async with Call(run, tag, f"{tag}-2", agent=older) as call:
        await call.say("Where do I live?")
    prompt = told(run)
    assert "User lives in Lisbon." in prompt and prompt.endswith("You are a guide."), prompt
    assert older.config.system_prompt == "You are a guide.", "the prompt is as it was"


async def check_second_call(run):
    """Calls with the same id are one document; those of another caller stay apart."""
    tag, other = run.tag("cartesia-ada"), run.tag("cartesia-bob")
    async with Call(run, tag, f"{tag}-1") as call:
        await call.say("I live in Lisbon.")
        await run.stored.containing(tag, "Lisbon")
        call.agent.reset_memory_tracking()
    async with Call(run, tag, f"{tag}-1") as call:
        await call.say("I prefer tea over coffee.")
        document = await run.stored.containing(tag, "coffee")
    assert document["content"].split("\n") == [
        "User: I live in Lisbon.",
        "User: I prefer tea over coffee.",
    ]
    async with Call(run, other, f"{other}-1") as call:
        await call.say("Where do I live?")
        assert run.model.told("system") == ["You are a guide."], "nothing of another caller is told"


async def check_trouble(run):
    """Without an answer of Recollect the call goes on without memories."""
    tag = run.tag("cartesia-trouble")
    run.recorder.fail("/v4/profile", 400)
    async with Call(run, tag, f"{tag}-1") as call:
        await call.say("I live in Lisbon.")
        assert run.model.told("system") == ["You are a guide."], run.model.requests[-1]
        await run.stored.containing(tag, "Lisbon")
    other = run.tag("cartesia-stranger")
    async with Call(run, other, f"{other}-1", api_key="no_such_key") as call:
        await call.say("I live in Lisbon.")
        assert run.model.told("system") == ["You are a guide."], run.model.requests[-1]
        await until(lambda: run.recorder.exchanges[-1].path == "/v3/documents", "the refused turn")
    assert run.recorder.exchanges[-1].status == 401 and run.stored.listed(other) == []
    for options in ({"api_key": ""}, {"container_tag": ""}, {"custom_id": " "}):
        complete = {"api_key": "local", "container_tag": "ada", "custom_id": "call"}
        try:
            SupermemoryCartesiaAgent(agent=None, **complete | options)
            raise AssertionError(f"{options} is refused")
        except ConfigurationError:
            pass


async def check_helpers(run):
    """The helpers of the package, on an answer of Recollect: a memory is shown once."""
    tag = run.tag("cartesia-helpers")
    async with Call(run, tag, f"{tag}-1") as call:
        await call.say(FACTS)
        await run.stored.containing(tag, "coffee")
    answer, kept = recall(run, package, tag)
    results = answer["searchResults"]["results"]
    assert package.format_relative_time(results[0]["updatedAt"]) == "just now", results
    text = package.format_memories_to_text(kept)
    assert text.count("prefers tea") == text.count("whales") == 1, text
    assert package.get_last_user_message([{"role": "user", "content": "Hello."}]) == "Hello."


async def check_several_tags(run):
    """A call is stored under the caller and under all tags of the organization."""
    tag, team, stage = run.tag("cartesia-user"), run.tag("cartesia-team"), run.tag("cartesia-stage")
    async with Call(run, tag, f"{tag}-1", container_tags=[team, stage]) as call:
        await call.say("I live in Lisbon.")
        await run.stored.containing(tag, "Lisbon")
        await call.say("I prefer tea over coffee.")
        document = await run.stored.containing(tag, "coffee")
        assert "User lives in Lisbon." in told(run), run.model.requests[-1]
    for one in (tag, team, stage):
        found = run.stored.document(one)
        assert (found["id"], found["containerTags"]) == (document["id"], [tag, team, stage]), found


async def check_short_turn(run):
    """A turn of one word, while the agent was not heard, is added to the call as any other."""
    tag = run.tag("cartesia-short")
    async with Call(run, tag, f"{tag}-1") as call:
        await call.say("I live in Lisbon.", answer="Welcome.", heard=False)
        await run.stored.containing(tag, "Lisbon")
        await call.say("Hello?")
        document = await run.stored.containing(tag, "Hello?")
    assert document["content"].split("\n") == ["User: I live in Lisbon.", "User: Hello?"], document
    assert_each_once(run.stored.memories(tag), "Lisbon")


class Call:
    """A call in Line: the harness at one end, the agent of the package at the other."""

    def __init__(self, run, tag, call, agent=None, **options):
        self.run = run
        self.agent = SupermemoryCartesiaAgent(
            agent=agent or ModelAgent(run),
            container_tag=tag,
            custom_id=call,
            base_url=run.url,
            **{"api_key": run.key} | options,
        )
        self.to_agent, self.from_agent = asyncio.Queue(), asyncio.Queue()

    async def __aenter__(self):
        runner = ConversationRunner(self, self.agent, AgentEnv())
        self.running = asyncio.create_task(runner.run())
        await self.answered()
        return self

    async def __aexit__(self, *_):
        self.to_agent.put_nowait(None)
        await self.running

    async def say(self, text, answer="Noted.", heard=True):
        """Says something as the user, and speaks what the agent answers if it is `heard`."""
        self.run.model.will_say(answer)
        self.send("user_state", value="speaking")
        self.send("message", content=text)
        self.send("user_state", value="idle")
        assert await self.answered() == [answer]
        if heard:
            self.hears(answer)

    def hears(self, text):
        self.send("agent_state", value="speaking")
        self.send("agent_speech", content=text)
        self.send("agent_state", value="idle")

    async def answered(self):
        """The texts of the agent until it has ended its turn."""
        texts = []
        while (message := await self.next_message())["type"] != "response_end":
            assert message["type"] == "message", message
            texts.append(message["content"])
        return texts

    async def next_message(self):
        return await asyncio.wait_for(self.from_agent.get(), SECONDS)

    def send(self, kind, **fields):
        self.to_agent.put_nowait({"type": kind} | fields)

    # The interface of a websocket, as Line uses it.

    async def receive_json(self):
        message = await self.to_agent.get()
        if message is None:
            raise WebSocketDisconnect
        return message

    async def send_json(self, message):
        self.from_agent.put_nowait(message)

    async def close(self):
        self.to_agent.put_nowait(None)


class ModelAgent:
    """An agent of Line that asks the model at the end of each turn of the user."""

    def __init__(self, run):
        self.openai = AsyncOpenAI(api_key=KEY, base_url=run.model.url)

    async def process(self, env, event, *, context=None):
        if isinstance(event, CallStarted):
            yield AgentSendText(text=HELLO)
        if isinstance(event, UserTurnEnded):
            yield AgentSendText(text=await self.ask("You are a guide.", context, event))

    async def ask(self, prompt, context, event):
        messages = [{"role": "system", "content": text} for text in (prompt, context) if text]
        for past in event.history:
            if isinstance(past, (UserTextSent, AgentTextSent)):
                role = "user" if isinstance(past, UserTextSent) else "assistant"
                messages.append({"role": role, "content": past.content})
        answer = await self.openai.chat.completions.create(model=MODEL, messages=messages)
        return answer.choices[0].message.content


class OlderAgent(ModelAgent):
    """An agent as Line had them before version 0.2.3: with a prompt, and without a context."""

    class Config:
        system_prompt = "You are a guide."

    def __init__(self, run):
        super().__init__(run)
        self.config = self.Config()

    async def process(self, env, event):
        if isinstance(event, UserTurnEnded):
            yield AgentSendText(text=await self.ask(self.config.system_prompt, None, event))


def told(run):
    """The message of the system in which the model was told memories."""
    return the_only(run.model.told("system"), "<user_memories>")


STEPS = [
    check_call,
    check_modes,
    check_older_agents,
    check_second_call,
    check_trouble,
    check_helpers,
    check_several_tags,
    check_short_turn,
]

if __name__ == "__main__":
    logger.remove()  # the errors that the steps cause are no news
    run_steps(__doc__, STEPS)
