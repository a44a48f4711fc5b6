"""Stands between a client and Recollect, on loopback.

It forwards every request and every answer as it is, and keeps both, so that a script can check what
its client sent and can print what went wrong. On demand it answers with an error itself, as a
service in trouble does.
"""

import http.client
import json
from dataclasses import dataclass
from urllib.parse import urlsplit

from loopback import QuietHandler, serve

KEPT = 6  # exchanges in a report
SHOWN = 3000  # characters of a request or an answer in a report
# Headers that concern one connection, or that would make the kept answers unreadable.
NOT_FORWARDED = {
    "accept-encoding",
    "connection",
    "content-length",
    "host",
    "keep-alive",
    "transfer-encoding",
}


@dataclass
class Exchange:
    """A request and its answer."""

    method: str
    path: str
    body: bytes
    status: int
    answer: bytes

    def json(self):
        return json.loads(self.body)

    def __str__(self):
        request, answer = shown(self.body), shown(self.answer)
        return f"{self.method} {self.path} {request}\n  {self.status} {answer}"


class Recorder:
    """A proxy in front of the server at `target`; clients use its `url`."""

    def __init__(self, target):
        self.target = urlsplit(target)
        self.exchanges = []
        self.failures = []
        recorder = self

        class Handler(RecordingHandler):
            def do(self):
                recorder.forward(self)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = do_OPTIONS = do

        self.url = serve(Handler)

    def fail(self, path, status, times=1):
        """Answers the next requests to this path with this status, without forwarding them."""
        self.failures += [(path, status)] * times

    def sent(self, method, path):
        """The requests that clients made to a path, the oldest first."""
        return [one for one in self.exchanges if (one.method, one.path) == (method, path)]

    def report(self, since):
        """The last requests after the first `since`, with their answers, as text."""
        return "\n".join(str(one) for one in self.exchanges[since:][-KEPT:])

    def forward(self, handler):
        body = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        failure = next((one for one in self.failures if one[0] == handler.path), None)
        if failure:
            self.failures.remove(failure)
            status, headers, answer = failure[1], [], b'{"error": "made by the recorder"}'
        else:
            status, headers, answer = self.ask(handler, body)
        self.exchanges.append(Exchange(handler.command, handler.path, body, status, answer))
        handler.answer(status, headers, answer)

    def ask(self, handler, body):
        """Sends the request of a client to the server and returns its answer."""
        headers = dict(forwarded(handler.headers.items()))
        connection = http.client.HTTPConnection(self.target.hostname, self.target.port, timeout=60)
        try:
            connection.request(handler.command, handler.path, body or None, headers)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()


class RecordingHandler(QuietHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # one packet for head and body
    disable_nagle_algorithm = True

    def answer(self, status, headers, body):
        self.send_response_only(status)
        for name, value in forwarded(headers):
            self.send_header(name, value)
        if status != 204:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def forwarded(headers):
    return [(name, value) for name, value in headers if name.lower() not in NOT_FORWARDED]


def shown(body):
    return body.decode(errors="replace")[:SHOWN]
