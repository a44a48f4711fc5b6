"""Stands in for a chat model behind an OpenAI-compatible endpoint, on loopback.

It has no wit: its answer repeats the system message, so that a test sees what the chatbot told the model. A request with
another key or model than the given ones is refused, as a provider does. Prints its base URL when it is ready.

Usage: chat_stub.py --key KEY --model MODEL
"""

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--key", required=True)
    parser.add_argument("--model", required=True)
    args = parser.parse_args()

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if self.path != "/v1/chat/completions":
                self.answer(404, {"error": {"message": f"there is no {self.path}"}})
            elif self.headers["authorization"] != f"Bearer {args.key}":
                self.answer(401, {"error": {"message": "Incorrect API key provided"}})
            elif body["model"] != args.model:
                self.answer(404, {"error": {"message": f"The model {body['model']} does not exist"}})
            else:
                self.answer(200, completion(body["messages"]))

        def answer(self, status, body):
            payload = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


def completion(messages):
    told = [message["content"] for message in messages if message["role"] == "system"]
    turns = sum(message["role"] == "user" for message in messages)
    content = f"Turn {turns}. I was told: {json.dumps(told)}"
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]}


main()
