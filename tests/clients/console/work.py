"""What a person does first, and all of it again with the keyboard alone."""

import re

from playwright.sync_api import expect

from .browser import notice, open_view

FIRST_MEMORY_MILLISECONDS = 60_000
FIRST_TEXT = "# Who I am\n\nMy name is Mina. I live in Porto. I love sailing."
FOCUSED_NAME = """() => {
  const element = document.activeElement;
  return (element.getAttribute("aria-label") || element.textContent || element.name || element.tagName).trim();
}"""


def remember_first_fact(browser):
    """A person pastes a text into an empty Recollect and sees what is remembered of it."""
    with browser.open_window() as window:
        page = window.new_page()
        open_view(page, browser.url, "", "There is no container yet")
        browser.shoot(page, "first-start")
        page.get_by_role("button", name="Add to a container").click()
        chooser = page.get_by_role("dialog", name="Choose a container")
        chooser.get_by_label("Name of the container").fill("me")
        chooser.get_by_role("button", name="me a new container").click()

        dialog = page.get_by_role("dialog", name="Add to me")
        dialog.get_by_role("textbox", name="Text").fill(FIRST_TEXT)
        dialog.get_by_role("button", name="Add the text").click()
        expect(dialog).to_be_hidden()
        page.get_by_role("link", name="Who I am").click()
        memory = page.locator("main .memories").get_by_text("lives in Porto")
        expect(memory).to_be_visible(timeout=FIRST_MEMORY_MILLISECONDS)
        browser.shoot(page, "first-memory")

        page.get_by_role("link", name="Memories", exact=True).click()
        expect(page.locator("main")).to_contain_text("lives in Porto")
        browser.require_no_problems()


def work_by_keyboard(browser):
    """Adds a text, finds it, opens it, forgets a memory of it and goes back, without the mouse."""
    with browser.open_window() as window:
        page = window.new_page()
        keyboard = page.keyboard
        open_view(page, browser.url, "#/containers/keyboard", "no document yet")
        keyboard.press("Tab")
        assert focused_name(page) == "Skip to the content", focused_name(page)
        keyboard.press("Enter")
        expect(page.locator("main")).to_be_focused()

        tab_to(page, "Add text")
        keyboard.press("Enter")
        expect(page.get_by_role("dialog").get_by_role("textbox", name="Text")).to_be_focused()
        keyboard.type("# Zebedee\n\nMy name is Zebedee. I live in Leeds. I love sailing.")
        tab_to(page, "Add the text")
        keyboard.press("Enter")
        expect(notice(page)).to_contain_text("The document is")
        expect(page.get_by_role("button", name="Add text")).to_be_focused()

        expect(page.get_by_role("link", name="Zebedee")).to_be_visible()
        keyboard.press("/")
        expect(page.get_by_label("Search in titles")).to_be_focused()
        keyboard.type("zebe")
        expect(page).to_have_url(re.compile("text=zebe"))
        tab_to(page, "Zebedee")
        keyboard.press("Enter")
        heading = page.get_by_role("heading", level=1, name="Zebedee")
        expect(heading).to_be_focused()
        expect(page.locator(".memory")).not_to_have_count(0, timeout=FIRST_MEMORY_MILLISECONDS)

        tab_to(page, "Forget:")
        keyboard.press("Enter")
        dialog = page.get_by_role("dialog", name="Forget this memory?")
        expect(dialog.get_by_label("Reason")).to_be_focused()
        keyboard.type("a test")
        tab_to(page, "Forget it")
        keyboard.press("Enter")
        expect(notice(page)).to_contain_text("The memory is forgotten")
        expect(page.locator("main").get_by_text("Forgotten", exact=True)).to_be_visible()
        assert focused_name(page) != "BODY", "the focus is lost"

        page.go_back()
        expect(page.get_by_role("heading", level=1, name="keyboard")).to_be_focused()
        expect(page.get_by_label("Search in titles")).to_have_value("zebe")
        check_arrows(page)
        browser.require_no_problems()


def check_arrows(page):
    """Arrow keys move in the dialog of containers, and Escape gives the focus back."""
    switch = page.get_by_role("button", name="Container keyboard. Change it")
    switch.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Choose a container")
    expect(dialog.get_by_label("Name of the container")).to_be_focused()
    page.keyboard.type("ad")
    expect(dialog.get_by_role("button", name="ada")).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(dialog.locator(".choices button").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(switch).to_be_focused()


def focused_name(page):
    return page.evaluate(FOCUSED_NAME)


def tab_to(page, name, most=60):
    """Presses Tab until an element has the focus whose name begins with `name`."""
    passed = []
    for _ in range(most):
        if focused_name(page).startswith(name):
            return
        page.keyboard.press("Tab")
        passed.append(focused_name(page)[:40])
    raise AssertionError(f"the Tab key does not reach {name!r}: {passed}")
