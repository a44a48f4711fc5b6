"""The words of a question in the results of a search, and in the documents that they lead to."""

from urllib.parse import quote

from playwright.sync_api import expect

from .api import EVIL
from .browser import open_view, require_fitting, require_no_markup, wait_for_view
from .views import look_at

# What each question marks in the text below, as people read it.
TEXT = "# Marks\n\nÉcole near the Café. She climbs; he was climbing a CLIMB in 1843, not 18437. 東京は晴れ。 서울에 비."
CASES = [
    ("ecole cafe", ["École", "Café"]),
    ("climb", ["climbs", "climbing", "CLIMB"]),
    ("1843", ["1843"]),
    ("where is the 東京", ["東京"]),
    ("서울", ["서울"]),
    ("was", ["was"]),
    ("bergsteigen", []),
]
LONG_TEXT = "The climbers rest.\n" * 50_000


def mark_words(browser, api):
    document = api.add("words", TEXT, taskType="superrag")
    api.wait_until_processed(document)
    with browser.open_window() as window:
        page = window.new_page()
        follow_result(browser, page)
        for question, words in CASES:
            open_view(page, browser.url, f"#/containers/words/documents/{document}?q={question}", "Words of")
            expect(page.locator(".source-text mark")).to_have_text(words)
        open_view(page, browser.url, f"#/containers/words/documents/{document}?q=bergsteigen")
        expect(page.locator("main")).to_contain_text("bergsteigen are not in this text.")
        open_view(page, browser.url, f"#/containers/words/documents/{document}")
        expect(page.locator("main mark")).to_have_count(0)
        mark_long_text(browser, page, document)
        mark_hostile_text(browser, page)
        browser.require_no_problems()


def follow_result(browser, page):
    """A result shows its words, and leads to the chunk or to the source of the memory, with the same words marked."""
    open_view(page, browser.url, "#/containers/ada/search?q=loves+climbing+tides&threshold=0", "Alps")
    expect(page.locator(".result-title mark").get_by_text("climbing")).to_be_visible()
    expect(page.locator(".result-text mark").first).to_be_visible()
    look_at(browser, page, "words-results")

    page.get_by_role("link", name="User loves climbing in the Alps").click()
    expect(page.locator(".source-text .active mark")).to_have_text(["love", "climbing"])
    expect(page.locator(".memory.active")).to_contain_text("climbing")
    look_at(browser, page, "words-memory")
    page.go_back()
    wait_for_view(page, "Alps")
    page.get_by_role("link", name="Notes of the spring").first.click()
    expect(page.get_by_role("tab", name="Chunks")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".memory.active mark").first).to_be_visible()
    expect(page.locator(".source-text .active mark").get_by_text("climbing")).to_be_visible()
    look_at(browser, page, "words-chunk")
    page.get_by_role("link", name="loves climbing tides").click()
    wait_for_view(page, "Alps")


def mark_long_text(browser, page, document):
    """A text of a megabyte is shown, with a limited number of marks."""

    def lengthen(route):
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "content": LONG_TEXT})

    pattern = f"**/v3/documents/{document}?*"
    page.route(pattern, lengthen)
    page.goto(f"{browser.url}/#/containers/words/documents/{document}?q=climbing+climber")
    expect(page.locator("main")).to_contain_text("are marked in the first 1,000 places.", timeout=20_000)
    expect(page.locator(".source-text mark")).to_have_count(1000)
    page.unroute(pattern)


def mark_hostile_text(browser, page):
    """Markup in a question, in a title and in a text stays text inside the marks as well."""
    question = "img onerror script alert climbing %3Cb%3E"
    open_view(page, browser.url, f"#/containers/hostile/search?q={question}&threshold=0", "climbing")
    expect(page.locator("main mark").get_by_text("onerror").first).to_be_visible()
    look_at_hostile(browser, page, "marked results")
    addresses = [link.get_attribute("href") for link in page.locator("a.result-title").all()]
    for address in dict.fromkeys(addresses):
        open_view(page, browser.url, address, "Words of img onerror")
        look_at_hostile(browser, page, f"the marks of {address}")
    open_view(page, browser.url, f"#/containers/hostile/search?q={quote(EVIL)}&threshold=0", "climbing")
    look_at_hostile(browser, page, "a question with markup")


def look_at_hostile(browser, page, where):
    require_no_markup(page, where)
    require_fitting(page, where)
    browser.require_no_problems()
