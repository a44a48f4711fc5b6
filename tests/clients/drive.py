"""Drives a running fake drive with the vendor's own Python client, pointed at it by its addresses alone.

The client builds its requests from the description of the real API that it ships, so a drive that deviates from it
fails here. Prints one line per step and ends with a status other than 0 at the first step that is not as expected.
"""

import argparse
import io
import os
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer

os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"  # the drive is on the loopback interface

import requests
from google.auth.exceptions import RefreshError
from google.auth.transport.requests import Request
from google_auth_oauthlib.flow import Flow
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError
from googleapiclient.http import MediaIoBaseDownload

SCOPES = [
    "openid",
    "https://www.googleapis.com/auth/userinfo.email",
    "https://www.googleapis.com/auth/drive.readonly",
]
REDIRECT = "http://127.0.0.1:1/back"
FIELDS = "nextPageToken,incompleteSearch,files(id,name,mimeType,parents,capabilities(canDownload,canAccessViaGenAi))"
DRIVES = {"supportsAllDrives": True, "includeItemsFromAllDrives": True}
EMAIL = "lena@example.test"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("url", "client-id", "client-secret"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    root = command(args, "account", email=EMAIL)["root"]
    credentials = check_consent(args)
    drive = build(
        "drive", "v3", credentials=credentials, static_discovery=True,
        client_options={"api_endpoint": f"{args.url}/drive/v3/"},
    )
    check_about(drive)
    check_listing(args, drive, root)
    check_retries(args, drive)
    check_changes(args, drive, root)
    check_content(args, drive, root)
    check_shared_drives(args, drive)
    check_watch(args, drive, root)
    check_errors(drive)
    check_end(args, credentials)
    step("all steps passed")


def step(text):
    print(f"drive: {text}", flush=True)


def command(args, do, **fields):
    answer = requests.post(f"{args.url}/admin", json={"do": do, **fields}, timeout=30)
    assert answer.ok, answer.text
    return answer.json()


def check_consent(args):
    config = {
        "web": {
            "client_id": args.client_id,
            "client_secret": args.client_secret,
            "auth_uri": f"{args.url}/o/oauth2/v2/auth",
            "token_uri": f"{args.url}/token",
        }
    }
    flow = Flow.from_client_config(config, scopes=SCOPES, redirect_uri=REDIRECT, autogenerate_code_verifier=True)
    address, state = flow.authorization_url(access_type="offline", prompt="consent")
    assert "code_challenge_method=S256" in address, address
    command(args, "planConsent", consent={"answer": "allow", "email": EMAIL})
    answer = requests.get(address, allow_redirects=False, timeout=30)
    assert answer.status_code == 302, answer.text
    back = urllib.parse.parse_qs(urllib.parse.urlsplit(answer.headers["Location"]).query)
    assert back["state"] == [state]
    flow.fetch_token(code=back["code"][0])
    credentials = flow.credentials  # every look at it makes another
    assert credentials.refresh_token
    before = credentials.token
    credentials.refresh(Request())
    assert credentials.token != before
    step("consent with PKCE, exchange and refresh")
    return credentials


def check_about(drive):
    user = drive.about().get(fields="user(emailAddress,permissionId,displayName)").execute()["user"]
    assert user["emailAddress"] == EMAIL and user["displayName"] == "Lena", user
    step("about")


def check_listing(args, drive, root):
    folder = command(args, "addFolder", parent=root, name="Many")["id"]
    for number in range(25):
        command(args, "addDoc", parent=folder, name=f"Doc {number}", markdown=f"# Doc {number}")
    names, files = [], drive.files()
    request = files.list(q=f"'{folder}' in parents and trashed = false", pageSize=10, fields=FIELDS, **DRIVES)
    pages = 0
    while request is not None:
        page = request.execute()
        names += [file["name"] for file in page["files"]]
        request, pages = files.list_next(request, page), pages + 1
    assert names == [f"Doc {number}" for number in range(25)] and pages == 3, (names, pages)
    step("a listing in pages")


def check_retries(args, drive):
    fault = {"path": "/drive/v3/files", "times": 2, "effect": {
        "kind": "reason", "status": 403, "reason": "userRateLimitExceeded"}}
    command(args, "plan", fault=fault)
    request = drive.files().list(pageSize=1)
    request._sleep = lambda seconds: None
    assert len(request.execute(num_retries=3)["files"]) == 1
    statuses = [seen["status"] for seen in command(args, "requests") if seen["path"] == "/drive/v3/files"][-3:]
    assert statuses == [403, 403, 200], statuses
    step("the client comes again after 403 userRateLimitExceeded")


def check_changes(args, drive, root):
    token = drive.changes().getStartPageToken(supportsAllDrives=True).execute()["startPageToken"]
    made = [command(args, "addText", parent=root, name=f"t{number}", text="x")["id"] for number in range(3)]
    command(args, "remove", id=made[0])
    seen = []
    while True:
        page = drive.changes().list(pageToken=token, pageSize=1, includeRemoved=True, **DRIVES).execute()
        seen += [(change["fileId"], change["removed"]) for change in page["changes"]]
        if "newStartPageToken" in page:
            break
        token = page["nextPageToken"]
    assert seen == [(made[1], False), (made[2], False), (made[0], True)], seen
    step("changes in pages, with a removal")


def check_content(args, drive, root):
    doc = command(args, "addDoc", parent=root, name="Plan", markdown="# Plan\n\nSail north.\n")["id"]
    assert drive.files().export(fileId=doc, mimeType="text/markdown").execute() == b"# Plan\n\nSail north.\n"
    tables = [{"name": "One", "rows": [["a", "1"]]}]
    sheet = command(args, "addSheet", parent=root, name="Table", tables=tables)["id"]
    assert drive.files().export(fileId=sheet, mimeType=XLSX).execute().startswith(b"PK")
    text = "0123456789" * 100
    file = command(args, "addText", parent=root, name="digits.txt", text=text)["id"]
    target = io.BytesIO()
    loader, done = MediaIoBaseDownload(target, drive.files().get_media(fileId=file), chunksize=300), False
    while not done:
        _, done = loader.next_chunk()
    assert target.getvalue().decode() == text
    operation = drive.files().download(fileId=doc, mimeType="text/plain").execute()
    while not operation.get("done"):
        operation = drive.operations().get(name=operation["name"]).execute()
    assert operation["response"]["downloadUri"].startswith(args.url), operation
    step("exports, bytes in ranges, a download in the background")


def check_shared_drives(args, drive):
    made = [command(args, "addDrive", name=f"Team {number}", members=[EMAIL])["id"] for number in range(3)]
    doc = command(args, "addDoc", parent=made[0], name="Ours", markdown="x")["id"]
    names, request = [], drive.drives().list(pageSize=2)
    while request is not None:
        page = request.execute()
        names += [entry["name"] for entry in page["drives"]]
        request = drive.drives().list_next(request, page)
    assert sorted(names) == ["Team 0", "Team 1", "Team 2"], names
    found = drive.files().list(corpora="drive", driveId=made[0], **DRIVES).execute()["files"]
    assert [file["id"] for file in found] == [doc], found
    assert refusal(drive.files().get(fileId=doc)) == (404, "notFound")
    step("shared drives")


def check_watch(args, drive, root):
    posts, arrived = [], threading.Semaphore(0)

    class Listener(BaseHTTPRequestHandler):
        def do_POST(self):
            posts.append((self.headers["X-Goog-Resource-State"], self.headers["X-Goog-Channel-Token"]))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
            arrived.release()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    token = drive.changes().getStartPageToken().execute()["startPageToken"]
    body = {"id": "channel-1", "type": "web_hook", "address": f"http://127.0.0.1:{server.server_port}/", "token": "s"}
    channel = drive.changes().watch(pageToken=token, body=body).execute()
    command(args, "addFolder", parent=root, name="New")
    assert arrived.acquire(timeout=10) and arrived.acquire(timeout=10), posts
    assert posts == [("sync", "s"), ("change", "s")], posts
    drive.channels().stop(body={"id": channel["id"], "resourceId": channel["resourceId"]}).execute()
    server.shutdown()
    step("a channel with its notifications")


def refusal(request):
    try:
        request.execute()
    except HttpError as error:
        return error.resp.status, error.error_details[0]["reason"]
    raise AssertionError("it was not refused")


def check_errors(drive):
    files = drive.files()
    assert refusal(files.get(fileId="nothing")) == (404, "notFound")
    assert refusal(files.list(q="id = 'x'")) == (400, "invalid")
    assert refusal(files.list(fields="files(idd)")) == (400, "invalid")
    assert refusal(drive.about().get()) == (400, "required")
    step("errors with their details")


def check_end(args, credentials):
    answer = requests.post(f"{args.url}/revoke", data={"token": credentials.refresh_token}, timeout=30)
    assert answer.ok, answer.text
    try:
        credentials.refresh(Request())
    except RefreshError as error:
        assert "invalid_grant" in str(error), error
    else:
        raise AssertionError("a permission that was revoked still gives tokens")
    step("a permission that ends")


main()
