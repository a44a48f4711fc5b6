"""Several documents or memories at once: how they are selected, and what is done with them."""

import re

from playwright.sync_api import expect

from .api import EVIL, NOTE_COUNT
from .browser import NARROW, alert, notice, open_view, require_fitting, require_no_markup, wait_for_view
from .faults import hold_requests
from .views import look_at
from .work import tab_to

BULK = "**/v3/documents/bulk"
COUNT = 230
REQUESTS_AT_ONCE = 4


def change_many(browser, api):
    """Documents are selected in each way, deleted and processed again; memories are forgotten."""
    add_documents(api)
    with browser.open_window() as window:
        window.grant_permissions(["clipboard-read", "clipboard-write"])
        page = window.new_page()
        open_view(page, browser.url, "#/containers/bulk", f"{COUNT} documents")
        select_range(page)
        copy_ids(page)
        look_at(browser, page, "selection")
        select_across_pages(page)
        keep_what_failed(browser, page)
        delete_slowly(browser, page)
        delete_matching(page)
        process_failed(browser, page)
        forget_several(browser, page, api)
        browser.require_no_problems()
    select_by_keyboard(browser)
    select_hostile_names(browser)
    delete_in_two_tabs(browser, api)


def add_documents(api):
    documents = [{"content": f"# Leaf {number}\n\nIt fell.", "customId": f"leaf-{number}"} for number in range(COUNT)]
    api.post("/v3/documents/batch", {"containerTag": "bulk", "taskType": "superrag", "documents": documents})
    listed = api.post("/v3/documents/list", {"containerTag": "bulk", "limit": 1000})["memories"]
    api.wait_until_processed(*(item["id"] for item in listed))


def selection(page):
    return page.get_by_role("group", name="Selection of")


def boxes(page):
    return page.locator("main .tick input")


def expect_selected(page, text):
    expect(selection(page).get_by_role("status")).to_have_text(text)


def select_range(page):
    """A click with Shift selects the rows between two clicks, and ends the selection of them."""
    boxes(page).nth(1).click()
    expect_selected(page, "1 selected")
    boxes(page).nth(5).click(modifiers=["Shift"])
    expect_selected(page, "5 selected")
    boxes(page).nth(3).click()
    boxes(page).nth(1).click(modifiers=["Shift"])
    expect_selected(page, "2 selected")
    assert page.evaluate("getSelection().toString()") == "", "the clicks have selected text"


def copy_ids(page):
    selection(page).get_by_role("button", name="Copy ids").click()
    expect(notice(page)).to_contain_text("Copied.")
    ids = page.evaluate("navigator.clipboard.readText()").split("\n")
    assert len(set(ids)) == 2 and all(re.fullmatch(r"\w{22}", found) for found in ids), ids


def select_across_pages(page):
    """Rows stay selected on other pages. All that are shown can be selected, then all that match."""
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("navigation", name="Pages")).to_contain_text("Page 2 of")
    expect_selected(page, "2 selected, of which 2 not shown")
    every = page.get_by_label("Select all shown")
    every.click()
    expect_selected(page, "52 selected, of which 2 not shown")
    selection(page).get_by_role("button", name=f"Select all {COUNT} that match").click()
    expect_selected(page, f"{COUNT} selected, of which {COUNT - 50} not shown")
    expect(every).to_be_focused()
    selection(page).get_by_role("button", name="Clear").click()
    expect(every).not_to_be_checked()
    expect(every).to_be_focused()


def confirm_deletion(page, count):
    selection(page).get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog", name=f"Delete {count} documents?")
    dialog.get_by_role("button", name=f"Delete {count} documents").click()


def keep_what_failed(browser, page):
    """What could not be deleted is named and stays selected, and so does what a person decides to keep."""
    open_view(page, browser.url, "#/containers/bulk?sort=createdAt+asc", f"{COUNT} documents")
    for row in (0, 1):
        boxes(page).nth(row).click()
    selection(page).get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(selection(page).get_by_role("button", name="Delete")).to_be_focused()
    expect_selected(page, "2 selected")

    page.route(BULK, lambda route: route.fulfill(status=503, json={"error": "The table is busy.", "type": "x"}))
    with browser.expect_errors(page, "status of 503"):
        confirm_deletion(page, 2)
        expect(alert(page)).to_contain_text("2 of 2 documents could not be deleted, and stay selected.")
        expect(alert(page)).to_contain_text("The table is busy.")
    expect_selected(page, "2 selected")
    look_at(browser, page, "selection-failed")
    page.unroute(BULK)
    confirm_deletion(page, 2)
    expect(notice(page)).to_contain_text("2 documents are deleted.")
    expect(alert(page)).to_have_count(0)
    expect(page.locator("main")).to_contain_text(f"{COUNT - 2} documents")


def delete_slowly(browser, page):
    """The progress is shown, and a person can stop it. What was not sent stays selected, like what has failed."""
    open_view(page, browser.url, "#/containers/notes", f"{NOTE_COUNT:,} documents")
    page.get_by_label("Select all shown").click()
    selection(page).get_by_role("button", name=f"Select all {NOTE_COUNT:,} that match").click()
    everything = f"{NOTE_COUNT:,} selected, of which {NOTE_COUNT - 50:,} not shown"
    expect_selected(page, everything)
    held = hold_requests(page, BULK)
    with page.expect_request(BULK):
        confirm_deletion(page, f"{NOTE_COUNT:,}")
    expect_selected(page, f"Deleting {NOTE_COUNT:,} documents…")
    stop = selection(page).get_by_role("button", name="Stop")
    expect(stop).to_be_focused()
    look_at(browser, page, "selection-progress")
    assert len(held) == REQUESTS_AT_ONCE, f"{len(held)} requests at once"

    stop.click()
    with browser.expect_errors(page, "net::ERR_FAILED"):
        for route in held:
            route.abort()
        failed = f"400 of {NOTE_COUNT:,} documents could not be deleted, and stay selected."
        expect(alert(page)).to_contain_text(failed)
        expect(alert(page)).to_contain_text("The server does not answer.")
    expect_selected(page, everything)
    assert len(held) == REQUESTS_AT_ONCE, "requests were sent after the stop"
    page.unroute(BULK)
    open_view(page, browser.url, "#/containers/bulk", f"{COUNT - 2} documents")


def delete_matching(page):
    """All documents that match a search in the titles are deleted, and no others."""
    page.get_by_label("Search in titles").fill("leaf 1")
    expect(page.locator("main")).to_contain_text("110 documents")
    page.get_by_label("Select all shown").click()
    selection(page).get_by_role("button", name="Select all 110 that match").click()
    confirm_deletion(page, 110)
    expect(notice(page)).to_contain_text("110 documents are deleted.")
    expect(page.locator("main")).to_contain_text("No document matches.")
    page.get_by_label("Search in titles").fill("")
    expect(page.locator("main")).to_contain_text(f"{COUNT - 112} documents")


def process_failed(browser, page):
    """Only failed documents are processed again."""
    open_view(page, browser.url, "#/containers/hostile", "documents")
    page.get_by_label("Select all shown").click()
    with page.expect_request("**/retry"):
        selection(page).get_by_role("button", name=re.compile("^Process . failed again")).click()
    expect(notice(page)).to_contain_text("processed again.")


def forget_several(browser, page, api):
    api.say("bulk", "1", "I live in Leeds. I love climbing. My dog is Otis.")
    open_view(page, browser.url, "#/containers/bulk/memories", "lives in Leeds")
    for name in ("Leeds", "climbing"):
        page.get_by_label(re.compile(f"^Select: .*{name}")).click()
    expect_selected(page, "2 selected")
    look_at(browser, page, "selection-memories")
    selection(page).get_by_role("button", name="Forget").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget 2 memories").click()
    expect(notice(page)).to_contain_text("2 memories are forgotten.")
    expect(page.locator("main .memory")).to_have_count(1)
    expect(page.locator("main .memory")).to_contain_text("Otis")
    page.get_by_label("Show", exact=True).select_option("forgotten")
    expect(page.locator("main .memory")).to_have_count(2)
    expect(boxes(page)).to_have_count(0)


def select_by_keyboard(browser):
    """Space selects, with Shift a range; arrows move; the dialog gives the focus back to the bar."""
    with browser.open_window() as window:
        page = window.new_page()
        keyboard = page.keyboard
        open_view(page, browser.url, "#/containers/bulk", "documents")
        page.get_by_label("Select all shown").focus()
        tab_to(page, "Select: ")
        expect(boxes(page).first).to_be_focused()
        keyboard.press("Space")
        keyboard.press("ArrowDown")
        keyboard.press("ArrowDown")
        keyboard.press("Shift+Space")
        expect_selected(page, "3 selected")
        keyboard.press("Home")
        # Back over the table, which can be scrolled, and two other buttons.
        for _ in range(4):
            keyboard.press("Shift+Tab")
        expect(selection(page).get_by_role("button", name="Delete")).to_be_focused()
        keyboard.press("Enter")
        expect(page.get_by_role("dialog").get_by_role("button", name="Cancel")).to_be_focused()
        keyboard.press("Tab")
        keyboard.press("Enter")
        expect(notice(page)).to_contain_text("3 documents are deleted.")
        expect(page.get_by_label("Select all shown")).to_be_focused()
        browser.require_no_problems()


def select_hostile_names(browser):
    """Names of strangers stay text in the bar, in its dialog and in what has failed."""
    with browser.open_window(NARROW) as window:
        page = window.new_page()
        open_view(page, browser.url, "#/containers/hostile")
        page.get_by_label("Select all shown").click()
        selection(page).get_by_role("button", name="Delete").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text(EVIL)
        require_no_markup(page, "the question about hostile documents")
        require_fitting(page, "the question about hostile documents")
        body = {"error": EVIL, "type": "x"}
        page.route(BULK, lambda route: route.fulfill(status=500, json=body))
        with browser.expect_errors(page, "status of 500"):
            dialog.get_by_role("button", name=re.compile("^Delete ")).click()
            expect(alert(page)).to_contain_text(EVIL)
            require_no_markup(page, "hostile documents that could not be deleted")
            require_fitting(page, "hostile documents that could not be deleted")
        browser.shoot(page, "selection-hostile")


def delete_in_two_tabs(browser, api):
    """A document that the other tab has deleted is no error."""
    names = [api.add("bulk-tabs", f"# Shared {number}\n\nIt is in both tabs.") for number in range(2)]
    api.wait_until_processed(*names)
    with browser.open_window() as window:
        first, second = window.new_page(), window.new_page()
        for page in (first, second):
            open_view(page, browser.url, "#/containers/bulk-tabs", "2 documents")
            page.get_by_label("Select all shown").click()
        confirm_deletion(first, 2)
        expect(notice(first)).to_contain_text("2 documents are deleted.")
        confirm_deletion(second, 2)
        wait_for_view(second, "no document yet")
        expect(alert(second)).to_have_count(0)
        expect(selection(second)).to_be_hidden()
        browser.require_no_problems()
