"""Every view and every dialog: its width, its accessibility, the browser's messages, and a screenshot."""

from dataclasses import dataclass
from typing import Callable

from playwright.sync_api import expect

from .api import NOTE_COUNT
from .browser import NARROW, WIDE, open_view, require_fitting, wait_for_view


@dataclass
class View:
    """A view, a text that it shows when it is complete, and what to do before it is looked at."""

    name: str
    fragment: str
    text: str
    prepare: Callable = lambda page: None


def wait_until_drawn(page):
    page.wait_for_function(
        """() => {
          const canvas = document.querySelector("main canvas");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          return data.some((value) => value > 0);
        }"""
    )


def open_dialog(name):
    def click(page):
        page.locator("main").get_by_role("button", name=name).first.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        expect(page.get_by_role("dialog").locator("[aria-busy]")).to_have_count(0)

    return click


def open_tab(name):
    return lambda page: page.get_by_role("tab", name=name).click()


def list_views(document, connection):
    ada = "#/containers/ada"
    return [
        View("overview", "#/", "hostile"),
        View("overview-add", "#/", "hostile", open_dialog("Add to a container")),
        View("container", ada, "Notes of the spring"),
        View("container-add", ada, "Notes of the spring", open_dialog("Add text")),
        View("container-files", ada, "Notes of the spring", open_dialog("Add files")),
        View("container-empty", "#/containers/nothing", "no document yet"),
        View("container-many", "#/containers/notes", "Page 1 of"),
        View("document", f"{ada}/documents/{document}", "climbing"),
        View("document-details", f"{ada}/documents/{document}", "climbing", open_tab("Details")),
        View("memories", f"{ada}/memories", "London"),
        View("memories-review", f"{ada}/memories", "London", open_tab("To review")),
        View("memories-empty", "#/containers/nothing/memories", "no memory yet"),
        View("memory-forget", f"{ada}/memories", "London", open_dialog("Forget: ")),
        View("graph", f"{ada}/graph", "relations", wait_until_drawn),
        View("search", f"{ada}/search?q=Where+do+I+live%3F&threshold=0.3", "London"),
        View("profile", f"{ada}/profile", "London"),
        View("connections", "#/connections", "site.invalid"),
        View("connections-add", "#/connections", "site.invalid", open_dialog("Connect")),
        View("connection", f"#/connections/{connection}", "Last runs"),
        View("keys", "#/keys", "switched off"),
        View("keys-add", "#/keys", "switched off", open_dialog("Make a key")),
        View("analytics", "#/analytics", "Request log"),
        View("settings", "#/settings", "Allowed redirects"),
    ]


def check_views(browser, document, connection):
    with browser.open_window() as window:
        page = window.new_page()
        for view in list_views(document, connection):
            open_view(page, browser.url, view.fragment, view.text)
            view.prepare(page)
            page.mouse.move(0, 0)
            look_at(browser, page, view.name)
            page.keyboard.press("Escape")
        check_navigation(browser, page)


def look_at(browser, page, name):
    """Looks at what a page shows, wide and narrow, light and dark."""
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            where = f"{name}-{size['width']}-{scheme}"
            browser.shoot(page, where)
            require_fitting(page, where)
            browser.require_accessible(page, where)
            browser.require_no_problems()


def check_navigation(browser, page):
    """On a narrow page, the navigation is behind a button."""
    page.set_viewport_size(NARROW)
    open_view(page, browser.url, "#/keys")
    navigation = page.get_by_role("navigation", name="Console")
    expect(navigation).to_be_hidden()
    page.get_by_role("button", name="Menu").click()
    expect(navigation).to_be_visible()
    browser.shoot(page, "navigation-390")
    browser.require_accessible(page, "navigation-390")
    navigation.get_by_role("link", name="Memories").click()
    wait_for_view(page, "Memories of")
    expect(navigation).to_be_hidden()


def check_colours(browser):
    """The colours that a person chooses stay, whatever the system has."""
    with browser.open_window() as window:
        page = window.new_page()
        page.emulate_media(color_scheme="light")
        open_view(page, browser.url, "#/keys")
        light = read_background(page)
        page.get_by_label("Colours").select_option("dark")
        dark = read_background(page)
        assert light != dark, f"both backgrounds are {light}"
        page.reload()
        wait_for_view(page)
        assert read_background(page) == dark, "the colours are forgotten"


def read_background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def check_many_documents(browser):
    """A long list has pages, and its titles are searched beyond the first page."""
    with browser.open_window() as window:
        page = window.new_page()
        open_view(page, browser.url, "#/containers/notes", f"{NOTE_COUNT:,} documents")
        page.get_by_role("button", name="Next").click()
        expect(page.get_by_role("navigation", name="Pages")).to_contain_text("Page 2 of")
        page.get_by_label("Search in titles").fill("note 3 on")
        count = page.locator("main [role=status]").last
        expect(count).to_have_text("1 document")
        expect(page.get_by_role("link", name="Note 3 on the ledger")).to_be_visible()
        page.get_by_label("Search in titles").fill("orchard")
        expect(count).to_have_text(f"{NOTE_COUNT // 5} documents")
