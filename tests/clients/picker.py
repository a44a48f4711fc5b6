"""Connects the demo's drive in a real browser, as a person does, and checks what a person relies on.

Usage: picker.py --link LINK --chromium PATH --shots FOLDER
"""

import argparse
import json
import re
import tempfile
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import expect, sync_playwright

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def post(base, path, body):
    headers = {"authorization": "Bearer local", "content-type": "application/json"}
    request = urllib.request.Request(base + path, json.dumps(body).encode(), headers, method="POST")
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def consent(page, link, shot):
    page.goto(link)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_text("demo", exact=True)).to_be_visible()
    shot("1-who-asks")
    page.get_by_role("link", name="Continue").click()
    shot("2-provider")
    page.get_by_role("button", name="Allow").click()
    page.wait_for_url("**/picker")


def row(page, name):
    """The tick box of an item, by its name."""
    return page.locator("#list").get_by_role("checkbox", name=re.compile(rf"^\s*{re.escape(name)}"))


def select(page, shot):
    expect(page.get_by_role("heading", name="Choose what to sync")).to_be_visible()
    expect(row(page, "Harbour Bikes")).to_be_visible()
    shot("3-picker")
    expect(page.get_by_role("button", name="Save and sync")).to_be_disabled()
    row(page, "Harbour Bikes").check()
    expect(page.locator("#count")).to_have_text("1")
    # The selection is kept from view to view.
    page.get_by_role("button", name="Shared drives").click()
    expect(page.locator("#list li").first).to_be_visible()
    shot("4-shared-drives")
    page.get_by_role("button", name="Shared with me").click()
    expect(page.locator("#list li").first).to_be_visible()
    expect(page.locator("#count")).to_have_text("1")
    page.get_by_role("button", name="My drive").click()
    expect(row(page, "Harbour Bikes")).to_be_checked()
    # Search, by the keyboard alone.
    page.get_by_role("searchbox").focus()
    page.keyboard.type("rental")
    page.keyboard.press("Enter")
    expect(page.locator("#list li").first).to_be_visible()
    shot("5-search")
    page.get_by_role("button", name="My drive").click()
    expect(row(page, "Harbour Bikes")).to_be_visible()


def keyboard(page):
    """Everything can be reached and worked by the keyboard."""
    row(page, "Harbour Bikes").focus()
    page.keyboard.press("Space")
    expect(page.locator("#count")).to_have_text("0")
    page.keyboard.press("Space")
    expect(page.locator("#count")).to_have_text("1")
    names = set()
    page.locator("body").focus()
    for _ in range(60):
        page.keyboard.press("Tab")
        names.add(page.evaluate("document.activeElement && (document.activeElement.id || document.activeElement.dataset.view || '')"))
    for wanted in ("save", "cancel", "query", "my", "drives", "shared"):
        assert wanted in names, f"{wanted} cannot be reached by the Tab key: {sorted(names)}"


def check_page(page, context, failures):
    """What a stranger must not get, and what a screen reader needs."""
    for box in page.locator("#list input[type=checkbox]").all():
        assert box.evaluate("box => Boolean(box.labels.length)"), "a tick box without a label"
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.locator("[aria-live=polite]").count() >= 1
    assert page.evaluate("document.cookie") == "", "scripts can read a cookie"
    tokens = page.evaluate("document.documentElement.outerHTML + JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)])")
    assert "ya29" not in tokens, "the provider's token is in the page"
    kept = {cookie["name"]: cookie for cookie in context.cookies()}
    assert all(cookie["httpOnly"] and cookie["sameSite"] == "Lax" for cookie in kept.values()), kept
    assert not failures, failures


def session_ends(page, context, failures):
    """What was selected outlives a session, and whoever works by the keyboard is told where they are."""
    cookies = context.cookies()
    context.clear_cookies()
    page.get_by_role("button", name="Save and sync").click()
    expect(page.locator("#problem")).to_contain_text("Your session has ended")
    assert page.evaluate("document.activeElement.id") == "save", "the focus is lost"
    context.add_cookies(cookies)
    page.reload()
    expect(row(page, "Harbour Bikes")).to_be_checked()
    expect(page.locator("#count")).to_have_text("1")
    told = [failure for failure in failures if "401" not in failure]
    assert not told, told


def wait_for_documents(base):
    body = {"containerTags": ["demo"], "source": "cloud-drive", "limit": 200}
    for _ in range(120):
        documents = post(base, "/v3/documents/list", body)["memories"]
        if documents and all(document["status"] == "done" for document in documents):
            return documents
        time.sleep(0.5)
    raise AssertionError(f"the documents are not done: {documents}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--link", required=True)
    parser.add_argument("--chromium", required=True)
    parser.add_argument("--shots", type=Path, required=True)
    options = parser.parse_args()
    parts = urlsplit(options.link)
    base = f"{parts.scheme}://{parts.netloc}"
    failures = []
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as profile:
        context = driver.chromium.launch_persistent_context(
            profile, executable_path=options.chromium, args=FLAGS, viewport={"width": 1100, "height": 760}
        )
        page = context.pages[0]
        page.set_default_timeout(20_000)
        # A breach of the content security policy is told here.
        def note(line):
            # The drive's own pages have no icon.
            if line.type == "error" and not line.location.get("url", "").endswith("/favicon.ico"):
                failures.append(f"{line.text} {line.location.get('url')}")

        page.on("console", note)
        page.on("pageerror", lambda error: failures.append(str(error)))

        def shot(name):
            page.screenshot(path=options.shots / f"{name}.png")

        consent(page, options.link, shot)
        select(page, shot)
        keyboard(page)
        check_page(page, context, failures)
        session_ends(page, context, failures)
        page.set_viewport_size({"width": 380, "height": 740})
        shot("6-narrow")
        page.emulate_media(color_scheme="dark")
        shot("7-dark")
        page.set_viewport_size({"width": 1100, "height": 760})
        page.emulate_media(color_scheme="light")
        page.get_by_role("button", name="Save and sync").click()
        expect(page.get_by_role("button", name="Save and sync")).to_be_hidden()
        shot("8-done")
        assert page.evaluate("sessionStorage.length") == 0, "what was selected is kept after it was saved"
        context.close()
    documents = wait_for_documents(base)
    kinds = {document["type"] for document in documents}
    assert {"cloud_doc", "cloud_sheet"} <= kinds, kinds
    print(f"{len(documents)} documents of the kinds {', '.join(sorted(kinds))}")


if __name__ == "__main__":
    main()
