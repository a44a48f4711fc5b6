"""A plugin for pytest that runs the test suite of the Python SDK against a running Recollect.

The suite sends one request for each method, with sample values, and compares the type of the
answer. Its authors skip these tests where no server is. The plugin runs them, with a key of the
server at hand, and stores the document that the samples name. Tests whose samples no server can
satisfy are listed in `unsatisfiable.txt`, with the reason; one of them that passes is an error.
"""

import os
import pathlib
import sys

import httpx
import pytest

LIST = pathlib.Path(__file__).with_name("unsatisfiable.txt")
SKIPPED = "Mock server tests are disabled"
SAMPLE_ID = "id"
# The customId that a test gives to the sample document.
NEW_SAMPLE_ID = "doc-api-rate-limits"


def read_list():
    """The listed tests with their reasons: groups of names under a line that says why."""
    reasons, reason = {}, None
    for line in LIST.read_text().splitlines():
        if line.startswith("  "):
            reasons[line.strip()] = reason
        elif line.strip():
            reason = line.strip()
    return reasons


def pytest_collection_modifyitems(items):
    reasons, found = read_list(), set()
    for item in items:
        item.own_markers = [one for one in item.own_markers if one.kwargs.get("reason") != SKIPPED]
        name = f"{item.path.stem}.{item.originalname}"
        if name in reasons:
            found.add(name)
            item.add_marker(pytest.mark.xfail(reason=reasons[name], strict=True))
    unknown = reasons.keys() - found
    assert not unknown, f"{LIST.name} lists tests that the suite does not have: {sorted(unknown)}"

    conftest = next(module for name, module in sys.modules.items() if name.endswith("conftest"))
    conftest.api_key = os.environ["SDK_SUITE_KEY"]


@pytest.fixture(autouse=True)
def sample_document():
    """Stores the document that the samples name, because tests delete and rename it."""
    headers = {"authorization": f"Bearer {os.environ['SDK_SUITE_KEY']}"}
    url = f"{os.environ['TEST_API_BASE_URL']}/v3/documents"
    httpx.delete(f"{url}/{NEW_SAMPLE_ID}", headers=headers)
    body = {"content": "A sample.", "customId": SAMPLE_ID}
    httpx.post(url, json=body, headers=headers).raise_for_status()
