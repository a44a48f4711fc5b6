"""A chatbot that remembers its users. Usage: python chatbot.py USER"""

import os
import sys
import uuid

import httpx  # comes with supermemory
from supermemory import APIConnectionError, APIError, Supermemory

RECOLLECT_URL = os.environ.get("RECOLLECT_URL", "http://127.0.0.1:8787")
SYSTEM_PROMPT = """You are a friendly assistant. This is what you know about the user from earlier conversations. \
Follow the user's instructions in it, and use the rest where it helps to answer.

"""


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: python chatbot.py USER")
    user = sys.argv[1]
    recollect = Supermemory(base_url=RECOLLECT_URL, api_key=os.environ.get("RECOLLECT_KEY", "local"))
    model_url, model = setting("OPENAI_BASE_URL"), setting("OPENAI_MODEL")

    conversation_id = uuid.uuid4().hex
    messages = []
    for question in questions():
        messages.append({"role": "user", "content": question})
        memory = remember(recollect, user, question)
        answer = ask_model(model_url, model, [{"role": "system", "content": SYSTEM_PROMPT + memory}, *messages])
        print(answer, flush=True)
        messages.append({"role": "assistant", "content": answer})
        store(recollect, user, conversation_id, messages)


def setting(name):
    value = os.environ.get(name)
    if not value:
        sys.exit(f"Set {name}. For a model in Ollama: OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_MODEL=qwen3:8b")
    return value


def questions():
    """Yields what the user types, or the lines of a file or pipe."""
    prompt = "> " if sys.stdin.isatty() else ""
    while True:
        try:
            question = input(prompt).strip()
        except EOFError:
            return
        if question:
            yield question


def remember(recollect, user, question):
    """Returns the profile of the user and the memories that answer the question, as text for a prompt."""
    body = {"containerTag": user, "q": question}
    return recollect.post("/v4/profile", body=body, cast_to=str, options={"headers": {"Accept": "text/markdown"}})


def store(recollect, user, conversation_id, messages):
    # Always the whole conversation: Recollect keeps what is new in it. Memories form in the background.
    body = {"containerTag": user, "conversationId": conversation_id, "messages": messages}
    recollect.post("/v4/conversations", body=body, cast_to=object)


def ask_model(url, model, messages):
    key = os.environ.get("OPENAI_API_KEY")
    headers = {"authorization": f"Bearer {key}"} if key else {}  # a model on your machine needs none
    body = {"model": model, "messages": messages}
    try:
        response = httpx.post(f"{url.rstrip('/')}/chat/completions", json=body, headers=headers, timeout=120)
    except httpx.RequestError as error:
        sys.exit(f"No answer from the model at {url}: {error}")
    if response.is_error:
        sys.exit(f"The model at {url} answered {response.status_code}: {response.text}")
    return response.json()["choices"][0]["message"]["content"]


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("Stopped.")
    except APIConnectionError:
        sys.exit(f"No answer from Recollect at {RECOLLECT_URL}. Start it, or set RECOLLECT_URL.")
    except APIError as error:
        sys.exit(f"Recollect at {RECOLLECT_URL}: {error}")
