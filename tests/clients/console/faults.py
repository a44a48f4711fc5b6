"""A server that is slow, one that does not answer, and one that takes no large requests."""

from playwright.sync_api import expect

from .browser import add_text, alert, notice, open_view, wait_for_view

NO_ANSWER = "net::ERR_INTERNET_DISCONNECTED"
NEXT_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
TYPED = "This must not be lost. I live in Faro."


def wait_for_slow_server(browser):
    """While an answer is under way, the view says so."""
    with browser.open_window() as window:
        page = window.new_page()
        held = hold_requests(page, "**/v3/auth/keys")
        page.goto(f"{browser.url}/#/keys")
        expect(page.get_by_text("Loading keys…")).to_be_visible()
        expect(page.get_by_role("table", name="Keys")).to_have_count(0)
        held.pop().continue_()
        wait_for_view(page, "switched off")
        ignore_late_answers(browser, page)
        browser.require_no_problems()


def ignore_late_answers(browser, page):
    """The answer to an earlier choice does not replace that to the present one."""
    open_view(page, browser.url, "#/containers/ada", "Notes of the spring")
    held = hold_requests(page, "**/v3/documents/list")
    status = page.get_by_label("Status")
    with page.expect_request("**/v3/documents/list"):
        status.select_option("failed")
    with page.expect_request("**/v3/documents/list"):
        status.select_option("done")
    expect(page.locator("main .loading")).to_have_count(1)
    earlier, present = held
    present.continue_()
    expect(page.locator("main tbody")).to_contain_text("Notes of the spring")
    with page.expect_request_finished(lambda request: request == earlier.request):
        earlier.continue_()
    page.evaluate(NEXT_FRAMES)
    expect(page.locator("main tbody")).to_contain_text("Notes of the spring")


def hold_requests(page, pattern):
    """Returns the list of requests that match a pattern and wait until they are continued."""
    held = []
    page.route(pattern, lambda route: held.append(route))
    return held


def survive_dead_server(browser):
    """Without an answer, a view offers to try again, and nothing that was typed is lost."""
    with browser.open_window() as window:
        page = window.new_page()
        open_view(page, browser.url, "#/keys")
        with browser.expect_errors(page, NO_ANSWER):
            window.set_offline(True)
            page.get_by_role("link", name="Documents", exact=True).click()
            main = page.locator("main")
            expect(alert(main)).to_contain_text("The server does not answer.")
            browser.shoot(page, "dead-server")
            browser.require_accessible(page, "a dead server")

            dialog = add_text(page, TYPED)
            expect(alert(dialog)).to_contain_text("The server does not answer.")
            expect(dialog.get_by_role("textbox", name="Text")).to_have_value(TYPED)
            browser.shoot(page, "dead-server-dialog")
            page.keyboard.press("Escape")

            with page.expect_event("requestfailed"):
                page.get_by_label("Search in titles").fill("spring")
            expect(alert(main)).to_contain_text("The server does not answer.")

        window.set_offline(False)
        alert(main).get_by_role("button", name="Try again").click()
        expect(main.locator("tbody")).to_contain_text("Notes of the spring")
        page.get_by_role("button", name="Add text").click()
        expect(dialog.get_by_role("textbox", name="Text")).to_have_value(TYPED)
        dialog.get_by_role("button", name="Add the text").click()
        expect(notice(page)).to_contain_text("The document is")
        expect(dialog).to_be_hidden()
        browser.require_no_problems()


def start_without_server(browser):
    """A console that cannot sign in for want of an answer offers to try again."""
    with browser.open_window() as window:
        page = window.new_page()
        page.route("**/v3/session", lambda route: route.abort())
        with browser.expect_errors(page, "net::ERR_FAILED"):
            page.goto(browser.url)
            expect(alert(page)).to_contain_text("The server does not answer.")
            browser.shoot(page, "dead-start")
            browser.require_accessible(page, "a start without a server")
        page.unroute("**/v3/session")
        page.get_by_role("button", name="Try again").click()
        wait_for_view(page, "Containers")
        browser.require_no_problems()


def store_large_file(browser):
    """A file that is too large for a request, as on AWS, is stored by a form of the object store."""
    with browser.open_window() as window:
        page = window.new_page()
        too_large = {"status": 413, "content_type": "application/json", "body": '{"message": "Request Too Long"}'}
        page.route("**/v3/documents/file", lambda route: route.fulfill(**too_large))
        open_view(page, browser.url, "#/containers/large?add=files")
        file = {"name": "atlas.md", "mimeType": "text/markdown", "buffer": b"# An atlas\n\nAll rivers.\n"}
        dialog = page.get_by_role("dialog")
        with browser.expect_errors(page, "status of 413"):
            dialog.locator("input[type=file]").set_input_files([file])
            expect(dialog.get_by_text("Added", exact=True)).to_be_visible()
        page.keyboard.press("Escape")
        row = page.locator("main tbody tr", has_text="An atlas")
        expect(row).to_contain_text("Done")
        browser.require_no_problems()
