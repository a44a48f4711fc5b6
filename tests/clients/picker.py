"""Connects the demo's drive in a real browser, as a person does, and checks what a person relies on.

Usage: picker.py --link LINK --chromium PATH --shots FOLDER [--axe FILE]
"""

import argparse
import base64
import contextlib
import http.server
import json
import re
import tempfile
import threading
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


def post(base, path, body, method="POST"):
    headers = {"authorization": "Bearer local", "content-type": "application/json"}
    request = urllib.request.Request(base + path, json.dumps(body).encode(), headers, method=method)
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
    line(page, "Harbour Bikes").locator(".name").dblclick()
    expect_place(page, "Harbour Bikes")
    # It is selected by itself as well, which ends when it is left out.
    row(page, "Suppliers").check()
    page.go_back()
    expect_place(page, "My drive")
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
    # While the list is busy and fades, its text has too little contrast.
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    page.evaluate("Promise.all(document.getAnimations().map((one) => one.finished)).then(() => null)")
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


def include_again(page, base, connection):
    """What was left out is not there. The picker shows that, and takes it back."""
    wait_until_left_out(base)
    body = {"returnUrl": f"{base}/health"}
    page.goto(post(base, f"/v3/connections/{connection}/cloud-drive/hosted-picker", body)["url"])
    expect_part(row(page, "Harbour Bikes"), True)
    expect(page.locator("#sum")).to_have_text("2 folders selected, 1 left out")
    row(page, "Harbour Bikes").click()
    page.get_by_role("button", name="Save and sync").click()
    page.wait_for_url("**/health?*status=success*", timeout=60_000)


def wait_until_left_out(base):
    """Returns the documents once those of the excluded folder are gone. The others stay."""
    for _ in range(120):
        documents = wait_for_documents(base)
        places = [document["filepath"] for document in documents]
        if not any("/Suppliers/" in place for place in places):
            assert any("/Rentals/" in place for place in places), places
            return documents
        time.sleep(0.5)
    raise AssertionError(f"the excluded documents are still there: {places}")


OUTER_PAGE = b"""<!doctype html>
<html lang="en"><title>Outer page</title><h1>Outer page</h1>
<iframe id="picker" title="Picker" width="100%" height="500"></iframe>
<script>
const messages = [];
const frame = document.getElementById("picker");
const address = new URL(location.hash.slice(1));
addEventListener("message", ({ origin, source, data }) => {
  if (origin !== address.origin || source !== frame.contentWindow) throw new Error("a message from elsewhere");
  messages.push(data);
  if (data.type === "resize") frame.height = data.height;
});
frame.src = address.href;
</script>"""


class OuterPage(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(OUTER_PAGE if self.path == "/" else b"")

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def outer_site():
    """The origin of a site that shows its outer page until the end of the block."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), OuterPage) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def messages_of(page, kind):
    return [told for told in page.evaluate("messages") if told["type"] == kind]


def wait_for_message(page, kind):
    """Returns the last message of a kind, once there is one."""
    page.wait_for_function("kind => messages.some((told) => told.type === kind)", arg=kind)
    told = messages_of(page, kind)[-1]
    assert told["source"] == "recollect-picker", told
    return told


def show_in_frame(context, base, connection, outer):
    """Opens the picker in a page of another origin."""
    address = post(base, f"/v3/connections/{connection}/cloud-drive/hosted-picker", {})["url"]
    page = context.new_page()
    page.set_default_timeout(20_000)
    page.set_viewport_size({"width": 900, "height": 760})
    told = []
    page.on("console", lambda message: message.type == "error" and told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.goto(f"{outer}/#{address}")
    return page, told


def in_frames(context, base, connection, shot, axe):
    """Pages that the organization names show the picker and are told what happens. Browsers refuse it to any other."""
    with outer_site() as named, outer_site() as other:
        svg = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="4" fill="#0b7a4b"/></svg>'
        logo = f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
        look = {"origins": [named], "name": "Harbour Bikes Ltd", "color": "#0a6640", "logo": logo}
        post(base, "/v3/settings", {"picker": look}, "PATCH")

        page, told = show_in_frame(context, base, connection, other)
        page.wait_for_timeout(1_000)
        assert any("frame-ancestors" in text for text in told), told
        assert page.evaluate("messages") == []
        expect(page.frames[1].locator("#list")).to_have_count(0)
        page.close()

        page, told = show_in_frame(context, base, connection, named)
        frame = page.frames[1]
        assert wait_for_message(page, "ready")["connectionId"] == connection
        before = wait_for_message(page, "selected")
        assert (before["items"], before["excluded"]) == (2, 0), before
        expect(frame.locator("#receiver-name")).to_have_text("Harbour Bikes Ltd")
        assert frame.locator("img.mark").evaluate("logo => logo.complete && logo.naturalWidth > 0"), "no logo"
        expect(row(frame, "Harbour Bikes")).to_be_checked()
        accent = frame.locator("#save").evaluate("button => getComputedStyle(button).backgroundColor")
        assert accent == "rgb(10, 102, 64)", accent
        shot_of(page, shot, "10-frame")
        page.set_viewport_size({"width": 390, "height": 760})
        assert page.frames[1].evaluate("document.documentElement.scrollWidth <= innerWidth"), "wider than the frame"
        shot_of(page, shot, "10-frame-narrow")
        page.set_viewport_size({"width": 900, "height": 760})
        height = wait_for_message(page, "resize")["height"]
        assert 300 < height < 5_000, height
        page.wait_for_function("() => Number(frame.height) === messages.findLast((told) => told.type === 'resize').height")

        # The dialog is one of the page: frames of other origins have none of the browser.
        row(frame, "Home").uncheck()
        frame.get_by_role("button", name="Cancel").click()
        expect(frame.get_by_text("Leave without saving")).to_be_visible()
        shot_of(page, shot, "10-question")
        check_access(page.frames[1], axe)
        frame.get_by_role("button", name="Go back").click()
        expect(frame.locator("#ask")).to_be_hidden()
        row(frame, "Home").check()

        line(frame, "Harbour Bikes").locator(".name").dblclick()
        expect_place(frame, "Harbour Bikes")
        row(frame, "Suppliers").uncheck()
        page.wait_for_function("messages.some((told) => told.type === 'selected' && told.excluded === 1)")
        assert not messages_of(page, "saved")
        frame.get_by_role("button", name="Save and sync").click()
        saved = wait_for_message(page, "saved")
        assert (saved["items"], saved["excluded"]) == (2, 1), saved
        # Saving has begun: this does nothing.
        page.evaluate("frame.contentWindow.postMessage({type: 'close'}, address.origin)")
        expect(frame.get_by_role("heading", name="Synchronized")).to_be_visible(timeout=60_000)
        shot_of(page, shot, "10-frame-done")
        assert not messages_of(page, "closed")
        frame.get_by_role("button", name="Done").click()
        assert wait_for_message(page, "closed")["saved"] is True
        assert not messages_of(page, "failed") and not told, (page.evaluate("messages"), told)
        page.close()

        page, told = show_in_frame(context, base, connection, named)
        frame = page.frames[1]
        wait_for_message(page, "ready")
        expect_part(row(frame, "Harbour Bikes"), True)
        # Only the page around the frame may close it.
        page.frames[1].evaluate("postMessage({type: 'close'}, location.origin)")
        page.wait_for_timeout(300)
        assert not messages_of(page, "closed")
        row(frame, "Harbour Bikes").click()
        page.evaluate("frame.contentWindow.postMessage({type: 'close'}, address.origin)")
        assert wait_for_message(page, "closed")["saved"] is False
        expect(frame.get_by_role("heading", name="Nothing was changed")).to_be_visible()
        assert not told, told
        page.close()


def shot_of(page, shot, name):
    page.wait_for_timeout(200)
    shot(name, page)


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

        def shot(name, of=page):
            of.screenshot(path=options.shots / f"{name}.png")

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
        connection = connection_of(base)
        come_back(page, base, connection, shot)
        include_again(page, base, connection)
        in_frames(context, base, connection, shot, options.axe)
        context.close()
    documents = wait_until_left_out(base)
    kinds = {document["type"] for document in documents}
    assert {"cloud_doc", "cloud_sheet"} <= kinds, kinds
    print(f"{len(documents)} documents of the kinds {', '.join(sorted(kinds))}")


if __name__ == "__main__":
    main()
