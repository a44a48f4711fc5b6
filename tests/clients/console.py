"""Uses the console of a running Recollect in a real browser, as a person does, and looks at every view.

The server must be empty: the first check is what a person sees who has just started it. Prints a line for each check,
with its seconds, and ends with a status other than 0 at the first that fails.

Usage: console.py --url URL --chromium PATH --shots FOLDER --axe FILE
"""

import argparse
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from console import bulk, changes, faults, hostile, requests, sessions, views, words, work
from console.api import Api, seed, seed_notes
from console.browser import Browser
from picker import FLAGS


def check(name, action, *arguments):
    start = time.monotonic()
    result = action(*arguments)
    print(f"console: {name}: {time.monotonic() - start:.1f} s", flush=True)
    return result


def check_all(browser, api):
    check("the first fact is remembered", work.remember_first_fact, browser)
    document, connection = check("data is added", seed, api)
    check("many documents are added", seed_notes, api)
    check("every view", views.check_views, browser, document, connection)
    check("the choice of colours", views.check_colours, browser)
    check("a long list", views.check_many_documents, browser)
    check("the keyboard alone", work.work_by_keyboard, browser)
    check("keys", changes.manage_keys, browser)
    check("settings", changes.save_settings, browser)
    check("memories", changes.change_memories, browser, api)
    check("documents", changes.change_documents, browser, api)
    check("many documents at once", bulk.change_many, browser, api)
    check("the words of a question", words.mark_words, browser, api)
    check("requests", requests.send_requests, browser, api)
    check("hostile content", hostile.show_hostile_content, browser)
    check("a slow server", faults.wait_for_slow_server, browser)
    check("a dead server", faults.survive_dead_server, browser)
    check("a start without a server", faults.start_without_server, browser)
    check("a file that is too large for a request", faults.store_large_file, browser)
    check("the sign-in page", sessions.look_at_sign_in, browser)
    check("back to the key of the machine", sessions.go_back_to_local_key, browser)
    check("sign-in with keys", sessions.sign_in_with_keys, browser, api)
    check("a session that ends", sessions.go_on_after_lost_session, browser, api)
    check("two tabs", sessions.share_between_tabs, browser, api)
    browser.require_no_problems()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True)
    parser.add_argument("--chromium", required=True)
    parser.add_argument("--shots", type=Path, required=True)
    parser.add_argument("--axe", type=Path, required=True)
    options = parser.parse_args()
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=options.chromium, args=FLAGS)
        browser = Browser(chromium, options.url, options.axe.read_text(), options.shots)
        check_all(browser, Api(options.url))
        chromium.close()


if __name__ == "__main__":
    main()
