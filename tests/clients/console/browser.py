"""Browser windows with the console, and a record of what must not happen in them."""

import re
from contextlib import contextmanager

from playwright.sync_api import expect

NARROW = {"width": 390, "height": 844}
WIDE = {"width": 1280, "height": 900}
TIMEOUT_MILLISECONDS = 20_000
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

RUN_AXE = """async (tags) => {
  const { violations } = await axe.run(document, { runOnly: tags, resultTypes: ["violations"] });
  return violations.map(({ id, nodes }) =>
    `${id}: ${nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary}`).join(" | ")}`);
}"""

# Elements and attributes that the console itself never makes.
FIND_MARKUP = """() => [...document.querySelectorAll(
  "img, script:not([src='console/app.js']), iframe, object, embed, base, form[action], main b, dialog b, " +
  "[onerror], [onload], [onclick], [srcdoc], [href^='javascript:' i], [href^='data:' i]"
)].map((element) => element.outerHTML.slice(0, 200))"""


class Browser:
    """A browser that opens the console of one server.

    It records errors on the page, dialogs of scripts, and requests to other servers, in every window.
    """

    def __init__(self, chromium, url, axe, shots):
        self.chromium = chromium
        self.url = url
        self.axe = axe
        self.shots = shots
        self.problems = []

    @contextmanager
    def open_window(self, size=WIDE):
        """Opens a window with cookies and a storage of its own, and closes it at the end."""
        context = self.chromium.new_context(
            viewport=size, reduced_motion="reduce", locale="en-GB", timezone_id="Europe/Lisbon"
        )
        context.set_default_timeout(TIMEOUT_MILLISECONDS)
        context.on("console", self.note_message)
        context.on("weberror", lambda error: self.problems.append(str(error.error)))
        context.on("dialog", self.note_dialog)
        context.on("request", self.note_request)
        try:
            yield context
        finally:
            context.close()

    def note_message(self, message):
        # A breach of the content security policy is told here, too.
        if message.type in ("error", "warning"):
            self.problems.append(f"{message.text} {message.location.get('url')}")

    def note_dialog(self, dialog):
        self.problems.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def note_request(self, request):
        is_own = request.url.startswith(f"{self.url}/") or request.url.startswith("data:")
        if not is_own:
            self.problems.append(f"a request to another server: {request.url}")

    def require_no_problems(self):
        assert not self.problems, "\n".join(self.problems)

    @contextmanager
    def expect_errors(self, page, pattern):
        """Ignores the browser's messages that match a pattern, such as one for an answer with status 401."""
        self.require_no_problems()
        yield
        # Messages that are under way arrive before the answer to this.
        page.evaluate("null")
        self.problems = [problem for problem in self.problems if not re.search(pattern, problem)]

    def shoot(self, page, name):
        # A dialog lies over what is in the window, not over the whole page.
        has_dialog = page.get_by_role("dialog").count() > 0
        page.screenshot(path=self.shots / f"console-{name}.png", full_page=not has_dialog)

    def require_accessible(self, page, where):
        page.evaluate(f"() => {{ if (!window.axe) {{ {self.axe} }} }}")
        violations = page.evaluate(RUN_AXE, AXE_TAGS)
        assert not violations, f"{where}: " + "\n".join(violations)


def open_view(page, url, fragment, text=""):
    """Opens a view and waits until it shows a text and loads nothing more."""
    page.goto(f"{url}/{fragment}")
    wait_for_view(page, text)


def wait_for_view(page, text=""):
    main = page.locator("main")
    expect(main.get_by_role("heading", level=1)).to_be_visible()
    expect(main).to_contain_text(text)
    expect(main.locator("[aria-busy], .loading")).to_have_count(0)


def require_fitting(page, where):
    """The page is not wider than its window."""
    excess = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert excess <= 0, f"{where}: {excess} pixels wider than the window"


def require_no_markup(page, where):
    """Nothing that is stored has become a part of the page."""
    markup = page.evaluate(FIND_MARKUP)
    assert not markup, f"{where}: {markup}"


def notice(page):
    return page.locator(".notices")


def alert(scope):
    return scope.get_by_role("alert")


def add_text(page, text):
    """Fills the dialog that adds a text, and sends it. The view of a container must be open."""
    page.get_by_role("button", name="Add text").click()
    dialog = page.get_by_role("dialog", name="Add to")
    dialog.get_by_role("textbox", name="Text").fill(text)
    dialog.get_by_role("button", name="Add the text").click()
    return dialog
