"""Shared by the scripts of this folder: arguments, steps, and a look at what is stored."""

import argparse
import asyncio
import inspect
import sys
import time
import traceback
import uuid

import httpx

from model_stub import ModelStub
from recorder import Recorder

SECONDS = 20  # the longest wait for anything
# A sentence for the static part of a profile, and a dated one for the dynamic part.
FACTS = "I prefer tea over coffee. I am reading a book about whales this week."
# The modes of the packages: the name, whether it shows the profile, whether it searches.
MODES = (("profile", True, False), ("query", False, True), ("full", True, True))


class Run:
    """The address and the key for the client, a model, and a view of the stored data."""

    def __init__(self, args):
        self.recorder = Recorder(args.url)
        self.url = self.recorder.url
        self.key = args.key
        self.model = ModelStub()
        self.stored = Stored(args.url, args.key)
        self.loop = asyncio.Runner()  # one for all steps: clients keep connections

    def tag(self, name):
        """A container tag that no other run uses."""
        return f"{name}-{uuid.uuid4().hex[:10]}"


class Stored:
    """Looks at what Recollect has stored, past the client."""

    def __init__(self, url, key):
        headers = {"authorization": f"Bearer {key}"}
        self.http = httpx.Client(base_url=url, headers=headers, timeout=30)

    def post(self, path, body):
        answer = self.http.post(path, json=body)
        assert answer.status_code == 200, f"POST {path} {body}: {answer.status_code} {answer.text}"
        return answer.json()

    def documents(self, tag, count, status="done"):
        """The documents of a container, the oldest first, when there are `count` of this status."""

        def processed():
            found = self.listed(tag)
            complete = len(found) == count and all(one["status"] == status for one in found)
            return found if complete else None

        deadline = time.monotonic() + SECONDS
        while (found := processed()) is None:
            assert time.monotonic() < deadline, f"{count} documents in {tag}: {self.listed(tag)}"
            time.sleep(0.05)
        return found

    def listed(self, tag):
        body = {"containerTags": [tag], "includeContent": True, "limit": 100, "order": "asc"}
        return self.post("/v3/documents/list", body)["memories"]

    def document(self, tag):
        """The only document of a container, as soon as it is done."""
        return self.documents(tag, 1)[0]

    async def containing(self, tag, words):
        """The document of a container with these words, when it is processed; other tasks go on."""

        def found():
            listed = self.listed(tag)
            return [one for one in listed if words in one["content"] and one["status"] == "done"]

        await until(found, f"{words!r} in {tag}", lambda: self.listed(tag))
        return found()[0]

    def profile(self, tag, query):
        """The profile of a container, and what a query finds, however unlike it is."""
        return self.post("/v4/profile", {"containerTag": tag, "q": query, "threshold": 0})

    def memories(self, tag):
        """The texts of the memories of a container that are current."""
        body = {"containerTags": [tag], "limit": 100}
        entries = self.post("/v4/memories/list", body)["memoryEntries"]
        return [one["memory"] for one in entries if one["isLatest"] and not one["isForgotten"]]


def run_steps(description, steps, open_steps=()):
    """Runs the steps of a script; ends with status 1 at the first that is not as expected.

    `open_steps` are pairs of a step and the reason why it does not pass yet. They run only with
    `--open`.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--url", required=True, help="base URL of the API")
    parser.add_argument("--key", required=True, help="a valid API key")
    parser.add_argument("--open", action="store_true", help="run the open steps, and only them")
    args = parser.parse_args()

    run = Run(args)
    if args.open:
        failed = [step.__name__ for step, reason in open_steps if not passes(run, step, reason)]
        sys.exit(f"still open: {', '.join(failed)}" if failed else 0)
    for step in steps:
        if not passes(run, step):
            sys.exit(1)
    print(f"{len(run.recorder.exchanges)} requests ran as expected")


def passes(run, step, reason=None):
    """Runs a step and says how it went; prints the last requests and answers of one that failed."""
    name = step.__name__
    before = len(run.recorder.exchanges)
    run.recorder.failures.clear()
    run.model.answers.clear()
    try:
        result = step(run)
        if inspect.isawaitable(result):
            run.loop.run(result)
        assert not run.recorder.failures, f"not asked for: {run.recorder.failures}"
    except Exception:
        traceback.print_exc()
        report = run.recorder.report(before)
        print(f"{name}: not as expected. The last requests:\n{report}", file=sys.stderr)
        if reason:
            print(f"{name} is open: {reason}", file=sys.stderr)
        return False
    print(f"{name}: {'passes, and is open no more' if reason else 'as expected'}")
    return True


def recall(run, package, tag):
    """The profile of a container with results, and its memories as a package keeps them."""
    answer = run.stored.profile(tag, "tea or coffee")
    profile, results = answer["profile"], answer["searchResults"]["results"]
    assert results, answer
    return answer, package.deduplicate_memories(profile["static"], profile["dynamic"], results)


async def until(condition, what, state=lambda: ""):
    """Waits until a condition is true, and lets other tasks go on; fails after SECONDS."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {SECONDS} seconds. {state()}"
        await asyncio.sleep(0.02)


def assert_shown(run, prompt, profile, search):
    """Fails unless a prompt of a voice package has the memories of its mode, each of them once."""
    assert prompt.count("prefers tea") == 1, prompt
    assert ("Lisbon" in prompt) == profile, prompt
    assert ("## User Profile (Persistent)" in prompt) == profile, prompt
    found = "## Relevant Memories\n\n- [just now] User prefers tea" in prompt
    assert found != profile, "what the profile has is not shown again"
    sent = run.recorder.sent("POST", "/v4/profile")[-1].json()
    assert ("q" in sent) == search and (sent.get("threshold") == 0.1) == search, sent


def the_only(texts, words):
    """The only one of `texts` that contains `words`."""
    found = [text for text in texts if words in text]
    assert len(found) == 1, f"{words!r} in {len(found)} of {texts}"
    return found[0]


def assert_each_once(texts, *words):
    """Fails unless each of `words` is in one of `texts`, and in no other."""
    for word in words:
        the_only(texts, word)
