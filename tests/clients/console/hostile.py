"""Content of strangers stays text, wherever the console shows it."""

from playwright.sync_api import expect

from .api import EVIL
from .browser import NARROW, open_view, require_fitting, require_no_markup, wait_for_view

VIEWS = [
    "#/",
    "#/containers/hostile",
    "#/containers/hostile?status=failed",
    "#/containers/hostile/memories",
    "#/containers/hostile/graph",
    "#/containers/hostile/search?q=climbing&threshold=0",
    "#/containers/hostile/profile",
    "#/keys",
    "#/analytics",
]


def show_hostile_content(browser):
    with browser.open_window(NARROW) as window:
        page = window.new_page()
        add_files(browser, page)
        for fragment in VIEWS:
            open_view(page, browser.url, fragment)
            look_at(browser, page, fragment)
        open_documents(browser, page)
        show_hostile_address(browser, page)


def look_at(browser, page, where):
    require_no_markup(page, where)
    require_fitting(page, where)
    browser.require_no_problems()


def add_files(browser, page):
    """Adds files with hostile names and hostile content."""
    text = "My name is <b onclick=alert(1)>Eve</b>. I love <script>alert(1)</script> climbing. 😀"
    names = [f"{EVIL}.txt", "\u202eevil\u202c.md", "L" * 180 + ".txt"]
    files = [{"name": name, "mimeType": "text/plain", "buffer": f"{text}\n".encode() * 50} for name in names]
    files.append({"name": "damaged.pdf", "mimeType": "application/pdf", "buffer": b"no document at all"})

    open_view(page, browser.url, "#/containers/hostile?add=files")
    dialog = page.get_by_role("dialog")
    dialog.locator("input[type=file]").set_input_files(files)
    expect(dialog.get_by_text("Added", exact=True)).to_have_count(len(files))
    expect(dialog).to_contain_text(EVIL)
    look_at(browser, page, "the dialog of files")
    browser.shoot(page, "hostile-files")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def open_documents(browser, page):
    open_view(page, browser.url, "#/containers/hostile")
    expect(page.locator("main").get_by_text("In progress")).to_have_count(0)
    links = page.locator("main tbody a")
    addresses = [link.get_attribute("href") for link in links.all()]
    assert len(addresses) >= 8, addresses
    for address in addresses:
        open_view(page, browser.url, address)
        expect(page.get_by_role("tab", name="Details")).to_be_visible()
        look_at(browser, page, address)
        page.get_by_role("tab", name="Details").click()
        look_at(browser, page, f"the details of {address}")
        browser.shoot(page, f"hostile-{addresses.index(address)}")


def show_hostile_address(browser, page):
    """The address of a view can come from a link of a stranger."""
    with browser.expect_errors(page, "status of 400"):
        page.goto(f"{browser.url}/#/containers/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E?status=%3Cscript%3E")
        wait_for_view(page, EVIL)
        where = "an address with markup in it"
        require_no_markup(page, where)
        require_fitting(page, where)
    browser.require_no_problems()
