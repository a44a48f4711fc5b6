"""Calls of the API, and the data that the console shows in this test."""

import json
import time
import urllib.error
import urllib.request

EVIL = "<img src=x onerror=alert(1)>"
EVIL_SCRIPT = "<script>alert(2)</script>"
LONG_WORD = "Averyveryverylongwordwithoutspaces" * 12

# 10,000 would be too slow for the gate: even an optimized build takes 80 seconds to process them.
NOTE_COUNT = 2_000
NOTES_PER_BATCH = 500
TOPICS = ["harvest", "bridge", "tide", "ledger", "orchard"]

# A name under which no host is ever found.
UNREACHABLE_SITE = "https://site.invalid/docs/"


class Api:
    """The API of a server, with the key `local` or another credential."""

    def __init__(self, url, headers=None):
        self.url = url
        self.headers = headers or {"authorization": "Bearer local"}

    def call(self, method, path, body=None):
        headers = {**self.headers, "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from error
        return json.loads(text) if text else None

    def get(self, path):
        return self.call("GET", path)

    def post(self, path, body):
        return self.call("POST", path, body)

    def say(self, tag, conversation, *turns, **more):
        """Adds the turns of a user, and waits until they are remembered."""
        messages = [{"role": "user", "content": turn, **more} for turn in turns]
        body = {"conversationId": conversation, "containerTag": tag, "messages": messages}
        return self.post("/v4/conversations?wait=true", body)

    def add(self, tag, content, **more):
        return self.post("/v3/documents", {"containerTag": tag, "content": content, **more})["id"]

    def make_scoped_key(self, tag, name):
        return self.post("/v3/auth/scoped-key", {"containerTag": tag, "name": name})

    def make_agent_key(self, name):
        return self.post("/v3/auth/agent-key", {"name": name, "permission": "write"})

    def wait_until_processed(self, *ids):
        deadline = time.monotonic() + 60
        for document in ids:
            while self.get(f"/v3/documents/{document}")["status"] not in ("done", "failed"):
                assert time.monotonic() < deadline, f"document {document} is still being processed"
                time.sleep(0.1)


def seed(api):
    """Adds what the views show. Returns the ids of a document and of a connection of the container `ada`."""
    document = seed_memories(api)
    hostile = seed_hostile_content(api)
    connection = api.post(
        "/v3/connections/web-crawler",
        {"containerTag": "ada", "metadata": {"startUrl": UNREACHABLE_SITE, "maxPages": 5}},
    )
    blocked = api.add("ada", "http://127.0.0.1/private")
    api.make_scoped_key("ada", EVIL)
    disabled = api.make_agent_key("A program that was switched off")
    api.call("PUT", f"/v3/auth/keys/{disabled['id']}/toggle", {"enabled": False})
    api.post("/v4/search", {"q": "Where do I live?", "containerTag": "ada"})
    api.wait_until_processed(document, blocked, *hostile)
    return document, connection["id"]


def seed_memories(api):
    """Adds facts that change, contradict each other and lead to conclusions."""
    api.say("ada", "2024", "My name is Ada. I live in Leeds. I work at Initech.", "I prefer tea over coffee.")
    api.say("ada", "2025", "I moved to London. I work at Acme now.")
    api.say("ada", "sister", "My sister is Anna. Anna lives in Bonn.")
    api.say("ada", "dog", "My dog is Otis. Otis is allergic to chicken.")
    api.add("ada", "Anna lives in Graz. Anna works at the harbour.", provenance="external")
    text = "# Notes of the spring\n\nMy name is Ada. I love climbing in the Alps.\n\nI am learning Portuguese. "
    return api.add("ada", text + "The tide tables are in the blue folder.\n\n" * 20, metadata={"season": "spring"})


def seed_hostile_content(api):
    """Adds content that tries to become markup, to break lines, or to be out of order."""
    sentences = f"My name is {EVIL}. I live in {EVIL_SCRIPT}Leeds. I love <b onclick=alert(3)>climbing</b>."
    documents = [
        api.add("hostile", f"# {EVIL}\n\n{sentences}", metadata={"evil": EVIL, "note": '"><svg onload=alert(4)>'}),
        api.add("hostile", f"# {LONG_WORD}\n\nI live in {LONG_WORD}.", metadata={"long": "x" * 400}),
        api.add("hostile", "# \u202eمرحبا بالعالم\u202c\n\nاسمي ليلى. I live in Cairo.", metadata={"text": "\u202eevil"}),
        api.add("hostile", "http://10.0.0.1/" + "a" * 90),
    ]
    api.say("hostile", EVIL, f"I work at {EVIL}.", name=EVIL)
    api.call("PATCH", "/v3/container-tags/hostile", {"name": EVIL})
    return documents


def seed_notes(api):
    """Adds many small documents. They are processed while other checks run."""
    for start in range(0, NOTE_COUNT, NOTES_PER_BATCH):
        documents = [
            {
                "content": f"# Note {number} on the {TOPICS[number % len(TOPICS)]}\n\nThe reading was {number}.",
                "customId": f"note-{number}",
            }
            for number in range(start, start + NOTES_PER_BATCH)
        ]
        api.post("/v3/documents/batch", {"containerTag": "notes", "taskType": "superrag", "documents": documents})
