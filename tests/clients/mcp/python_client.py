"""Drives the server with the unmodified Python SDK of the Model Context Protocol, over HTTP and over standard streams."""

import argparse
import asyncio
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client

TOOLS = ["search", "add", "forget", "list_documents", "list_memories", "get_document", "list_containers", "whoami"]


def check(holds, what):
    if not holds:
        sys.exit(f"not as expected: {what}")


async def call(client, tool, arguments):
    result = await client.call_tool(tool, arguments)
    check(not result.is_error, f"{tool}: {result.content}")
    check(result.content[0].text, f"{tool} answers with text")
    return result.structured_content


async def use_everything(client, container):
    check("`search`" in client.instructions, "the instructions say when to search")
    tools = (await client.list_tools()).tools
    check([tool.name for tool in tools] == TOOLS, f"the tools are {[tool.name for tool in tools]}")

    content = f"I prefer green tea in the morning, says {container}."
    added = await call(client, "add", {"content": content, "container": container, "wait": True})
    check(added["status"] == "done", f"the content is processed: {added}")
    document = await call(client, "get_document", {"id": added["documentId"]})
    check(document["text"] == content, f"the text is that which was added: {document}")

    question = {"query": "Which tea do I prefer?", "container": container}
    found = await call(client, "search", question)
    memories = [result for result in found["results"] if result["kind"] == "memory"]
    check(memories and "green tea" in memories[0]["text"], f"the memory is found: {found}")

    profile = await client.get_prompt("profile", {"container": container})
    check("green tea" in profile.messages[0].content.text, f"the prompt has the memory: {profile}")
    resource = await client.read_resource(f"recollect://containers/{container}/profile")
    check("green tea" in resource.contents[0].text, f"the resource has the memory: {resource}")

    await call(client, "forget", {"id": memories[0]["id"], "container": container})
    found = await call(client, "search", question | {"mode": "memories"})
    check(not any(result["id"] == memories[0]["id"] for result in found["results"]), f"it is forgotten: {found}")

    wrong = await client.call_tool("search", {"query": "tea", "containerTag": container})
    check(wrong.is_error and "container" in wrong.content[0].text, f"a wrong argument is refused: {wrong}")


async def main():
    parser = argparse.ArgumentParser()
    for name in ["url", "key", "recollect", "data"]:
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()

    headers = {"Authorization": f"Bearer {options.key}"}
    environment = {"PATH": os.environ["PATH"], "RECOLLECT_KEY": options.key}
    in_process = StdioServerParameters(command=options.recollect, args=["mcp", "--data", options.data], env=environment)
    of_server = StdioServerParameters(command=options.recollect, args=["mcp", "--url", options.url], env=environment)
    # The handshake of the protocol until 2025, and the one since.
    for mode in ["legacy", "auto"]:
        async with create_mcp_http_client(headers) as http_client:
            transport = streamable_http_client(f"{options.url}/mcp", http_client=http_client)
            async with Client(transport, mode=mode) as client:
                print(f"python over HTTP, {client.protocol_version}")
                await use_everything(client, f"python-http-{mode}")
        for name, server in [("process", in_process), ("server", of_server)]:
            async with Client(server, mode=mode) as client:
                print(f"python over standard streams, {name}, {client.protocol_version}")
                await use_everything(client, f"python-{name}-{mode}")


asyncio.run(main())
