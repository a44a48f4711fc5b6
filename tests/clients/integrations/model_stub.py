"""Stands in for a chat model behind OpenAI's endpoint for chat completions, on loopback.

It keeps what it was sent, and answers with what a script put into its queue: a text, or calls of
tools. With an empty queue it answers "Noted." As the request asks, it answers in one piece or as a
stream.
"""

import json

from loopback import QuietHandler, serve

MODEL = "gpt-4.1-mini"
KEY = "the key of the model"


class ModelStub:
    def __init__(self):
        self.requests = []
        self.answers = []
        stub = self

        class Endpoint(ModelHandler):
            def do_POST(self):
                stub.respond(self)

        self.url = f"{serve(Endpoint)}/v1"

    def will_say(self, text):
        self.answers.append(spoken(text))

    def will_call(self, *calls):
        """Queues an answer that calls tools: pairs of a name and its arguments."""
        tool_calls = [
            {
                "index": index,
                "id": f"call_{len(self.requests)}_{index}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for index, (name, arguments) in enumerate(calls)
        ]
        message = {"role": "assistant", "content": None, "tool_calls": tool_calls}
        self.answers.append((message, "tool_calls"))

    def told(self, role, request=-1):
        """The texts of the messages of a role in the last request, or in another one."""
        messages = self.requests[request]["messages"]
        return [text_of(message) for message in messages if message["role"] == role]

    def respond(self, handler):
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        if handler.path != "/v1/chat/completions":
            error = {"error": {"message": f"there is no {handler.path}"}}
            handler.answer(404, "application/json", json.dumps(error))
            return
        self.requests.append(body)
        message, reason = self.answers.pop(0) if self.answers else NOTED
        if body.get("stream"):
            handler.answer(200, "text/event-stream", stream(message, reason))
        else:
            choice = {"index": 0, "message": message, "finish_reason": reason}
            answer = completion("chat.completion", choice)
            handler.answer(200, "application/json", json.dumps(answer))


class ModelHandler(QuietHandler):
    def answer(self, status, content_type, text):
        payload = text.encode()
        self.send_response_only(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


def stream(message, reason):
    """An answer as server-sent events: the message, then the reason for its end."""
    choices = [
        {"index": 0, "delta": message, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": reason},
    ]
    events = [json.dumps(completion("chat.completion.chunk", choice)) for choice in choices]
    return "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"])


def completion(kind, choice):
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": "chatcmpl-1",
        "object": kind,
        "created": 1767225600,
        "model": MODEL,
        "choices": [choice],
        "usage": usage,
    }


def text_of(message):
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def spoken(text):
    return {"role": "assistant", "content": text}, "stop"


NOTED = spoken("Noted.")
