"""Sign-in and its cookie, the end of a session, and two tabs."""

from playwright.sync_api import expect

from .api import Api
from .browser import add_text, alert, notice, open_view, wait_for_view
from .views import look_at

COOKIE_NAME = "recollect-console"
REFUSED = "status of 401"
STORED_TEXT = """() => JSON.stringify([
  document.cookie, Object.entries(localStorage), Object.entries(sessionStorage), document.documentElement.outerHTML])"""
SCOPED_VIEWS = ["#/", "#/containers/ada", *(f"#/containers/ada/{view}" for view in ("memories", "graph", "profile"))]


def sign_in_with_keys(browser, api):
    """A created key and a key for one container open a session, and no script can read either."""
    agent = api.make_agent_key("console test")
    scoped = api.make_scoped_key("ada", "console test")
    for key in (agent, scoped):
        with browser.open_window() as window:
            page = window.new_page()
            open_view(page, browser.url, "#/containers/ada/memories", "London")
            ask_for_key(page)
            refuse_wrong_key(browser, page)
            requests = []
            window.on("request", lambda request: requests.append(request))
            sign_in(page, key["key"])
            wait_for_view(page, "London")
            page.reload()
            wait_for_view(page, "London")
            require_hidden(window, page, key["key"])
            require_no_key(requests, key["key"])
            check_reach(browser, page, is_scoped=key is scoped)
            browser.require_no_problems()


def go_back_to_local_key(browser):
    """Who asked for the sign-in by mistake goes on without a key, on the machine of the server."""
    with browser.open_window() as window:
        page = window.new_page()
        open_view(page, browser.url, "#/keys", "switched off")
        dialog = ask_for_key(page)
        page.reload()
        dialog.get_by_role("button", name="Go on without a key").click()
        wait_for_view(page, "switched off")
        page.reload()
        wait_for_view(page, "switched off")
        browser.require_no_problems()


def ask_for_key(page):
    page.get_by_role("button", name="Use another key").click()
    dialog = page.get_by_role("dialog", name="Sign in")
    expect(dialog.get_by_label("API key")).to_be_focused()
    return dialog


def refuse_wrong_key(browser, page):
    with browser.expect_errors(page, REFUSED):
        sign_in(page, "rk_wrong")
        expect(alert(page)).to_contain_text("This key does not work.")


def sign_in(page, key):
    field = page.get_by_role("dialog", name="Sign in").get_by_label("API key")
    field.fill(key)
    field.press("Enter")


def require_hidden(window, page, key):
    cookies = {cookie["name"]: cookie for cookie in window.cookies()}
    assert list(cookies) == [COOKIE_NAME], cookies
    cookie = cookies[COOKIE_NAME]
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict", cookie
    assert key not in cookie["value"], "the key itself is in the cookie"

    assert page.evaluate("document.cookie") == "", "scripts can read a cookie"
    stored = page.evaluate(STORED_TEXT)
    for secret in (key, cookie["value"]):
        assert secret not in stored, "scripts can read the key or its session"


def require_no_key(requests, key):
    """Only the sign-in sends the key. Every other request has the header without which the cookie does not count."""
    calls = [request for request in requests if "/v3/" in request.url or "/v4/" in request.url]
    assert calls, "no request was seen"
    for call in calls:
        headers = call.all_headers()
        assert "authorization" not in headers, f"a key is sent to {call.url}"
        assert headers.get("x-recollect-console") == "http", f"{call.url}: {headers}"
        assert key not in call.url, call.url


def check_reach(browser, page, is_scoped):
    """Neither key administers, and the view of each container that it reaches works."""
    expect(page.get_by_role("link", name="Settings")).to_have_count(0)
    for fragment in SCOPED_VIEWS if is_scoped else ["#/"]:
        open_view(page, browser.url, fragment, "ada")
        expect(alert(page)).to_have_count(0)
        if is_scoped:
            expect(page.locator("main")).not_to_contain_text("hostile")


def look_at_sign_in(browser):
    with browser.open_window() as window:
        page = window.new_page()
        open_view(page, browser.url, "#/")
        ask_for_key(page)
        look_at(browser, page, "sign-in")


def go_on_after_lost_session(browser, api):
    """A session ends while a person types. After the sign-in, what was typed is added."""
    first, second = (api.make_agent_key(f"console test {number}") for number in (1, 2))
    with browser.open_window() as window:
        page = window.new_page()
        open_view(page, browser.url, "#/containers/ada")
        ask_for_key(page)
        sign_in(page, first["key"])
        wait_for_view(page, "Notes of the spring")
        end_session(browser, window)
        lose_and_go_on(browser, page, "I was typed before the session ended.", first)
        api.call("DELETE", f"/v3/auth/keys/{first['id']}")
        lose_and_go_on(browser, page, "I was typed before the key was deleted.", second)


def lose_and_go_on(browser, page, text, key):
    with browser.expect_errors(page, REFUSED):
        dialog = add_text(page, text)
        expect(page.get_by_role("dialog", name="Sign in")).to_contain_text("Sign in again to go on.")
        browser.shoot(page, "signed-out")
        sign_in(page, key["key"])
        expect(notice(page)).to_contain_text("The document is")
        expect(dialog).to_be_hidden()
        expect(page.locator("main")).to_contain_text(text)
    browser.require_no_problems()


def end_session(browser, window):
    """Ends the session of a window on the server alone, as its time does."""
    token = window.cookies()[0]["value"]
    headers = {"cookie": f"{COOKIE_NAME}={token}", "x-recollect-console": "http"}
    Api(browser.url, headers).call("DELETE", "/console/session")


def share_between_tabs(browser, api):
    """Two tabs have one session. What one of them changes, the other shows after it has loaded again."""
    key = api.make_agent_key("console test of tabs")
    with browser.open_window() as window:
        first = window.new_page()
        open_view(first, browser.url, "#/containers/tabs")
        ask_for_key(first)
        sign_in(first, key["key"])
        wait_for_view(first, "no document yet")
        second = window.new_page()
        open_view(second, browser.url, "#/containers/tabs", "no document yet")
        add_text(first, "# Seen in both tabs\n\nI live in Braga.")
        expect(notice(first)).to_contain_text("The document is")
        second.reload()
        wait_for_view(second, "Seen in both tabs")
        sign_out_in_one(browser, first, second, key)


def sign_out_in_one(browser, first, second, key):
    """A sign-out ends the session of both tabs, and a sign-in opens one for both."""
    ask_for_key(first)
    with browser.expect_errors(second, REFUSED):
        second.get_by_role("link", name="Memories", exact=True).click()
        expect(second.get_by_role("dialog", name="Sign in")).to_be_visible()
        sign_in(second, key["key"])
        wait_for_view(second, "Memories of tabs")
    first.reload()
    wait_for_view(first, "Seen in both tabs")
    expect(first.get_by_role("dialog")).to_have_count(0)
    browser.require_no_problems()
