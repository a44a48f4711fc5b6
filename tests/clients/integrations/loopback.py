"""Servers of the scripts, on loopback, which end with the script."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class QuietHandler(BaseHTTPRequestHandler):
    """Answers requests and logs none of them."""

    def log_message(self, *_):
        pass


def serve(handler):
    """Starts a server on a free port and returns its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"
