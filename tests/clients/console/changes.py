"""What a person changes: keys, settings, memories and documents."""

from playwright.sync_api import expect

from .browser import alert, notice, open_view, require_no_markup

BAD_REQUEST = "status of 400"
KEY_NAME = "<b>made</b> in the console"


def manage_keys(browser):
    """The secret of a new key is shown once. The key is disabled and deleted only after a question."""
    with browser.open_window() as window:
        page = window.new_page()
        open_view(page, browser.url, "#/keys", "switched off")
        page.get_by_role("button", name="Make a key").click()
        form = page.get_by_role("dialog", name="Make a key")
        form.get_by_label("Name").fill(KEY_NAME)
        form.get_by_label("Containers").fill("ada")
        form.get_by_role("button", name="Make the key").click()

        made = page.get_by_role("dialog", name="The key is made")
        expect(made.locator("pre")).to_contain_text("rk_")
        secret = made.locator("pre").inner_text()
        browser.require_accessible(page, "the secret of a key")
        made.get_by_role("button", name="I have stored it").click()
        expect(page.locator("dialog")).to_have_count(0)
        assert secret not in page.content(), "the secret of a key stays in the page"

        row = page.get_by_role("row").filter(has_text=KEY_NAME)
        for label, done in (("Disable", "disabled"), ("Enable", "enabled"), ("Delete", "deleted")):
            row.get_by_role("button", name=f"{label}:").click()
            page.get_by_role("dialog").get_by_role("button", name=f"{label} the key").click()
            expect(notice(page)).to_contain_text(f"The key is {done}.")
            require_no_markup(page, f"a key that is {done}")
        expect(row).to_have_count(0)
        browser.require_no_problems()


def save_settings(browser):
    """A setting is saved by itself, and a wrong one says what is wrong."""
    with browser.open_window() as window:
        page = window.new_page()
        open_view(page, browser.url, "#/settings", "Allowed redirects")
        save_setting(page, "Context of the organization", "We sell bikes.")
        save_setting(page, "Trusted hosts", "docs.example.com")
        page.reload()
        expect(page.get_by_label("Context of the organization", exact=True)).to_have_value("We sell bikes.")
        expect(page.get_by_label("Trusted hosts", exact=True)).to_have_value("docs.example.com")

        with browser.expect_errors(page, BAD_REQUEST):
            fill_setting(page, "Size of a chunk", "10")
            expect(alert(page)).to_contain_text("Correct the request")
        save_setting(page, "Size of a chunk", "-1")
        fill_setting(page, "Items to include", "{oops")
        expect(alert(page)).to_contain_text("This is not JSON")
        save_setting(page, "Items to include", "")
        save_setting(page, "Context of the organization", "")
        save_setting(page, "Trusted hosts", "")
        browser.require_no_problems()


def fill_setting(page, label, value):
    page.get_by_label(label, exact=True).fill(value)
    page.get_by_role("button", name=f"Save: {label}").click()


def save_setting(page, label, value):
    fill_setting(page, label, value)
    expect(notice(page)).to_have_text(f"{label} is saved.")
    expect(alert(page)).to_have_count(0)


def change_memories(browser, api):
    """A memory is corrected, its past is shown, and a conclusion is approved and put back."""
    api.say("changes", "1", "I live in Leeds. My sister is Anna. Anna lives in Bonn.")
    with browser.open_window() as window:
        page = window.new_page()
        open_view(page, browser.url, "#/containers/changes/memories", "lives in Leeds")
        main = page.locator("main")
        main.get_by_role("button", name="Correct: User lives in Leeds").click()
        field = main.get_by_label("Corrected memory")
        expect(field).to_be_focused()
        field.fill("User lives in York.")
        main.get_by_role("button", name="Save as a new version").click()
        expect(notice(page)).to_contain_text("The memory is corrected.")
        expect(main.locator(".memory").first).to_contain_text("User lives in York.")
        main.get_by_text("2 versions").click()
        expect(main.locator(".versions")).to_contain_text("User lives in Leeds.")
        go_back_in_time(page)
        review(page)
        browser.require_no_problems()


def go_back_in_time(page):
    slider = page.get_by_label("As of")
    slider.focus()
    page.keyboard.press("Home")
    main = page.locator("main")
    expect(main.locator(".memory").filter(has_text="Replaced")).to_contain_text("User lives in Leeds.")
    expect(main.get_by_role("button", name="Correct: User lives in")).to_have_count(0)
    page.keyboard.press("End")
    expect(main.get_by_role("button", name="Correct: User lives in York")).to_be_visible()


def review(page):
    tab = page.get_by_role("tab", name="To review")
    expect(tab).to_have_text("To review (1)")
    tab.click()
    page.get_by_role("button", name="Approve: User's sister lives in Bonn").click()
    expect(notice(page)).to_contain_text("The conclusion is approved.")
    expect(tab).to_have_text("To review (0)")
    notice(page).get_by_role("button", name="Undo").click()
    expect(tab).to_have_text("To review (1)")


def change_documents(browser, api):
    """A document that has failed is processed again, and another one is deleted."""
    api.wait_until_processed(api.add("changes", "# To be deleted\n\nThe tide is high."))
    with browser.open_window() as window:
        page = window.new_page()
        open_view(page, browser.url, "#/", "changes")
        page.get_by_role("button", name="Try again:").first.click()
        expect(notice(page)).to_contain_text("The document is processed again.")

        open_view(page, browser.url, "#/containers/changes")
        page.get_by_role("link", name="To be deleted").click()
        page.get_by_role("button", name="Delete", exact=True).click()
        page.get_by_role("button", name="Delete the document").click()
        expect(notice(page)).to_contain_text("The document is deleted.")
        expect(page.get_by_role("heading", level=1, name="changes")).to_be_visible()
        expect(page.get_by_role("link", name="To be deleted")).to_have_count(0)
        browser.require_no_problems()
