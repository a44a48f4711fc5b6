"""Runs the unmodified PyPI package `supermemory-pipecat` against a running Recollect.

Its service runs in a pipeline of Pipecat, between the context of the user and the model, as its
documentation says. A stub is the model, and what it was sent shows the memories. The pipeline takes
text: a service that makes text of sound has nothing to do with Recollect.
"""

import asyncio
import base64
import json

import supermemory_pipecat as package
from loguru import logger
from pipecat.frames.frames import EndFrame, InputAudioRawFrame, LLMMessagesAppendFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.turns.user_turn_strategies import ExternalUserTurnStrategies
from pipecat.workers.runner import WorkerRunner
from supermemory_pipecat import ConfigurationError, InputParams, SupermemoryPipecatService

from common import FACTS, MODES, assert_each_once, assert_shown, recall, run_steps, the_only, until
from model_stub import KEY, MODEL

PICTURE = f"data:image/gif;base64,{base64.b64encode(b'GIF89a' * 100).decode()}"


async def check_conversation(run):
    """The turns of a session are stored in their order, and the next turn knows what was said."""
    tag = run.tag("pipecat-chat")
    async with Conversation(run, tag, session=f"{tag}-1") as talk:
        await talk.say("I live in Lisbon.", answer="Welcome.")
        await run.stored.containing(tag, "Lisbon")
        await talk.say("I prefer tea over coffee.", answer="Tea it is.")
        assert "User lives in Lisbon." in told(run, "user"), run.model.requests[-1]
        await talk.say("What do I like?")
        assert len([text for text in run.model.told("user") if "<user_memories>" in text]) == 1
    document = run.stored.document(tag)
    assert json.loads(document["content"]) == [
        {"role": "user", "content": "I live in Lisbon."},
        {"role": "assistant", "content": "Welcome."},
        {"role": "user", "content": "I prefer tea over coffee."},
        {"role": "assistant", "content": "Tea it is."},
        {"role": "user", "content": "What do I like?"},
    ], document
    assert document["customId"] == f"{tag}-1", document
    assert document["metadata"] == {"platform": "pipecat"}, document
    assert_each_once(run.stored.memories(tag), "Lisbon", "tea")


async def check_modes(run):
    """Each mode shows its part of the memories, each of them once, where it is to be shown."""
    tag = run.tag("pipecat-modes")
    async with Conversation(run, tag, session=f"{tag}-1") as talk:
        await talk.say("I live in Lisbon. I prefer tea over coffee.")
    run.stored.document(tag)
    for mode, profile, search in MODES:
        options = {"inject_mode": "system", "system_prompt": "Known:", "search_limit": 1}
        params = InputParams(mode=mode, **options)
        async with Conversation(run, tag, params=params) as talk:
            await talk.say("Do I prefer tea or coffee?")
        prompt = told(run, "system")
        assert prompt.startswith("You are a guide.\n\n<user_memories>\nKnown:"), prompt
        assert_shown(run, prompt, profile, search)
    async with Conversation(run, tag) as talk:
        sound = InputAudioRawFrame(audio=b"\0\0", sample_rate=16000, num_channels=1)
        await talk.worker.queue_frame(sound)
        await talk.say("Do I prefer tea or coffee?")
    assert "prefers tea" in told(run, "system"), "with sound, they are in the system message"


async def check_quick_turns(run):
    """Turns that come before the last ones are processed are stored in their order."""
    tag = run.tag("pipecat-quick")
    texts = [f"The lock {number} of the canal opens at noon." for number in range(12)]
    async with Conversation(run, tag, session=f"{tag}-1") as talk:
        for text in texts:
            await talk.say(text)
    messages = json.loads(run.stored.document(tag)["content"])
    assert [one["content"] for one in messages if one["role"] == "user"] == texts, messages


async def check_without_session(run):
    """Without a session, what is new becomes a document of its own."""
    tag = run.tag("pipecat-loose")
    async with Conversation(run, tag) as talk:
        await talk.say("I live in Lisbon.")
        talk.memory.reset_memory_tracking()
        await talk.say("I prefer tea over coffee.")
    first, second = run.stored.documents(tag, 2)
    assert len(json.loads(first["content"])) == 1 and len(json.loads(second["content"])) == 3
    assert first["customId"] is None, first


async def check_picture(run):
    """A message of several parts is stored as it is, and its text is read."""
    tag = run.tag("pipecat-parts")
    parts = [
        {"type": "text", "text": "I live in Lisbon. This is my street."},
        {"type": "image_url", "image_url": {"url": PICTURE}},
    ]
    async with Conversation(run, tag, session=f"{tag}-1") as talk:
        await talk.say(parts)
    document = run.stored.document(tag)
    assert json.loads(document["content"])[0]["content"] == parts, document
    memories = run.stored.memories(tag)
    assert_each_once(memories, "Lisbon")
    assert not any("base64" in one for one in memories), memories


async def check_trouble(run):
    """Without an answer the model is asked without memories; what was not stored is sent again."""
    tag = run.tag("pipecat-trouble")
    before = len(run.recorder.sent("POST", "/v3/documents"))
    run.recorder.fail("/v4/profile", 400)
    run.recorder.fail("/v3/documents", 400)
    async with Conversation(run, tag, session=f"{tag}-1") as talk:
        await talk.say("I live in Lisbon.", answer="Welcome.")
        assert run.model.told("user") == ["I live in Lisbon."], run.model.requests[-1]
        await talk.say("I prefer tea over coffee.")
    messages = json.loads(run.stored.document(tag)["content"])
    assert [one["content"] for one in messages] == [
        "I live in Lisbon.",
        "Welcome.",
        "I prefer tea over coffee.",
    ]
    assert len(run.recorder.sent("POST", "/v3/documents")) == before + 3, "one was sent again"

    other = run.tag("pipecat-stranger")
    async with Conversation(run, other, api_key="no_such_key") as talk:
        await talk.say("I live in Lisbon.")
        assert run.model.told("user") == ["I live in Lisbon."], run.model.requests[-1]
    assert run.recorder.sent("POST", "/v3/documents")[-1].status == 401
    assert run.stored.listed(other) == []
    for options in ({"api_key": "", "user_id": "ada"}, {"api_key": "local", "user_id": ""}):
        try:
            SupermemoryPipecatService(**options)
            raise AssertionError(f"{options} is refused")
        except ConfigurationError:
            pass


async def check_helpers(run):
    """The helpers of the package, on an answer of Recollect: a memory is shown once."""
    tag = run.tag("pipecat-helpers")
    async with Conversation(run, tag) as talk:
        await talk.say(FACTS)
    run.stored.document(tag)
    _, kept = recall(run, package, tag)
    text = package.format_memories_to_text(kept)
    assert text.count("prefers tea") == text.count("whales") == 1, text
    assert package.get_last_user_message([{"role": "user", "content": "Hello."}]) == "Hello."


async def check_tool_call(run):
    """A call of a tool, which is a message without `content`, is a part of the conversation."""
    tag = run.tag("pipecat-tools")
    async with Conversation(run, tag, session=f"{tag}-1") as talk:
        await talk.say("I live in Lisbon.", answer="Welcome.")
        run.model.will_call(("get_weather", {"city": "Lisbon"}))
        await talk.say("How is the weather?", answer="It is sunny.")
        await talk.say("I prefer tea over coffee.")
    messages = json.loads(run.stored.document(tag)["content"])
    called = the_only([json.dumps(one) for one in messages], "get_weather")
    assert "content" not in json.loads(called) or json.loads(called)["content"] is None, called
    spoken = [one["content"] for one in messages if one.get("content")]
    assert spoken == [
        "I live in Lisbon.",
        "Welcome.",
        "How is the weather?",
        "It is sunny.",
        "I prefer tea over coffee.",
    ], messages
    assert_each_once(run.stored.memories(tag), "Lisbon", "tea")


class Conversation:
    """A pipeline with the service of the package, from its first turn to its end."""

    def __init__(self, run, tag, session=None, params=None, api_key=None):
        self.run = run
        self.context = LLMContext([{"role": "system", "content": "You are a guide."}])
        turns = LLMUserAggregatorParams(user_turn_strategies=ExternalUserTurnStrategies())
        halves = LLMContextAggregatorPair(self.context, user_params=turns)
        self.memory = SupermemoryPipecatService(
            api_key=api_key or run.key,
            user_id=tag,
            session_id=session,
            params=params,
            base_url=run.url,
        )
        settings = OpenAILLMService.Settings(model=MODEL)
        model = OpenAILLMService(api_key=KEY, base_url=run.model.url, settings=settings)
        model.register_function("get_weather", get_weather)
        pipeline = Pipeline([halves.user(), self.memory, model, halves.assistant()])
        self.worker = PipelineWorker(pipeline, cancel_on_idle_timeout=False, enable_rtvi=False)

    async def __aenter__(self):
        runner = WorkerRunner(handle_sigint=False)
        await runner.add_workers(self.worker)
        self.running = asyncio.create_task(runner.run())
        return self

    async def __aexit__(self, *_):
        await self.worker.queue_frame(EndFrame())
        await self.running

    async def say(self, content, answer="Noted."):
        """Says something as the user, and waits until the model has answered."""
        self.run.model.will_say(answer)
        message = {"role": "user", "content": content}
        await self.worker.queue_frame(LLMMessagesAppendFrame(messages=[message], run_llm=True))
        said = ("assistant", answer)
        await until(lambda: not self.run.model.answers and self.last() == said, "an answer")

    def last(self):
        message = self.context.get_messages()[-1]
        return message["role"], message.get("content")


async def get_weather(params):
    await params.result_callback({"sunny": True})


def told(run, role):
    """The message of a role in which the model was shown memories."""
    return the_only(run.model.told(role), "<user_memories>")


STEPS = [
    check_conversation,
    check_modes,
    check_quick_turns,
    check_without_session,
    check_picture,
    check_trouble,
    check_helpers,
    check_tool_call,
]

if __name__ == "__main__":
    logger.remove()  # the errors that the steps cause are no news
    run_steps(__doc__, STEPS)
