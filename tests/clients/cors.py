"""Calls a running Recollect from a web page of another origin, in a real browser, with the unmodified npm client.

The page has a key that reaches one container. The browser decides by the headers of the answers (CORS) what the page may
send and read. Prints one line per step and ends with a status other than 0 at the first step that is not as expected.

Usage: cors.py --url URL --key KEY --package FOLDER --chromium PATH [--closed-url URL]
"""

import argparse
import functools
import http.server
import json
import sys
import threading
import urllib.request
import uuid
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Error, sync_playwright

from picker import FLAGS

sys.path.append(str(Path(__file__).parent / "integrations"))
from recorder import Recorder

PAGE = b"""<!doctype html><title>A page of another origin</title><script type="module">
import Supermemory, { toFile } from "/package/index.mjs";
window.connect = (baseURL, apiKey) => new Supermemory({ baseURL, apiKey, maxRetries: 0 });
window.toFile = toFile;
// Returns what the client made of a request: its answer, or the class, status and body of its error.
window.outcome = async (request) => {
  try {
    return { answer: await request };
  } catch (error) {
    const { status, error: body } = error;
    return { error: error.constructor.name, status, body };
  }
};
window.ready = true;
</script>"""

USE = """async ({ url, key, tag }) => {
  const client = connect(url, key);
  const done = async (id) => {
    for (;;) {
      const document = await client.documents.get(id);
      if (document.status === "done") return document;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  const added = await client.add({ content: "I prefer tea over coffee.", containerTag: tag });
  await done(added.id);
  const file = await toFile(new Blob(["The harbour master keeps a green book."]), "harbour.txt");
  const uploaded = await client.documents.uploadFile({ file, containerTag: tag });
  await done(uploaded.id);
  const found = await client.search.memories({ q: "What does the user drink?", containerTag: tag });
  const profile = await client.profile({ containerTag: tag });
  const updated = await client.documents.update(added.id, { metadata: { kind: "note" } });
  const listed = await client.documents.list({ containerTags: [tag] });
  await client.documents.delete(added.id);
  return {
    memory: found.results[0].memory,
    profile: profile.profile,
    isUpdated: updated.id === added.id,
    metadata: listed.memories.map((one) => one.metadata),
    gone: await outcome(client.documents.get(added.id)),
    elsewhere: await outcome(client.add({ content: "x", containerTag: `${tag}-other` })),
    stranger: await outcome(connect(url, "rk_no_such_key").documents.list()),
  };
}"""

HEADERS = """async ({ url, key, credentials }) => {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const request = { method: "POST", headers, body: "{}", credentials };
  const answer = await fetch(`${url}/v3/documents/list`, request);
  return [...answer.headers.keys()];
}"""


def main():
    args = arguments()
    origin = serve_page(args.package)
    # The browser tells nobody of its preflights, so they are counted on their way.
    recorder = Recorder(args.url)
    url = recorder.url + urlsplit(args.url).path
    tag = f"browser-{uuid.uuid4().hex[:8]}"
    scope = {"url": url, "key": scoped_key(args, tag), "tag": tag}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=args.chromium, args=FLAGS)
        page = browser.new_page()
        open_page(page, origin)
        check_use(page.evaluate(USE, scope))
        check_headers(page, scope)
        check_preflights(page, scope, recorder)
        if args.closed_url:
            check_closed(page, args)
        browser.close()
    step("all steps passed")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("url", "key", "package", "chromium"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--closed-url", help="a Recollect that the pages of other origins may not call")
    return parser.parse_args()


def step(text):
    print(f"browser: {text}", flush=True)


def serve_page(package):
    """Serves the page and the files of the package at an origin of their own, and returns it."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript"}

        def do_GET(self):
            if self.path != "/":
                self.path = self.path.removeprefix("/package")
                return super().do_GET()
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(PAGE)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=package))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def open_page(page, origin):
    """Opens the page, and again if the browser gave up loading a module.

    Chromium ends all connections that it is opening when the network of the machine changes (ERR_NETWORK_CHANGED), which
    each container does that starts or stops.
    """
    failures = []
    page.on("requestfailed", lambda request: failures.append(request.failure))
    for _ in range(6):
        failures.clear()
        try:
            page.goto(origin)
            return page.wait_for_function("window.ready", timeout=5_000)
        except Error as error:
            if not any("ERR_NETWORK_CHANGED" in text for text in (*failures, str(error))):
                raise
            step("the network has changed; opening the page again")
    raise AssertionError("the network changes all the time")


def scoped_key(args, tag):
    headers = {"authorization": f"Bearer {args.key}", "content-type": "application/json"}
    body = json.dumps({"containerTag": tag, "name": "browser"}).encode()
    request = urllib.request.Request(f"{args.url}/v3/auth/scoped-key", body, headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["key"]


def check_use(result):
    assert "tea" in result["memory"], result
    assert any("tea" in line for line in result["profile"]["static"]), result
    assert result["isUpdated"] and {"kind": "note"} in result["metadata"], result
    step("a page adds, uploads, searches, changes, lists and deletes with a scoped key")
    for name, error, status in (
        ("gone", "NotFoundError", 404),
        ("elsewhere", "PermissionDeniedError", 403),
        ("stranger", "AuthenticationError", 401),
    ):
        refusal = result[name]
        assert (refusal.get("error"), refusal.get("status")) == (error, status), (name, refusal)
        assert refusal["body"]["error"], refusal
    step("a page can read why a request was refused")


def check_headers(page, scope):
    headers = page.evaluate(HEADERS, {**scope, "credentials": "omit"})
    assert "x-request-id" in headers, headers
    try:
        page.evaluate(HEADERS, {**scope, "credentials": "include"})
    except Exception as error:
        assert "Failed to fetch" in str(error), error
    else:
        raise AssertionError("a request with cookies is answered to a page of another origin")
    step("the id of a request can be read; requests with cookies cannot be answered")


def check_preflights(page, scope, recorder):
    """The permission for an address is asked for once, and remembered."""
    request = {**scope, "credentials": "omit"}
    page.evaluate(HEADERS, request)
    asked = [one.path for one in recorder.exchanges if one.method == "OPTIONS"]
    assert asked, "the browser asks before it sends a key"
    for _ in range(5):
        page.evaluate(HEADERS, request)
    again = [one.path for one in recorder.exchanges if one.method == "OPTIONS"]
    assert again == asked, again
    step(f"{len(asked)} preflights, none of them again")


def check_closed(page, args):
    refused = page.evaluate(
        "async ({ url, key }) => outcome(connect(url, key).documents.list())",
        {"url": args.closed_url, "key": args.key},
    )
    assert refused.get("error") == "APIConnectionError", refused
    step("a page of an origin that is not configured cannot call the service")


if __name__ == "__main__":
    main()
