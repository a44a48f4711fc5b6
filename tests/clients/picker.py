"""Connects the demo's drive in a real browser, as a person does, and checks what a person relies on.

Usage: picker.py --link LINK --chromium PATH --shots FOLDER [--axe FILE]
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


def consent(page, link, shot, axe):
    """Refuses access first: the page that says so leads back to the question."""
    page.goto(link)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_text("demo", exact=True)).to_be_visible()
    shot("1-who-asks")
    check_access(page, axe)
    page.get_by_role("link", name="Continue").click()
    shot("2-provider")
    page.get_by_role("button", name=re.compile("Deny|Cancel")).click()
    expect(page.get_by_role("heading", name="Not connected")).to_be_visible()
    shot("2-refused")
    check_access(page, axe)
    page.get_by_role("link", name="Try again").click()
    page.get_by_role("link", name="Continue").click()
    page.get_by_role("button", name="Allow").click()
    page.wait_for_url("**/picker")


def row(page, name):
    """The tick box of an item, by its name."""
    return page.locator("#list").get_by_role("checkbox", name=re.compile(rf"^\s*{re.escape(name)}"))


def line(page, name):
    """The row of an item, by its name."""
    return page.locator("#list li").filter(has=page.locator(".name", has_text=re.compile(rf"^{re.escape(name)}$")))


def expect_place(page, name):
    expect(page.locator("#here")).to_have_text(name)
    expect(page.locator("#list")).to_have_attribute("aria-busy", "false")


def expect_part(box, wanted):
    """The third state: something inside is selected."""
    expect(box).to_have_js_property("indeterminate", wanted)


def select(page, shot):
    expect(page.get_by_role("heading", name="Choose what to sync")).to_be_visible()
    expect(page.locator("#provider")).to_have_text("Google Drive")
    expect(row(page, "Harbour Bikes")).to_be_visible()
    shot("3-picker")
    expect(page.get_by_role("button", name="Save and sync")).to_be_disabled()
    # Only the box ticks.
    line(page, "Harbour Bikes").locator(".name").click()
    expect(page.locator("#count")).to_have_text("0")
    row(page, "Harbour Bikes").check()
    expect(page.locator("#count")).to_have_text("1")
    expect(page.locator("#sum")).to_have_text("1 folder selected")
    # The selection is kept from view to view, and the buttons of the views stay where they are.
    places = [button.bounding_box() for button in page.locator("[data-view]").all()]
    page.get_by_role("button", name="Shared drives").click()
    expect(row(page, "Workshop")).to_be_visible()
    shot("4-shared-drives")
    assert places == [button.bounding_box() for button in page.locator("[data-view]").all()], "the views jump"
    page.get_by_role("button", name="Shared with me").click()
    expect(row(page, "Guided tours")).to_be_visible()
    expect(page.locator("#count")).to_have_text("1")
    page.get_by_role("button", name="My drive").click()
    expect(row(page, "Harbour Bikes")).to_be_checked()
    row(page, "Harbour Bikes").uncheck()


def folders(page, shot):
    """A double click and Enter open, Back goes up, and a folder shows that something in it is selected."""
    line(page, "Harbour Bikes").locator(".name").dblclick()
    expect_place(page, "Harbour Bikes")
    row(page, "Rentals").focus()
    page.keyboard.press("Enter")
    expect_place(page, "Rentals")
    first = page.locator("#list input").first
    first.check()
    expect(page.locator("#sum")).to_contain_text("1 file")
    expect_part(page.locator("#all"), True)
    shot("5-folder")
    page.go_back()
    expect_place(page, "Harbour Bikes")
    expect_part(row(page, "Rentals"), True)
    expect_part(row(page, "Suppliers"), False)
    assert row(page, "Rentals").evaluate("box => box === document.activeElement"), "Back does not find the row"
    page.go_back()
    expect_place(page, "My drive")
    expect_part(row(page, "Harbour Bikes"), True)
    shot("5-third-state")
    page.go_forward()
    expect_place(page, "Harbour Bikes")
    # The same after the page was loaded anew.
    page.reload()
    expect_place(page, "Harbour Bikes")
    expect_part(row(page, "Rentals"), True)
    page.locator("#crumbs").get_by_role("button", name="My drive").click()
    expect_place(page, "My drive")


def select_all(page):
    page.locator("#clear").click()
    expect_part(row(page, "Harbour Bikes"), False)
    everything = page.locator("#all")
    everything.check()
    count = page.locator("#list input:checked").count()
    assert count > 1, count
    expect(page.locator("#count")).to_have_text(str(count))
    row(page, "Home").uncheck()
    expect_part(everything, True)
    everything.check()
    everything.uncheck()
    expect(page.locator("#count")).to_have_text("0")


def leave_out(page, shot):
    """What is unticked in a selected folder is left out of it, until the folder is ticked again."""
    row(page, "Harbour Bikes").check()
    line(page, "Harbour Bikes").locator(".name").dblclick()
    expect_place(page, "Harbour Bikes")
    row(page, "Suppliers").uncheck()
    expect(line(page, "Suppliers")).to_contain_text("Left out of Harbour Bikes")
    expect_part(page.locator("#all"), True)
    expect(page.locator("#sum")).to_have_text("1 folder selected, 1 left out")
    shot("5-left-out")
    line(page, "Suppliers").locator(".name").dblclick()
    expect_place(page, "Suppliers")
    inside = page.locator("#list input").first
    expect(inside).not_to_be_checked()
    expect(inside).to_be_disabled()
    page.reload()
    expect_place(page, "Suppliers")
    page.locator("#crumbs").get_by_role("button", name="My drive").click()
    expect_place(page, "My drive")
    expect_part(row(page, "Harbour Bikes"), True)
    expect(line(page, "Harbour Bikes")).to_contain_text("1 left out inside")
    page.get_by_role("button", name="Include again: Suppliers").click()
    expect(row(page, "Harbour Bikes")).to_be_checked()
    line(page, "Harbour Bikes").locator(".name").dblclick()
    expect_place(page, "Harbour Bikes")
    row(page, "Suppliers").uncheck()
    page.go_back()
    expect_place(page, "My drive")
    # A click on the dash selects everything.
    row(page, "Harbour Bikes").click()
    expect(page.locator("#sum")).to_have_text("1 folder selected")
    row(page, "Harbour Bikes").uncheck()


def search(page, shot):
    """Answers come while one types; the newest question counts, and an empty field leads back."""
    line(page, "Harbour Bikes").locator(".name").dblclick()
    expect_place(page, "Harbour Bikes")
    requests = []
    page.on("request", lambda request: "q=" in request.url and requests.append(request.url))
    page.get_by_role("searchbox").focus()
    page.keyboard.type("rental", delay=20)
    expect_place(page, "Names with “rental”")
    expect(line(page, "Rentals")).to_contain_text("in My drive / Harbour Bikes")
    assert len(requests) == 1, requests
    shot("6-search")
    # An answer that comes late does not replace the newer one.
    late = []
    page.route("**/api/items?*q=home*", lambda route: late.append(route))
    page.get_by_role("searchbox").fill("home")
    page.wait_for_timeout(500)
    page.get_by_role("searchbox").fill("work")
    expect_place(page, "Names with “work”")
    for route in late:
        route.abort()
    expect(row(page, "Home")).to_have_count(0)
    page.unroute("**/api/items?*q=home*")
    # In the middle of a word: what was seen before is found.
    page.get_by_role("searchbox").fill("entals")
    expect(row(page, "Rentals")).to_be_visible()
    page.get_by_role("searchbox").fill("")
    expect_place(page, "Harbour Bikes")
    assert page.evaluate("document.activeElement.id") == "query", "typing loses the focus"
    page.get_by_role("button", name="My drive").first.click()
    expect(row(page, "Harbour Bikes")).to_be_visible()
    row(page, "Harbour Bikes").check()


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
    for wanted in ("save", "cancel", "query", "all", "clear", "my", "drives", "shared"):
        assert wanted in names, f"{wanted} cannot be reached by the Tab key: {sorted(names)}"


def check_access(page, axe):
    """What the rules of accessibility find, if the library is there."""
    if not axe:
        return
    page.evaluate(axe.read_text())
    found = page.evaluate("axe.run()")["violations"]
    told = [(rule["id"], [node["html"][:120] for node in rule["nodes"]]) for rule in found]
    assert not told, told


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


def look(page, shot, axe):
    """The picker on a phone and in the dark: nothing hangs over the edge, and the bar says what is selected."""
    page.set_viewport_size({"width": 390, "height": 760})
    expect(page.locator("#sum")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than a phone"
    shot("7-narrow")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("#chosen li").first).to_be_in_viewport()
    shot("7-narrow-selected")
    page.emulate_media(color_scheme="dark")
    shot("8-dark-narrow")
    page.set_viewport_size({"width": 1100, "height": 760})
    shot("8-dark")
    check_access(page, axe)
    page.emulate_media(color_scheme="light")


def finish(page, base, shot, axe):
    """What was selected is saved, its first synchronization is followed, and there is a way on."""
    page.route(f"{base}/", lambda route: route.fulfill(content_type="text/html", body="the console"))
    page.get_by_role("button", name="Save and sync").click()
    expect(page.get_by_role("button", name="Save and sync")).to_be_hidden()
    expect(page.get_by_role("heading", name=re.compile("^Saved"))).to_be_visible()
    shot("9-saved")
    assert page.evaluate("sessionStorage.length") == 0, "what was selected is kept after it was saved"
    expect(page.get_by_role("heading", name="Synchronized")).to_be_visible(timeout=60_000)
    expect(page.locator(".done")).to_contain_text(re.compile(r"\d+ documents"))
    expect(page.get_by_role("progressbar")).to_be_hidden()
    link = page.get_by_role("link", name="Open the container")
    assert link.get_attribute("href").endswith("/#/containers/demo"), link.get_attribute("href")
    shot("9-done")
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        check_access(page, axe)


def come_back(page, base, connection, shot):
    """Whoever sent the browser gets it back."""
    body = {"returnUrl": f"{base}/health"}
    page.goto(post(base, f"/v3/connections/{connection}/cloud-drive/hosted-picker", body)["url"])
    expect(row(page, "Harbour Bikes")).to_be_checked()
    row(page, "Home").check()
    line(page, "Harbour Bikes").locator(".name").dblclick()
    expect_place(page, "Harbour Bikes")
    row(page, "Suppliers").uncheck()
    page.get_by_role("button", name="Save and sync").click()
    back = page.get_by_role("link", name=re.compile("^Back to"))
    expect(back).to_be_visible()
    shot("9-way-back")
    back.click()
    page.wait_for_url("**/health?*status=success*")
    page.goto(post(base, f"/v3/connections/{connection}/cloud-drive/hosted-picker", body)["url"])
    expect_part(row(page, "Harbour Bikes"), True)
    expect(page.locator("#sum")).to_have_text("2 folders selected, 1 left out")


def connection_of(base):
    return post(base, "/v3/connections/list", {"containerTags": ["demo"]})[0]["id"]


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
    parser.add_argument("--axe", type=Path, help="axe.js; without it, accessibility is checked less")
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
        def note(message):
            # The drive's own pages have no icon, and a refusal is a page with the status 403.
            path = urlsplit(message.location.get("url", "")).path
            if message.type == "error" and not path.endswith(("/favicon.ico", "/callback/cloud-drive")):
                failures.append(f"{message.text} {message.location.get('url')}")

        page.on("console", note)
        page.on("pageerror", lambda error: failures.append(str(error)))

        def shot(name):
            page.screenshot(path=options.shots / f"{name}.png")

        consent(page, options.link, shot, options.axe)
        select(page, shot)
        folders(page, shot)
        check_access(page, options.axe)
        select_all(page)
        leave_out(page, shot)
        search(page, shot)
        keyboard(page)
        check_page(page, context, failures)
        session_ends(page, context, failures)
        look(page, shot, options.axe)
        finish(page, base, shot, options.axe)
        come_back(page, base, connection_of(base), shot)
        context.close()
    documents = wait_for_documents(base)
    kinds = {document["type"] for document in documents}
    assert {"cloud_doc", "cloud_sheet"} <= kinds, kinds
    left_out = [document["filepath"] for document in documents if "/Suppliers/" in document["filepath"]]
    assert not left_out, left_out
    print(f"{len(documents)} documents of the kinds {', '.join(sorted(kinds))}")


if __name__ == "__main__":
    main()
