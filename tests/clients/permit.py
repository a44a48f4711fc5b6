"""Permits access to the demo's drive as a person does in a browser: opens the link, continues, and allows.

Usage: permit.py LINK
"""

import http.cookiejar
import sys
import urllib.request
from html.parser import HTMLParser
from urllib.parse import urlencode, urljoin


class Page(HTMLParser):
    """The first link of a page, and its form as a browser sends it when the button `allow` is pressed."""

    def __init__(self, answer):
        super().__init__()
        self.link, self.action, self.fields = None, None, {}
        self.feed(answer.read().decode())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "a":
            self.link = self.link or attributes["href"]
        elif tag == "form":
            self.action = attributes["action"]
        elif tag == "input" and (attributes["type"] == "hidden" or "checked" in attributes):
            self.fields[attributes["name"]] = attributes["value"]
        elif tag == "button" and attributes["value"] == "allow":
            self.fields[attributes["name"]] = attributes["value"]


def main():
    cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    browser = urllib.request.build_opener(cookies)
    welcome = Page(browser.open(sys.argv[1], timeout=30))
    question = browser.open(welcome.link, timeout=30)
    form = Page(question)
    body = urlencode(form.fields).encode()
    end = browser.open(urljoin(question.url, form.action), body, timeout=30)
    assert end.url.endswith("/picker"), f"permission led to {end.url}"


main()
