"""Runs the unmodified PyPI package `supermemory-bash` against a running Recollect.

Every command of its shell runs, and every method of the volume below it. A second session over the
same container, with an empty cache, shows what was really stored.
"""

import re
import time

from supermemory_bash import TOOL_DESCRIPTION, FsError, create_bash

from common import assert_each_once, run_steps, the_only

POEM = "The lighthouse keeper oils the brass lamp of Skerry Point on every second Tuesday."
NO_CACHE = {"eager_load": False, "cache_ttl_ms": 0}


async def check_files(run):
    """Files are written, read, appended to and changed, byte for byte."""
    tag = run.tag("bash-files")
    shell = await Session.start(run, tag)
    await shell.prints("", f"echo '{POEM}' > /notes/lamp.md")
    await shell.prints("", "echo two >> /notes/lamp.md")
    await shell.prints(f"{POEM}\ntwo\n", "cat /notes/lamp.md")
    await shell.prints("", "printf 'b 2\\na 1\\na 1\\n' > /notes/list.txt")
    await shell.prints("one\n", "echo one | tee /notes/tee.txt")
    await shell.prints("two\n", "echo two | tee -a /notes/tee.txt")
    await shell.prints("", "sed -i s/brass/silver/ /notes/lamp.md")
    await shell.prints("", "cp /notes/list.txt /notes/copy.txt")
    await shell.prints("", "mv /notes/tee.txt /notes/moved.txt")
    expected = {
        "/notes/lamp.md": f"{POEM.replace('brass', 'silver')}\ntwo\n",
        "/notes/list.txt": "b 2\na 1\na 1\n",
        "/notes/copy.txt": "b 2\na 1\na 1\n",
        "/notes/moved.txt": "one\ntwo\n",
    }
    documents = run.stored.documents(tag, 4)
    assert {one["filepath"]: one["content"] for one in documents} == expected, documents
    for options in ({}, {"eager_content": False}, {"cache_ttl_ms": None}, NO_CACHE):
        other = await Session.start(run, tag, **options)
        for path, text in expected.items():
            await other.prints(text, f"cat {path}")


async def check_text(run):
    """The commands that read a file, and those that only use text."""
    shell = await Session.start(run, run.tag("bash-text"), cwd="/home", env={"NAME": "Ada"})
    await shell.prints("", "printf 'b 2\\na 1\\na 1\\n' > list.txt")
    for output, command in (
        ("/home\n", "pwd"),
        ("Hello Ada\n", 'echo "Hello $NAME"'),
        ("b 2\n", "cat list.txt | head -n 1"),
        ("a 1\n\n", "tail -n 2 list.txt"),
        ("  3  6  12 list.txt\n", "wc list.txt"),
        ("a 1\nb 2\n", "sort -u list.txt"),
        ("  1 b 2\n  2 a 1\n", "cat list.txt | uniq -c"),
        ("2:a 1\n3:a 1\n", "grep -n a list.txt"),
        ("b\na\na\n", "cat list.txt | cut -d ' ' -f 1"),
        ("B 2\nA 1\nA 1\n", "cat list.txt | tr ab AB"),
        ("x 2\na 1\na 1\n", "cat list.txt | sed s/b/x/"),
        ("  File: list.txt\n  Size: 12\tregular file\nAccess: (0644)\n", "stat list.txt"),
        ("list\n", "basename /house/list.txt .txt"),
        ("/house\n", "dirname /house/list.txt"),
        ("1\n2\n3\n", "seq 3"),
        ("yes\n", "[ -f list.txt ] && echo yes"),
        ("yes\n", "test -d /home && echo yes"),
        ("no\n", "false || echo no"),
        ("yes\n", "true && echo yes"),
        ("/\n", "cd / && pwd"),
    ):
        await shell.prints(output, command)
    assert re.match(r"\w{3} \w{3} \d\d .* UTC \d{4}\n", await shell.output("date"))


async def check_folders(run):
    """Folders are made, listed, searched, moved, copied and removed."""
    tag = run.tag("bash-folders")
    shell = await Session.start(run, tag)
    await shell.prints("", "mkdir -p /desk/plans/empty && mkdir /play")
    await shell.prints("", f"echo '{POEM}' > /desk/plans/lamp.md && echo tea > /desk/tea.md")
    await shell.prints("plans\ntea.md\n", "ls /desk")
    await shell.prints("empty\nlamp.md\n", "ls /desk/plans")
    await shell.prints("desk\nplay\nprofile.md\n", "ls /")
    assert "-rw-r--r--  1 user user        0  tea.md\n" in await shell.output("ls -l /desk")
    files = (await shell.output("find /desk -type f")).split()
    assert sorted(files) == ["/desk", "/desk/plans/lamp.md", "/desk/tea.md"], files
    await shell.prints("/desk/tea.md:tea\n", "grep -r tea /desk")
    await shell.prints("", "mv /desk /done && cp -r /done /copy && rmdir /play")
    expected = ["/copy/plans/lamp.md", "/copy/tea.md", "/done/plans/lamp.md", "/done/tea.md"]
    assert sorted(one["filepath"] for one in run.stored.documents(tag, 4)) == expected
    await shell.fails("not empty", "rmdir /copy")
    await shell.prints("", "rm /copy/tea.md && rm -r /copy")
    assert sorted(one["filepath"] for one in run.stored.documents(tag, 2)) == expected[2:]
    other = await Session.start(run, tag)
    await other.prints("done\nprofile.md\n", "ls /")
    await other.prints("", "rm -rf /")
    run.stored.documents(tag, 0)


async def check_search(run):
    """`sgrep` finds by meaning, in a folder and in a file, and `/profile.md` shows the memories."""
    tag = run.tag("bash-search")
    shell = await Session.start(run, tag)
    assert shell.made.tool_description == TOOL_DESCRIPTION
    assert "no memories" in await shell.output("cat /profile.md")
    await shell.prints("", f"echo '{POEM}' > /notes/lamp.md")
    await shell.prints("", "echo 'My sister Clara lives in Porto.' > /people/clara.md")
    run.stored.documents(tag, 2)
    query = "'When is the lamp of the lighthouse oiled?'"
    for path in ("", "/notes/", "/notes/lamp.md"):
        output = await shell.output(f"sgrep {query} {path}")
        assert output.startswith("/notes/lamp.md:") and POEM in output, output
        assert not path or "/people/" not in output, output
    await shell.prints("", f"sgrep -p /people/ {query}")
    found = await shell.volume.search("Where does Clara live?", filepath="/people/")
    assert found.results and all(one.filepath == "/people/clara.md" for one in found.results), found
    assert "Porto" in the_only([one.memory for one in found.results if one.memory], "Clara")
    other = await Session.start(run, tag)
    profile = await other.output("cat /profile.md")
    assert "## Core Knowledge\n" in profile and "Clara lives in Porto" in profile, profile

    await shell.made.configure_memory_paths(["/diary/"])
    await shell.prints("", "echo 'I live in Lisbon.' > /diary/me.md")
    await shell.prints("", "echo 'I have a dog named Bruno.' > /drafts/dog.md")
    run.stored.documents(tag, 4)
    memories = run.stored.memories(tag)
    assert_each_once(memories, "Clara", "Lisbon")
    assert not any("Bruno" in one for one in memories), memories
    assert "Bruno" in await shell.output("sgrep 'dog named Bruno' /drafts/")


async def check_volume(run):
    """The volume, without the shell: more files than a page of a list has, and missing ones."""
    tag = run.tag("bash-volume")
    notes = [
        {"content": f"Lock {n} opens at {n} o'clock.", "filepath": f"/locks/{n:03}.md"}
        for n in range(120)
    ]
    batch = {"documents": notes, "containerTag": tag, "taskType": "superrag"}
    run.stored.post("/v3/documents/batch", batch)
    shell = await Session.start(run, tag, eager_load=False)
    volume = shell.volume
    paths = [note["filepath"] for note in notes]
    assert await volume.list_all_paths() == paths == volume.cached_all_paths()
    listed = await volume.list_by_prefix("/locks/", with_content=True)
    contents = {one.filepath: one.content for one in listed}
    assert contents == {note["filepath"]: note["content"] for note in notes}
    assert len(await volume.list_by_prefix("/locks/", limit=7)) == 7
    [one] = await volume.list_by_prefix("/locks/007.md", exact=True)
    assert abs(time.time() - one.mtime) < 60, one

    document, _ = await volume.add_doc("/one.md", "one")
    assert await volume.update_doc("/one.md", "two") == (document, "processing")
    other = (await Session.start(run, tag, **NO_CACHE)).volume
    assert (await other.get_doc("/one.md")).content == "two"
    stat = await other.stat_doc("/one.md")
    assert (stat.id, stat.is_file, stat.size) == (document, True, 3), stat
    assert await other.get_doc("/none.md") is None and await other.stat_doc("/none.md") is None
    await other.move_doc("/one.md", "/three.md")
    assert (await volume.get_doc("/three.md")).id == document
    await refused("EEXIST", other.move_doc("/locks/001.md", "/three.md"))
    await refused("ENOENT", other.update_doc("/none.md", "text"))
    moved = await other.move_tree("/locks/", "/gates/")
    assert (moved.deleted, moved.errors) == (120, []), moved
    await other.remove_doc("/three.md")
    await other.remove_doc("/none.md")
    removed = await other.remove_by_prefix("/gates/")
    assert (removed.deleted, removed.errors) == (120, []), removed
    assert run.stored.listed(tag) == []


async def check_failed_file(run):
    """A file that cannot be processed shows the reason in place of its content."""
    tag = run.tag("bash-failed")
    shell = await Session.start(run, tag)
    await shell.prints("", "echo -n http://127.0.0.1:1/page > /page.md")
    run.stored.documents(tag, 1, status="failed")
    other = await Session.start(run, tag, **NO_CACHE)
    output = await other.output("cat /page.md")
    assert output.startswith("[supermemory.error: processing-failed]"), output
    assert "Reason: Only" in output, output


async def check_errors(run):
    """An impossible command fails with the right error, and a failed request is repeated."""
    tag = run.tag("bash-errors")
    shell = await Session.start(run, tag)
    await shell.prints("", "echo one > /file.md")
    for error, command in (
        ("No such file", "cat /none.md"),
        ("command not found", "vim /file.md"),
        ("not supported", "echo $(pwd)"),
        ("EPERM", "echo one > /profile.md"),
        ("EINVAL", "echo one > /no-extension"),
        ("ENOTDIR", "echo one > /file.md/inner.md"),
        ("ENOENT", "mv /none.md /other.md"),
    ):
        await shell.fails(error, command)
    run.recorder.fail("/v3/documents", 500, times=4)
    await shell.prints("", "echo two > /other.md")
    stored = {one["filepath"] for one in run.stored.documents(tag, 2)}
    assert stored == {"/file.md", "/other.md"}, stored
    stranger = await Session.start(run, tag, api_key="no_such_key", eager_load=False)
    await stranger.fails("401", "cat /file.md")
    missing = set(shell.bash._builtins) - Session.names - {"touch"}
    assert not missing, f"commands that no step runs: {missing}"


async def check_touch(run):
    """`touch` makes a file of one space, and a file can be emptied."""
    tag = run.tag("bash-touch")
    shell = await Session.start(run, tag)
    await shell.prints("", "touch /new.md")
    assert run.stored.document(tag)["content"] == " "
    other = await Session.start(run, tag, **NO_CACHE)
    await other.prints("new.md\nprofile.md\n", "ls /")
    await other.prints(" ", "cat /new.md")
    await shell.prints("", "echo 'I live in Lisbon.' > /new.md")
    assert run.stored.document(tag)["content"] == "I live in Lisbon.\n"
    await shell.prints("", "printf '' | tee /new.md")
    assert run.stored.document(tag)["content"] == ""
    await other.prints("", "cat /new.md")


class Session:
    """A shell over a container."""

    names = set()  # of the commands that any session ran

    def __init__(self, made):
        self.made, self.bash, self.volume = made, made.bash, made.volume

    @classmethod
    async def start(cls, run, tag, api_key=None, **options):
        return cls(await create_bash(api_key or run.key, tag, base_url=run.url, **options))

    async def execute(self, command):
        Session.names.update(part.split()[0] for part in re.split(r"&&|\|\|?", command))
        return await self.bash.exec(command)

    async def output(self, command):
        result = await self.execute(command)
        assert (result.exit_code, result.stderr) == (0, ""), f"{command}: {result}"
        return result.stdout

    async def prints(self, expected, command):
        output = await self.output(command)
        assert output == expected, f"{command} prints {output!r}, not {expected!r}"

    async def fails(self, error, command):
        result = await self.execute(command)
        assert result.exit_code and error in result.stderr, f"{command}: {result}"


async def refused(code, call):
    try:
        await call
    except FsError as error:
        assert error.code == code, error
    else:
        raise AssertionError(f"{code} was expected")


STEPS = [
    check_files,
    check_text,
    check_folders,
    check_search,
    check_volume,
    check_failed_file,
    check_errors,
    check_touch,
]

if __name__ == "__main__":
    run_steps(__doc__, STEPS)
