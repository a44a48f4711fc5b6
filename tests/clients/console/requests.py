"""The editor of requests: what is written, sent, answered and kept."""

import json
from urllib.parse import quote

from playwright.sync_api import expect

from .api import EVIL
from .browser import NARROW, alert, notice, open_view, require_fitting, require_no_markup, wait_for_view
from .faults import hold_requests
from .sessions import ask_for_key, sign_in
from .views import look_at
from .work import focused_name, tab_to

SEARCH = {"q": "Where do I live?", "containerTag": "ada"}


def send_requests(browser, api):
    with browser.open_window() as window:
        window.grant_permissions(["clipboard-read", "clipboard-write"])
        page = window.new_page()
        open_view(page, browser.url, "#/requests", "No request has been sent yet.")
        send_example(browser, page)
        check_json(browser, page)
        refuse_wrong_paths(browser, page)
        show_error_answer(browser, page)
        delete_after_question(page, api)
        keep_history(browser, page)
        stop_slow_request(browser, page)
        come_from_search(page)
        browser.require_no_problems()
    write_by_keyboard(browser)
    show_hostile_answer(browser, api)
    keep_no_key(browser, api)


def field(page, name):
    return page.locator(f"main [name={name}]")


def answer(page):
    return page.get_by_role("region", name="Answer")


def write(page, method, path, body=""):
    field(page, "method").select_option(method)
    field(page, "path").fill(path)
    if method != "GET":
        field(page, "body").fill(body)


def send(page):
    page.get_by_role("button", name="Send", exact=True).click()


def send_example(browser, page):
    """The routes are offered with their examples. The answer is a tree and a text, and can be copied."""
    send(page)
    expect(answer(page)).to_contain_text("200 OK")
    field(page, "method").select_option("POST")
    option = page.locator("datalist option[value='/v4/search']")
    expect(option).to_have_count(1)
    assert page.locator("datalist option").count() > 20
    field(page, "path").fill("/v4/search")
    page.get_by_role("button", name="Use the example").click()
    assert "q" in json.loads(field(page, "body").input_value())
    write(page, "POST", "/v4/search", json.dumps(SEARCH))
    field(page, "body").press("Control+Enter")
    results = answer(page).locator("summary").filter(has_text="results")
    expect(results).to_be_visible()
    expect(answer(page).locator("li").filter(has_text="London").first).to_be_visible()
    look_at(browser, page, "requests")
    results.press("Enter")
    expect(answer(page).get_by_text("London").first).to_be_hidden()
    answer(page).get_by_role("tab", name="Text").click()
    expect(answer(page).locator("pre")).to_contain_text('"results": [')
    answer(page).get_by_role("button", name="Copy the answer").click()
    expect(notice(page)).to_contain_text("Copied.")
    assert json.loads(page.evaluate("navigator.clipboard.readText()"))["results"]


def check_json(browser, page):
    """What is wrong with the body is told with its line, and nothing is sent."""
    sent = []
    page.on("request", lambda request: sent.append(request.url))
    field(page, "body").fill('{\n  "q": "Leeds",\n  "limit": ten\n}')
    problem = page.locator(".problem")
    expect(problem).to_have_text("Line 3, column 12: a value is expected.")
    expect(field(page, "body")).to_have_attribute("aria-invalid", "true")
    look_at(browser, page, "requests-problem")
    send(page)
    expect(field(page, "body")).to_be_focused()
    assert not sent, sent
    field(page, "body").fill('{"q":"Leeds"}')
    expect(problem).to_be_empty()
    page.get_by_role("button", name="Format").click()
    expect(field(page, "body")).to_have_value('{\n  "q": "Leeds"\n}')


def refuse_wrong_paths(browser, page):
    """A path needs a slash, and values in place of braces. None leads to another server."""
    for path in ("/v3/documents/{id}", "v3/session", "https://example.com/"):
        write(page, "GET", path)
        assert not page.evaluate("document.querySelector('[name=path]').checkValidity()"), path
    with browser.expect_errors(page, "status of 404"):
        write(page, "GET", "//example.com/v3")
        send(page)
        expect(answer(page)).to_contain_text("404 Not Found")


def show_error_answer(browser, page):
    with browser.expect_errors(page, "status of 4"):
        write(page, "POST", "/v4/search", '{"containerTag": 1}')
        send(page)
        expect(answer(page)).to_contain_text("400 Bad Request")
        expect(answer(page)).to_contain_text("requestId")


def delete_after_question(page, api):
    document = api.add("requests", "# To go\n\nIt rains.", taskType="superrag")
    api.wait_until_processed(document)
    write(page, "DELETE", f"/v3/documents/{document}")
    send(page)
    dialog = page.get_by_role("dialog", name="Send a request that deletes?")
    expect(dialog).to_contain_text(f"DELETE /v3/documents/{document}")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_focused()
    assert api.get(f"/v3/documents/{document}")["id"] == document
    send(page)
    dialog.get_by_role("button", name="Send it").click()
    expect(answer(page)).to_contain_text("204")
    expect(answer(page)).to_contain_text("The answer has no body.")


def keep_history(browser, page):
    """The last requests stay in the tab, also after it is loaded again. Another tab does not have them."""
    past = page.get_by_role("region", name="Sent in this tab")
    expect(past.locator("li").first).to_contain_text("DELETE")
    page.reload()
    past.get_by_role("button", name="POST /v4/search").filter(has_text="Where do I live?").click()
    expect(field(page, "path")).to_be_focused()
    assert json.loads(field(page, "body").input_value()) == SEARCH
    other = page.context.new_page()
    open_view(other, browser.url, "#/requests", "No request has been sent yet.")
    expect(other.get_by_role("region", name="Sent in this tab").locator("li")).to_have_count(0)
    other.close()
    for number in range(22):
        write(page, "GET", f"/v3/session?number={number}")
        send(page)
        expect(past.locator("li").first).to_contain_text(f"number={number}")
    expect(past.locator("li")).to_have_count(20)
    past.get_by_role("button", name="Forget these requests").click()
    expect(past.locator("li")).to_have_count(0)


def stop_slow_request(browser, page):
    pattern = "**/v3/container-tags/list"
    held = hold_requests(page, pattern)
    write(page, "GET", "/v3/container-tags/list")
    send(page)
    expect(page.get_by_text("Loading the answer…")).to_be_visible()
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
    with browser.expect_errors(page, "net::ERR_"):
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_text("Loading the answer…")).to_have_count(0)
        held.pop().abort()
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_focused()
    page.unroute(pattern)


def come_from_search(page):
    """The search brings its request along, and it is not sent before the person sends it."""
    page.goto(page.url.split("#")[0] + "#/containers/ada/search?q=Leeds&threshold=0")
    wait_for_view(page, "Edit and send this request")
    page.get_by_role("link", name="Edit and send this request").click()
    wait_for_view(page, "No request has been sent yet.")
    expect(field(page, "path")).to_have_value("/v4/search")
    assert json.loads(field(page, "body").input_value())["q"] == "Leeds"
    expect(page.get_by_role("region", name="Request", exact=True).locator("pre")).to_contain_text("curl '")


def write_by_keyboard(browser):
    """Tab indents in the body, and leaves it after Escape."""
    with browser.open_window() as window:
        page = window.new_page()
        keyboard = page.keyboard
        open_view(page, browser.url, "#/requests?method=POST&path=/v4/search", "Body")
        keyboard.press("/")
        expect(field(page, "path")).to_be_focused()
        tab_to(page, "body")
        keyboard.type("{")
        keyboard.press("Enter")
        keyboard.press("Tab")
        keyboard.type('"q": "Leeds", "containerTag": "ada"}')
        expect(field(page, "body")).to_have_value('{\n  "q": "Leeds", "containerTag": "ada"}')
        keyboard.press("Escape")
        keyboard.press("Tab")
        assert focused_name(page) == "Format", focused_name(page)
        keyboard.press("Shift+Tab")
        keyboard.press("Control+Enter")
        expect(answer(page)).to_contain_text("200 OK")
        expect(field(page, "body")).to_be_focused()
        keyboard.press("Escape")
        tab_to(page, "Tree")
        keyboard.press("ArrowRight")
        keyboard.press("Enter")
        expect(answer(page).locator("pre")).to_contain_text("results")
        browser.require_no_problems()


def show_hostile_answer(browser, api):
    """Names and texts of an answer stay text, and so does a request that comes with a link."""
    with browser.open_window(NARROW) as window:
        page = window.new_page()
        body = json.dumps({"containerTag": "hostile", "note": EVIL, EVIL: 1})
        link = f"#/requests?method=POST&path=/v3/documents/list&body={quote(body)}"
        open_view(page, browser.url, link, "No request has been sent yet.")
        send(page)
        expect(answer(page)).to_contain_text("200 OK")
        for name in ("Tree", "Text"):
            page.get_by_role("tab", name=name).click()
            expect(answer(page)).to_contain_text("onerror=alert(1)")
            require_no_markup(page, f"a hostile answer as {name}")
            require_fitting(page, f"a hostile answer as {name}")
            browser.shoot(page, f"requests-hostile-{name}")
        write(page, "GET", "/v3/session?' ; echo $(id)")
        curl = page.get_by_role("region", name="Request", exact=True).locator("pre")
        expect(curl).to_contain_text("'\\'' ; echo $(id)'")
        page.route("**/v3/session*", lambda route: route.fulfill(status=200, content_type="text/html", body=EVIL))
        send(page)
        expect(answer(page).locator("pre")).to_have_text(EVIL)
        require_no_markup(page, "an answer of HTML")
        browser.require_no_problems()


def keep_no_key(browser, api):
    """The session sends the requests. No key is kept with them, and none of them stays after a sign-out."""
    key = api.make_agent_key("console test of requests")
    with browser.open_window() as window:
        page = window.new_page()
        open_view(page, browser.url, "#/")
        ask_for_key(page)
        sign_in(page, key["key"])
        wait_for_view(page, "Overview")
        open_view(page, browser.url, "#/requests", "No request")
        with page.expect_request("**/v3/session") as sent:
            send(page)
        assert "authorization" not in sent.value.all_headers(), "a key is sent"
        expect(answer(page)).to_contain_text("200 OK")
        stored = page.evaluate("JSON.stringify(Object.entries(sessionStorage))")
        assert "/v3/session" in stored and key["key"] not in stored, stored
        expect(alert(page)).to_have_count(0)
        ask_for_key(page)
        assert "/v3/session" not in page.evaluate("JSON.stringify(Object.entries(sessionStorage))")
        browser.require_no_problems()
