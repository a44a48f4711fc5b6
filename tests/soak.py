#!/usr/bin/env python3
"""Soak test: many clients use one server for an hour while it is killed every minute.

It proves that

- what was answered is never lost, and what was deleted never comes back;
- a document that is `done` is found by the very next search, and a changed one shows only its newest text;
- no client sees anything of another;
- documents become `done` within a bounded time, although the server is killed while it works on them;
- memory and open files of the server stay flat, while the number of live documents does.

Each client is the only writer of two container tags, so it knows what they must contain. Every text has a marker: a
unique word that names its client. After a request without an answer, two states are possible until the client has
looked. At the end everything is compared, and `recollect check` must find nothing.

    tests/soak.py target/release/recollect                             an hour, 20 clients
    tests/soak.py --minutes 5 --kill-every 20 target/debug/recollect   a trial

Needs Linux, for /proc. Ends with 1 if a promise was broken, and then keeps the data folder and the server's log. A seed
gives every client the same choices again, but not the same timing.
"""

import argparse
import contextlib
import glob
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.request
from collections import Counter, defaultdict
from datetime import datetime
from typing import NamedTuple

# Operations a second of all clients, with about three requests each. The test is about what is lost over time and not
# about speed: a build with `--release` needs two thirds of one core for it, and so has room on two.
RATE = 20
MOST_LIVE = 40  # documents of a client from which on it only deletes
RUSH = 1.0  # seconds before a kill in which clients do not pause, so that the kill meets requests in progress
LONGEST_ANSWER = 60  # seconds
LONGEST_PROCESSING = 120  # seconds until a document is done, kills included
LONGEST_MERGE = 300  # seconds in which the tags of a merge may refuse writes
MOST_GROWTH = 1.25  # the last quarter's mean of memory and open files, as a multiple of the first quarter's
KILLS_FOR_GROWTH = 40  # kills from which on the quarters are compared
FINAL_LOOKS = 60  # deleted documents and deleted or replaced texts of each client that are looked for at the end
MARKER = re.compile(r"c\d{2,}m\d{6}")
FILLER = "The ferry crosses the bay twice a day. A heron waits in the reeds. Rope and paint are in the third shed. "
MEMORY = "Shelf {} holds nine lamps."
# What clients do, with weights: writes, deletions, and reads.
WRITES = {"add": 9, "add_batch": 2, "add_file": 2, "add_conversation": 3, "add_memory": 3}
WRITES |= {"change_content": 2, "change_metadata": 2, "move": 1, "correct_memory": 2, "merge_tags": 0.3}
DELETIONS = {"delete": 3, "delete_several": 1, "forget_memory": 1, "delete_tag": 0.1}
READS = {"search_live": 4, "search_deleted": 3, "read_deleted": 1, "read_profile": 2, "compare": 2}


class NoAnswer(Exception):
    """Nobody knows whether the request took effect."""


class NothingToDo(Exception):
    """No document fits the operation, or a merge in progress has refused it."""


class State(NamedTuple):
    """What a document shows: its tag, and the markers in its content, its metadata and its memory.

    Only a document that a client wrote as a memory has a `memory`, which is empty once it is forgotten.
    """

    tag: str
    texts: tuple
    mark: str | None = None
    memory: tuple | None = None

    def searched(self):
        """Returns the markers that a search must show when the document is done."""
        return self.texts if self.memory is None else self.memory

    def findable(self):
        """Returns the markers that a search may show."""
        return {*self.searched(), *([self.mark] if self.mark else [])}


class Document:
    """A document of a client, and the states that the answers so far allow; `None` is absence."""

    def __init__(self, kind, name=None):
        self.kind, self.name, self.id = kind, name, None
        self.known, self.states = None, {None}
        self.stale = set()  # markers of former contents, which searches show until the new one is done
        self.tried = self.since = None  # the time of the last write; the same, while content is processed

    def become(self, state):
        """Makes a state the only one."""
        old, self.known, self.states = self.known, state, {state}
        if state is None:
            self.id, self.stale, self.since = None, set(), None
        elif old is None or (old.tag, old.texts) != (state.tag, state.texts):
            self.stale |= old.findable() if old else set()
            self.since = self.tried

    def findable(self):
        """Returns the markers that a search may show."""
        return self.stale.union(*(state.findable() for state in self.states if state))

    def searched(self):
        """Returns the markers that a search must show when the document is done."""
        return self.known.searched() if self.known and self.kind != "failed" else ()

    def newest(self):
        return next(reversed(self.searched()), None)


class Figures:
    """What all threads measure and find."""

    def __init__(self, seed):
        self.seed, self.lock = seed, threading.Lock()
        self.seconds = defaultdict(list)  # of the answers, by kind of request
        self.counts = Counter()
        self.until_done, self.starts = [], []  # seconds
        self.samples, self.before_kills = [], []  # megabytes, open files, threads
        self.violations = {}

    def count(self, name):
        with self.lock:
            self.counts[name] += 1

    def violate(self, kind, expected, seen, client=None, marker=None, document=None):
        """Records a broken promise, once for each document or marker."""
        text = f"{kind}: client {client}, marker {marker}, document {document}: expected {expected}, seen {seen}"
        text += f" (seed {self.seed}, {time.strftime('%H:%M:%S')})"
        with self.lock:
            if self.violations.setdefault((kind, client, document or marker or expected), text) is text:
                print(text, file=sys.stderr, flush=True)


class Server:
    """The server on one data folder and one port, in a process group of its own."""

    def __init__(self, program, data, figures):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            self.port = unused.getsockname()[1]
        self.program, self.data, self.log = program, data, open(f"{data}.log", "ab")
        self.figures, self.process, self.next_kill = figures, None, float("inf")

    def start(self):
        """Starts the server and measures the seconds until it answers."""
        begun = time.monotonic()
        command = [self.program, "serve", "--data", self.data, "--port", str(self.port)]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log, env=environment,
            start_new_session=True,
        )  # fmt: skip
        while not self.is_healthy():
            if self.process.poll() is not None or time.monotonic() - begun > LONGEST_ANSWER:
                raise RuntimeError(f"the server does not start, see {self.log.name}")
            time.sleep(0.005)
        self.figures.starts.append(time.monotonic() - begun)

    def is_healthy(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=LONGEST_ANSWER) as answer:
                return answer.status == 200
        except OSError:
            return False

    def kill_and_start(self):
        """Kills the server and starts it again. The parsers that it had started have to end by themselves."""
        group = self.process.pid
        self.process.kill()
        self.process.wait()
        self.start()
        deadline = time.monotonic() + 5
        while (left := members(group)) and time.monotonic() < deadline:
            time.sleep(0.1)
        for process in left:
            self.figures.violate("fault", "parsers that end with their server", f"process {process}")
            os.kill(process, signal.SIGKILL)

    def stop(self):
        """Stops the server gently."""
        self.process.terminate()
        try:
            status = self.process.wait(timeout=LONGEST_ANSWER)
        except subprocess.TimeoutExpired:
            status = "none"
        if status != 0:
            self.figures.violate("fault", "exit code 0 after SIGTERM", status)

    def check(self):
        """Verifies the data folder of a server that was stopped."""
        command = [self.program, "check", "--data", self.data]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode != 0:
            seen = f"exit code {result.returncode}: {result.stdout}"
            self.figures.violate("fault", "a check that finds nothing", seen)

    def sample(self):
        """Returns the resident megabytes, the open files and the threads."""
        folder = f"/proc/{self.process.pid}"
        with open(f"{folder}/status") as file:
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["VmRSS"].split()[0]) / 1024, len(os.listdir(f"{folder}/fd")), int(fields["Threads"])


def members(group):
    """Returns the running processes of a process group."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as file:
                state, _, of_group = file.read().rsplit(")", 1)[1].split()[:3]
        except OSError:
            continue  # it has just ended
        if state != "Z" and int(of_group) == group:
            found.append(int(path.split("/")[2]))
    return found


class Connection:
    """A connection that is opened again when it breaks."""

    def __init__(self, port):
        self.port, self.http = port, None

    def connect(self):
        """Waits until the server listens."""
        deadline = time.monotonic() + LONGEST_ANSWER
        while self.http is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONGEST_ANSWER)
            try:
                connection.connect()
                self.http = connection
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def request(self, method, path, body, content_type):
        """Returns the status and the text of the answer."""
        try:
            self.http.request(method, path, body, {"authorization": "Bearer local", "content-type": content_type})
            answer = self.http.getresponse()
            return answer.status, answer.read().decode()
        except (ConnectionError, http.client.HTTPException) as error:
            self.http.close()
            self.http = None
            raise NoAnswer from error


class Client(threading.Thread):
    """A client, with a model of everything that its two tags must contain."""

    def __init__(self, number, server, figures, interval):
        super().__init__(daemon=True)
        self.number, self.server, self.figures, self.interval = number, server, figures, interval
        self.random = random.Random(f"{figures.seed}-{number}")
        self.connection, self.over = Connection(server.port), threading.Event()
        self.tags = [f"soak-{figures.seed}-{number:02}", f"soak-{figures.seed}-{number:02}-side"]
        self.live = []  # documents that exist, or perhaps do
        self.named, self.by_id, self.owners = {}, {}, {}  # all documents by customId, by id and by marker
        self.merged = float("-inf")  # the time of the last merge

    def run(self):
        try:
            while len(self.live) < MOST_LIVE and self.pause():
                is_busy = any(document.since for document in self.live)
                self.step({"read_profile": 1} if is_busy else {"add_batch": 1})
            while self.pause():
                self.step(DELETIONS if len(self.live) >= MOST_LIVE else WRITES | DELETIONS | READS)
            self.finish()
        except Exception:
            self.violate("fault", "a client that goes on", traceback.format_exc())

    def pause(self):
        """Waits until the next operation is due. Returns whether there is one."""
        until = time.monotonic() + self.interval * self.random.uniform(0.5, 1.5)
        while time.monotonic() < min(until, self.server.next_kill - RUSH) and not self.over.is_set():
            time.sleep(0.05)
        return not self.over.is_set()

    def step(self, operations):
        """Does one of the operations, and looks at what is in processing."""
        [operation] = self.random.choices([*operations], [*operations.values()])
        try:
            with contextlib.suppress(NothingToDo):
                getattr(self, operation)()
            self.follow()
        except NoAnswer:
            self.settle()

    def settle(self):
        """Looks until it is known what became of a request without an answer."""
        deadline = time.monotonic() + LONGEST_PROCESSING
        while time.monotonic() < deadline:
            try:
                self.compare()
                if all(len(document.states) == 1 for document in self.live):
                    return
            except NoAnswer:
                pass
            time.sleep(0.1)
        raise RuntimeError("the server does not say what became of a request")

    def finish(self):
        """Waits until everything is done, and compares everything that is or was there."""
        while any(document.since for document in self.live):
            self.follow()
            time.sleep(0.1)
        self.compare()
        for document in [*self.live]:
            self.read(document)
            for marker in document.searched():
                self.find(document, marker)
        for look in (self.search_deleted, self.read_deleted) * FINAL_LOOKS:
            with contextlib.suppress(NothingToDo):
                look()

    # Requests.

    def call(self, kind, method, path, body=None, content_type="application/json"):
        """Sends a request. Returns the answer, or `None` if there is no such thing."""
        body = json.dumps(body) if isinstance(body, dict) else body
        self.connection.connect()
        begun = time.monotonic()
        status, text = self.connection.request(method, path, body, content_type)
        with self.figures.lock:
            self.figures.seconds[kind].append(time.monotonic() - begun)
        for marker in MARKER.findall(text):
            if not marker.startswith(f"c{self.number:02}m"):
                self.violate("foreign", "nothing of another client", f"{method} {path}: {text[:500]}", marker)
        if status < 300:
            return json.loads(text or "{}")
        if status == 404:
            return None
        if status == 409:
            self.refuse(text)
        self.violate("fault", f"no error of {method} {path}", f"{status} {text[:500]}")
        raise NoAnswer

    def refuse(self, answer):
        """Ends an operation that was refused, which only a merge may cause."""
        if time.monotonic() - self.merged > LONGEST_MERGE:
            self.violate("fault", "no refusal without a merge", answer)
        self.figures.count("refused during a merge")
        raise NothingToDo

    def write(self, outcomes, kind, method, path, body=None, content_type="application/json"):
        """Sends a change. `outcomes` has the state that each changed document will have."""
        before = {document: document.known for document in outcomes}
        for document, state in outcomes.items():
            document.states.add(state)
            document.tried = time.time()
        self.live += [document for document in outcomes if document not in self.live]
        try:
            answer = self.call(kind, method, path, body, content_type)
        except NoAnswer:
            self.figures.count("writes without an answer")
            raise
        except NothingToDo:
            self.fix(before)
            raise
        if answer and answer.get("failed"):  # a batch, of which a merge has refused some documents or all
            if answer["success"]:
                raise NoAnswer
            self.fix(before)
            self.refuse(answer)
        if answer is None and any(before.values()):
            self.violate("lost", [*before.values()], f"{method} {path}: 404", document=[*before][0].id)
            raise NoAnswer
        self.fix(outcomes)
        return answer

    def fix(self, outcomes):
        """Sets the state of documents."""
        for document, state in outcomes.items():
            document.become(state)
        self.live = [one for one in {**dict.fromkeys(self.live), **outcomes} if one.states != {None}]

    def identify(self, document, identifier):
        if document.id not in (None, identifier):
            expected = f"the id {document.id} of the customId {document.name}"
            self.violate("wrong", expected, identifier, document.newest(), document.id)
        document.id = identifier
        self.by_id[identifier] = document

    def violate(self, kind, expected, seen, marker=None, document=None):
        self.figures.violate(kind, expected, seen, self.number, marker, document)

    # Reads, each of which checks what it sees.

    def follow(self):
        """Looks at some of what is in processing. The very next search must find what is done."""
        for document in [document for document in self.live if document.since][:4]:
            item = self.read(document)
            if document.since is None:  # it is lost, or has failed
                continue
            until = read_time(item["updatedAt"]) if item["status"] == "done" else time.time()
            taken = until - document.since
            if taken > LONGEST_PROCESSING:
                seen = f"{item['status']} after {taken:.0f} s"
                self.violate("stuck", f"done within {LONGEST_PROCESSING} s", seen, document.newest(), document.id)
            if taken > LONGEST_PROCESSING or item["status"] == "done":
                self.figures.until_done.append(taken)
                stale, document.stale, document.since = document.stale, set(), None
                self.find(document)
                for marker in sorted(stale - document.findable())[:1]:
                    self.search(marker, document.known.tag)

    def find(self, document, marker=None):
        """Searches for a document by its newest marker, which must be found if it is done."""
        marker = marker or document.newest()
        if marker and not document.since and marker not in self.search(marker, document.known.tag):
            self.violate("lost", f"found by a search in {document.known.tag}", "not found", marker, document.id)

    def search(self, marker, tag):
        """Returns the markers that a search for one of them shows."""
        body = {"q": marker, "containerTag": tag}
        if self.random.random() < 0.5 and self.owners[marker].kind != "memory":
            answer = self.call("search documents", "POST", "/v3/search", body | {"chunkThreshold": 0})
        else:
            body |= {"threshold": 0, "searchMode": "hybrid"}
            answer = self.call("search hybrid", "POST", "/v4/search", body)
        return self.check_findable(f"a search for {marker} in {tag}", answer["results"])

    def check_findable(self, where, shown):
        """Returns the markers in a part of an answer. None may be of something deleted or replaced."""
        markers = set(MARKER.findall(json.dumps(shown)))
        for marker in markers & self.gone():
            owner = self.owners[marker]
            self.violate("resurrected", f"not found by {where}", f"found, of {owner.known}", marker, owner.id)
        return markers

    def gone(self):
        """Returns the markers of everything that was deleted or replaced."""
        return self.owners.keys() - set().union(*(document.findable() for document in self.live))

    def read(self, document):
        """Compares one document with the model, and returns what is shown of it."""
        item = self.call("get", "GET", f"/v3/documents/{document.id}")
        self.judge(document, item and self.observe(document, item, document.known.memory))
        return item

    def observe(self, document, item, memory):
        """Returns the state that an answer shows."""
        if item["status"] == "failed":
            error = item.get("errorCode"), item.get("errorMessage")
            self.violate("failed", "a document that is processed", error, document.newest(), document.id)
            document.kind, document.since = "failed", None
        content = item.get("content")  # a file or a conversation has none until it is read for the first time
        texts = tuple(MARKER.findall(content or "")) if content is not None or item["status"] == "done" else None
        return State(item["containerTag"], texts, (item["metadata"] or {}).get("mark"), memory)

    def judge(self, document, seen):
        """Compares a document with what is allowed, and takes what was seen as its state if that decides it."""
        if seen and seen.texts is None:
            fitting = [state for state in document.states if state and state._replace(texts=None) == seen]
            if len(fitting) > 1:
                return
            seen = fitting[0] if fitting else seen._replace(texts=())
        if seen not in document.states:
            kind = "lost" if seen is None else "resurrected" if document.states == {None} else "wrong"
            marker = document.newest() or next(reversed(seen.texts if seen else ()), None)
            self.violate(kind, [*document.states], seen, marker, document.id)
        elif len(document.states) > 1:
            self.figures.count(f"writes without an answer: {'un' * (seen == document.known)}changed documents")
        if {seen} != document.states:
            self.fix({document: seen})

    def compare(self):
        """Compares everything that is listed with the model, and settles what is unknown."""
        items = self.list("/v3/documents/list", "memories", includeContent=True)
        entries = self.list("/v4/memories/list", "memoryEntries")
        shown = [entry["memory"] for entry in entries if not entry["isForgotten"]]
        shown = sorted(self.check_findable("the list of memories", shown))
        seen = {}
        for item in items:
            document = self.recognize(item)
            if document is None or document.id != item["id"]:
                expected = document and f"only {document.id} with this customId or text"
                self.violate("resurrected", expected, item, document=item["id"])
            else:
                memory = tuple(marker for marker in shown if self.owners.get(marker) is document)
                seen[document] = self.observe(document, item, memory if document.kind == "memory" else None)
        for document in {**dict.fromkeys(self.live), **seen}:
            self.judge(document, seen.get(document))

    def list(self, path, field, **more):
        """Returns everything that a list has of both tags."""
        items, page, pages = [], 0, 1
        while page < pages:
            page += 1
            body = {"containerTags": self.tags, "limit": 1000, "page": page, **more}
            answer = self.call(f"list {field}", "POST", path, body)
            items, pages = items + answer[field], answer["pagination"]["totalPages"]
        return items

    def recognize(self, item):
        """Returns the document of a listed item: by its customId or marker, if its addition was not answered."""
        marker = next(iter(MARKER.findall(json.dumps(item))), None)
        document = self.by_id.get(item["id"]) or self.named.get(item["customId"]) or self.owners.get(marker)
        if document and document.id is None:
            self.identify(document, item["id"])
        return document

    def search_live(self):
        self.find(self.pick())

    def search_deleted(self):
        marker = self.choose(sorted(self.gone()))
        self.search(marker, self.random.choice(self.tags))

    def read_deleted(self):
        self.check_absent(self.choose([one for one, document in self.by_id.items() if document.id != one]))

    def check_absent(self, identifier):
        """Looks at the id of a deleted document."""
        item = self.call("get", "GET", f"/v3/documents/{identifier}")
        if item:
            self.violate("resurrected", "absence", item, document=identifier)

    def read_profile(self):
        tag = self.random.choice(self.tags)
        self.check_findable(f"the profile of {tag}", self.call("profile", "POST", "/v4/profile", {"containerTag": tag}))

    # Writes.

    def pick(self, *kinds, where=lambda state: True):
        """Returns a random document, of one of the kinds."""
        return self.choose([one for one in self.live if (not kinds or one.kind in kinds) and where(one.known)])

    def choose(self, values):
        if not values:
            raise NothingToDo
        return self.random.choice(values)

    def new_marker(self, document):
        marker = f"c{self.number:02}m{len(self.owners):06}"
        self.owners[marker] = document
        return marker

    def new_text(self, marker):
        """Returns a text whose first sentence becomes a memory. One of 20 is long."""
        more = self.random.choice([0] * 10 + [1] * 6 + [8] * 3 + [400])
        return f"I keep the lamp {marker} in the shed. " + FILLER * more

    def create(self, kind, name=None):
        """Returns a document, its next state, and the body that adds it or replaces its content."""
        document = self.named.setdefault(name, Document(kind, name)) if name else Document(kind)
        marker = self.new_marker(document)
        state = State(self.random.choice(self.tags), (marker,), marker)
        body = {"content": self.new_text(marker), "containerTag": state.tag, "metadata": {"mark": marker}}
        return document, state, body | ({"customId": name} if name else {})

    def add(self):
        """Adds a text, or replaces the one of a customId, in either tag. May wait until it is done."""
        name = self.random.choice([None, f"{self.tags[0]}-{self.random.randrange(6)}"])
        document, state, body = self.create("text", name)
        path = "/v3/documents" + self.random.choice(["", "?wait=true"])
        self.identify(document, self.write({document: state}, "add", "POST", path, body)["id"])

    def add_batch(self):
        """Adds several texts, one of them with a customId."""
        names = [f"{self.tags[0]}-{self.random.randrange(6)}"] + [None] * self.random.randint(1, 4)
        documents, states, bodies = zip(*(self.create("text", name) for name in names))
        body = {"documents": bodies}
        answer = self.write(dict(zip(documents, states)), "add batch", "POST", "/v3/documents/batch", body)
        for document, result in zip(documents, answer["results"]):
            self.identify(document, result["id"])

    def add_file(self):
        """Uploads a page, which is read in a process of its own."""
        document, state, body = self.create("file")
        parts = {"containerTag": state.tag, "metadata": json.dumps(body["metadata"])}
        parts['file"; filename="page.html'] = f"<html><body><p>{body['content']}</p></body></html>"
        form = [f'--soak\r\ncontent-disposition: form-data; name="{key}"\r\n\r\n{parts[key]}\r\n' for key in parts]
        form, content_type = "".join(form) + "--soak--\r\n", "multipart/form-data; boundary=soak"
        answer = self.write({document: state}, "add file", "POST", "/v3/documents/file", form, content_type)
        self.identify(document, answer["id"])

    def add_conversation(self):
        """Adds a turn to one of three conversations, or deletes it when it is long."""
        name = f"{self.tags[0]}-talk-{self.random.randrange(3)}"
        document = self.named.setdefault(name, Document("conversation", name))
        old = document.known or State(self.random.choice(self.tags), ())
        if len(old.texts) > 8:
            return self.delete(document)
        marker = self.new_marker(document)
        body = {"conversationId": name, "containerTag": old.tag}
        body["messages"] = [{"role": "user", "content": self.new_text(marker)}]
        outcomes = {document: old._replace(texts=(*old.texts, marker))}
        self.identify(document, self.write(outcomes, "add conversation", "POST", "/v4/conversations", body)["id"])

    def add_memory(self):
        document = Document("memory")
        marker = self.new_marker(document)
        state = State(self.random.choice(self.tags), (marker,), None, (marker,))
        body = {"containerTag": state.tag, "memories": [{"content": MEMORY.format(marker)}]}
        answer = self.write({document: state}, "add memory", "POST", "/v4/memories", body)
        self.identify(document, answer["documentId"])
        document.since = None  # it is done with the answer
        self.find(document)

    def correct_memory(self):
        document = self.pick("memory", where=lambda state: state.memory)
        marker, [old] = self.new_marker(document), document.known.memory
        body = {"containerTag": document.known.tag, "content": MEMORY.format(old), "newContent": MEMORY.format(marker)}
        outcomes = {document: document.known._replace(memory=(marker,))}
        self.write(outcomes, "correct memory", "PATCH", "/v4/memories", body)
        self.find(document)
        self.search(old, document.known.tag)

    def forget_memory(self):
        document = self.pick("memory", where=lambda state: state.memory)
        [old] = document.known.memory
        body = {"containerTag": document.known.tag, "content": MEMORY.format(old)}
        outcomes = {document: document.known._replace(memory=())}
        self.write(outcomes, "forget memory", "DELETE", "/v4/memories", body)
        self.search(old, document.known.tag)

    def change_content(self):
        document = self.pick("text")
        marker = self.new_marker(document)
        self.change(document, document.known._replace(texts=(marker,)), content=self.new_text(marker))

    def change_metadata(self):
        document = self.pick("text", "file", "conversation")
        marker = self.new_marker(document)
        self.change(document, document.known._replace(mark=marker), metadata={"mark": marker})

    def move(self):
        document = self.pick("text", "file")
        tag = self.tags[document.known.tag == self.tags[0]]
        self.change(document, document.known._replace(tag=tag), containerTag=tag)

    def change(self, document, state, **body):
        self.write({document: state}, "change", "PATCH", f"/v3/documents/{document.id}", body)

    def delete(self, document=None):
        """Deletes a document by its id or customId, and looks for it."""
        document = document or self.pick(where=is_deletable)
        [*_, marker], tag, identifier = document.known.texts, document.known.tag, document.id
        name = self.random.choice([identifier, document.name or identifier])
        self.write({document: None}, "delete", "DELETE", f"/v3/documents/{name}")
        self.check_absent(identifier)
        self.search(marker, tag)

    def delete_several(self):
        documents = {self.pick(where=is_deletable): None for _ in range(4)}
        body = {"ids": [document.id for document in documents]}
        answer = self.write(documents, "delete several", "DELETE", "/v3/documents/bulk", body)
        if answer["deletedCount"] != len(documents):
            self.violate("lost", f"{len(documents)} documents to delete", answer, document=", ".join(body["ids"]))

    def delete_tag(self):
        tag = self.random.choice(self.tags)
        outcomes = {document: None for document in self.live if document.known.tag == tag}
        self.write(outcomes, "delete tag", "DELETE", f"/v3/container-tags/{tag}")

    def merge_tags(self):
        """Merges the second tag into the first, if both have documents."""
        target, source = self.tags
        outcomes = {one: one.known._replace(tag=target) for one in self.live if one.known.tag == source}
        if 0 < len(outcomes) < len(self.live):
            self.merged = time.monotonic()
            body = {"containerTags": [source], "targetContainerTag": target}
            self.write(outcomes, "merge tags", "POST", "/v3/container-tags/merge", body)


def is_deletable(state):
    """Leaves out corrected memories: a correction outlives the document of its memory."""
    return state.memory in (None, (), state.texts)


def read_time(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def run_load(server, clients, minutes, kill_every):
    """Samples, kills and reports until the time is over."""
    figures, begun = server.figures, time.monotonic()
    end, next_line = begun + 60 * minutes, begun + 60
    server.next_kill = begun + kill_every
    while (now := time.monotonic()) < end:
        time.sleep(max(0, min(2, server.next_kill - now, end - now)))
        if server.process.poll() is not None:
            figures.violate("fault", "a server that runs", f"exit code {server.process.returncode}")
            server.kill_and_start()
        figures.samples.append(server.sample())
        if time.monotonic() >= server.next_kill:
            figures.before_kills.append(figures.samples[-1])
            server.kill_and_start()
            server.next_kill += kill_every
        if time.monotonic() >= next_line:
            print_progress(server, clients, (next_line - begun) / 60)
            next_line += 60
    server.next_kill = float("inf")


def print_progress(server, clients, minute):
    figures = server.figures
    memory, files, threads = figures.samples[-1]
    print(
        f"minute {minute:.0f}: {sum(map(len, figures.seconds.values()))} requests, {len(figures.before_kills)} kills, "
        f"{sum(len(client.live) for client in clients)} live documents, {memory:.0f} MB resident, {files} open files, "
        f"{threads} threads, {folder_megabytes(server.data)} MB on disk, {len(figures.violations)} violations",
        flush=True,
    )


def folder_megabytes(folder):
    """Returns the size of a folder whose files may be removed meanwhile."""
    return int(subprocess.run(["du", "-sm", folder], capture_output=True, text=True).stdout.split()[0])


def percentile(values, share):
    return sorted(values)[int(share * (len(values) - 1))] if values else 0


def compare_quarters(figures):
    """Prints how memory, open files and threads grew, and fails if they did."""
    rows = figures.before_kills
    quarter = max(1, len(rows) // 4)
    for place, name in enumerate(["resident MB", "open files", "threads"]):
        first, last = (statistics.mean(row[place] for row in part) for part in (rows[:quarter], rows[-quarter:]))
        most = max(sample[place] for sample in figures.samples)
        print(f"{name}: first quarter {first:.0f}, last quarter {last:.0f}, at most {most:.0f}")
        if name != "threads" and len(rows) >= KILLS_FOR_GROWTH and last > MOST_GROWTH * first:
            figures.violate("growth", f"flat {name}", f"{first:.0f} to {last:.0f}")


def print_figures(server):
    figures = server.figures
    print(f"\n{'request':20}{'count':>9}{'p50 ms':>9}{'p99 ms':>9}")
    for kind, seconds in sorted(figures.seconds.items()):
        low, high = (1000 * percentile(seconds, share) for share in (0.5, 0.99))
        print(f"{kind:20}{len(seconds):9}{low:9.1f}{high:9.1f}")
    print(f"{'all':20}{sum(map(len, figures.seconds.values())):9}")
    print(f"kills: {len(figures.before_kills)}")
    for name, count in sorted(figures.counts.items()):
        print(f"{name}: {count}")
    for name, seconds in ("seconds until done", figures.until_done), ("seconds to start", figures.starts):
        low, high = percentile(seconds, 0.5), max(seconds, default=0)
        print(f"{name}: p50 {low:.2f}, at most {high:.2f}")
    if figures.before_kills:
        compare_quarters(figures)
    print(f"data folder: {folder_megabytes(server.data)} MB")
    with open(server.log.name) as log:
        print(f"lines in the server's log: {sum(1 for _ in log)}")
    kinds = Counter(kind for kind, *_ in figures.violations)
    others = sum(kinds.values()) - kinds["lost"] - kinds["resurrected"]
    print(f"lost: {kinds['lost']}, resurrected: {kinds['resurrected']}, other violations: {others}")


def run(args, data, figures):
    """Runs the clients against a server, and then checks everything."""
    server = Server(args.program, data, figures)
    server.start()
    try:
        interval = args.clients / args.rate
        clients = [Client(number, server, figures, interval) for number in range(args.clients)]
        for client in clients:
            client.start()
        run_load(server, clients, args.minutes, args.kill_every)
        for client in clients:
            client.over.set()
        for client in clients:
            client.join()
        server.stop()
        server.check()
    finally:
        server.process.kill()
        server.process.wait()
    print_figures(server)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--kill-every", type=float, default=60, help="seconds")
    parser.add_argument("--rate", type=float, default=RATE, help="operations a second of all clients")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--data", help="the data folder, which is kept; a temporary one when left out")
    args = parser.parse_args()

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    temporary = None if args.data else tempfile.mkdtemp(prefix="recollect-soak-")
    data, figures = args.data or os.path.join(temporary, "data"), Figures(args.seed)
    print(f"seed {args.seed}, data folder {data}, log {data}.log", flush=True)
    run(args, data, figures)
    if figures.violations:
        print(f"\n{len(figures.violations)} broken promises; the later ones of a client may follow from its first:")
        print("\n".join(figures.violations.values()))
        print(f"The data folder {data} and {data}.log are kept.")
        sys.exit(1)
    if temporary:
        shutil.rmtree(temporary)


if __name__ == "__main__":
    main()
