"""Runs the unmodified command line of the npm package `supermemory` against a running Recollect.

Every command that talks to the service runs in both forms of its output: as JSON, and on a terminal as a person sees it.
There, nothing may be missing (`undefined`, `null`, `NaN`, `Invalid Date`). Ends with a status other than 0 at the first
step that is not as expected.
"""

import argparse
import json
import os
import pty
import re
import subprocess
import time
import uuid

MISSING = re.compile(r"\b(undefined|NaN|null|Invalid Date|\[object Object\])\b")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
TEXT = "User: I live in Oslo and work as a carpenter.\nAssistant: Noted."


class CommandLine:
    """The command line of the client, with its environment."""

    def __init__(self, args):
        self.program = [args.node, os.path.join(args.package, "bin", "cli")]
        self.environment = os.environ | {
            "SUPERMEMORY_API_KEY": args.key,
            "SUPERMEMORY_API_URL": args.url,
            "HOME": args.home,
        }
        self.count = 0

    def json(self, *arguments, stdin=""):
        """Runs a command and returns its answer, which is JSON."""
        command = [*self.program, *arguments, "--json"]
        result = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=60, env=self.environment
        )
        assert result.returncode == 0, f"{arguments}: {result.stdout}{result.stderr}"
        self.count += 1
        return json.loads(result.stdout)

    def shown(self, *arguments):
        """Runs a command on a terminal and returns what it shows, without colours."""
        terminal, side = pty.openpty()
        environment = self.environment | {"COLUMNS": "200"}
        command = [*self.program, *arguments]
        process = subprocess.Popen(command, stdin=side, stdout=side, stderr=side, env=environment)
        os.close(side)
        output = read_all(terminal)
        status = process.wait(timeout=60)
        text = ESCAPES.sub("", output.decode())
        assert status == 0, f"{arguments}: {text}"
        missing = MISSING.search(text)
        assert missing is None, f"{arguments} shows {missing[0]}: {text}"
        self.count += 1
        return text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--node", required=True, help="the program node")
    parser.add_argument("--package", required=True, help="the folder of the package")
    parser.add_argument("--home", required=True, help="a folder for the settings of the command line")
    client = CommandLine(parser.parse_args())

    tag = f"cli-{uuid.uuid4().hex[:10]}"
    check_session(client)
    document = check_content(client, tag)
    check_documents(client, tag, document)
    check_memories(client, tag)
    check_tags(client, tag)
    check_keys(client)
    check_overview(client, tag)
    delete_all(client, tag, document)
    print(f"{client.count} commands ran as expected")


def check_session(client):
    assert client.json("whoami")
    assert client.shown("whoami").strip()
    print("whoami: the key is accepted")


def check_content(client, tag):
    added = client.json("add", TEXT, "--tag", tag, "--id", f"{tag}-chat", "--metadata", '{"source": "cli"}')
    wait_until_done(client, added["id"])
    shown = client.shown("add", "The ferry leaves at eight.", "--tag", tag)
    assert shown.strip()
    batch = json.dumps([{"content": "The ferry comes back at five."}])
    assert client.json("add", "--stdin", "--tag", tag, stdin="Bread needs flour.")["id"]
    assert client.json("add", "--batch", "--tag", tag, stdin=batch)
    print("add: text, standard input and a batch are accepted")
    return added["id"]


def check_documents(client, tag, document):
    documents = wait_for_documents(client, tag, 4)
    assert all(listed["containerTag"] == tag for listed in documents), documents
    assert tag in client.shown("docs", "list", "--tag", tag)

    one = client.json("docs", "get", document)
    assert (one["content"], one["containerTag"]) == (TEXT, tag), one
    assert document in client.shown("docs", "get", document)
    assert client.json("docs", "status", document)["status"] == "done"
    assert "done" in client.shown("docs", "status", document)
    assert client.json("docs", "chunks", document)["chunks"]
    assert "Oslo" in client.shown("docs", "chunks", document)
    print("docs: listed, read, and their chunks and status")


def check_memories(client, tag):
    found = client.json("search", "where does the user live", "--tag", tag)
    assert "Oslo" in found["results"][0]["memory"], found
    for mode in ("memories", "hybrid", "documents"):
        assert "Oslo" in client.shown("search", "who lives in Oslo", "--tag", tag, "--mode", mode, "--threshold", "0")
    extra = ["--rerank", "--rewrite", "--include", "documents,summaries,relatedMemories,forgottenMemories"]
    assert "Oslo" in client.shown("search", "where does the user live", "--tag", tag, *extra)
    filtered = client.json("search", "Oslo", "--tag", tag, "--filter", '{"AND": [{"key": "source", "value": "cli"}]}')
    assert filtered["results"], filtered

    remembered = client.json("remember", "I play the cello.", "--tag", tag, "--static")
    memory = first_memory(remembered)
    assert client.shown("remember", "I keep three beehives.", "--tag", tag).strip()
    updated = client.json("update", memory, "I play the viola.", "--tag", tag, "--reason", "corrected")
    assert client.shown("profile", "--tag", tag).count("viola") == 1
    profile = client.json("profile", "--tag", tag, "--query", "instrument")
    assert any("viola" in line for line in profile["profile"]["static"]), profile
    assert client.json("forget", updated.get("id", memory), "--tag", tag, "--reason", "test")
    assert client.shown("forget", "--tag", tag, "--content", "I keep three beehives.").strip()
    print("search, remember, update, profile and forget")


def check_tags(client, tag):
    listed = next(one for one in client.json("tags", "list") if one["containerTag"] == tag)
    documents, memories = listed["documentCount"], listed["memoryCount"]
    assert documents > 0 and memories > 0, listed
    assert tag in client.shown("tags", "list")
    info = client.shown("tags", "info", tag)
    assert re.search(rf"Documents:\s+{documents}\b", info) and re.search(rf"Memories:\s+{memories}\b", info), info
    assert client.json("tags", "context", tag, "--set", "Notes of a carpenter.")
    assert "Notes of a carpenter." in client.shown("tags", "context", tag)
    assert client.json("tags", "context", tag, "--clear")

    assert client.json("tags", "create", f"{tag}-other")
    assert client.json("tags", "info", f"{tag}-other")["documentCount"] == 0
    assert client.json("tags", "merge", f"{tag}-other", "--into", tag)
    wait_until(lambda: all("mergeStatus" not in one for one in client.json("tags", "list")), "a merge")
    print("tags: counts, context, created and merged")


def check_keys(client):
    created = client.json("keys", "create", "--name", "of the test", "--permission", "read", "--expires", "1")
    listed = next(one for one in client.json("keys", "list")["keys"] if one["id"] == created["id"])
    assert created["key"].startswith(listed["key"]), listed
    assert "of the test" in client.shown("keys", "list")
    assert client.json("keys", "toggle", created["id"])
    assert client.shown("keys", "revoke", created["id"], "--yes").strip()
    assert all(one["id"] != created["id"] for one in client.json("keys", "list")["keys"])
    print("keys: created, listed, toggled and revoked")


def check_overview(client, tag):
    assert client.json("status", "--period", "24h")
    assert client.shown("status").strip()
    assert client.json("logs", "list")
    assert client.shown("logs", "list").strip()
    assert client.json("connectors", "list") is not None
    assert client.shown("connectors", "list").strip()
    print("status, logs and connectors")


def delete_all(client, tag, document):
    assert client.json("docs", "delete", document, "--yes") is not None
    assert client.shown("tags", "delete", tag, "--yes").strip()
    print("the document and the container tag are deleted")


def read_all(terminal):
    """Returns what a process writes to a terminal until it ends."""
    output = bytearray()
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # Linux reports the end of the process so.
            data = b""
        if not data:
            os.close(terminal)
            return output
        output.extend(data)


def first_memory(answer):
    return (answer.get("memories") or [answer])[0]["id"]


def wait_until_done(client, document):
    wait_until(lambda: client.json("docs", "status", document)["status"] == "done", "a document")


def wait_for_documents(client, tag, count):
    def documents():
        listed = client.json("docs", "list", "--tag", tag)["documents"]
        return len(listed) == count and all(one["status"] == "done" for one in listed) and listed

    return wait_until(documents, "the list of documents")


def wait_until(condition, what):
    # A merge alone takes half a minute: it waits for requests that began before it.
    deadline = time.monotonic() + 90
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what}: not within 90 seconds"
        time.sleep(0.1)
    return value


def read_all(terminal):
    """Returns what a process writes to a terminal until it ends."""
    output = bytearray()
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # Linux reports the end of the process so.
            data = b""
        if not data:
            os.close(terminal)
            return output
        output.extend(data)


def first_memory(answer):
    return (answer.get("memories") or [answer])[0]["id"]


if __name__ == "__main__":
    main()
