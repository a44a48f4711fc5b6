"""The measured systems behind one interface.

Each has `add(texts)`, which returns when the texts can be found or are being processed, `wait()`, which returns when all
can be found, `search(question)`, which returns the texts of the ten best results, and `processes()`, the ids of the
processes that do its work. `batches` says whether it takes several texts in one call.
"""

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import numpy
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

sys.path.append(str(Path(__file__).resolve().parents[1]))
from machine import Client

MODEL = Path(__file__).resolve().parents[3] / "shared" / "search-engine" / "model"
DIMENSIONS = 256
# The last of the special pieces, which have no rows.
UNKNOWN = 1


class Embedder:
    """The built-in embedding of Recollect: the mean of a table's rows over the word pieces of a text."""

    def __init__(self):
        pieces = (MODEL / "vocab.txt").read_text().splitlines()
        vocabulary = {piece: number for number, piece in enumerate(pieces)}
        self.tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=pieces[UNKNOWN]))
        self.tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        self.tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        rows = numpy.fromfile(MODEL / "rows.bin", dtype=numpy.int8).reshape(-1, DIMENSIONS)
        scales = numpy.fromfile(MODEL / "scales.bin", dtype=numpy.float32)
        self.rows = rows * scales[:, None]

    def embed(self, text):
        ids = [one for one in self.tokenizer.encode(text).ids if one > UNKNOWN]
        mean = self.rows[ids].sum(axis=0) if ids else numpy.ones(DIMENSIONS)
        return (mean / numpy.linalg.norm(mean)).astype(numpy.float32).tolist()


class Server:
    """A system that is a process of its own."""

    def start(self, command, ready):
        self.server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                return ready()
            except Exception:
                time.sleep(0.02)
        raise SystemExit(f"{command[0]} did not start")

    def processes(self):
        return [os.getpid(), self.server.pid]

    def stop(self):
        self.server.send_signal(signal.SIGTERM)
        self.server.wait()


class Recollect(Server):
    batches = True
    port = 17895

    def __init__(self, folder, binary):
        self.clients = threading.local()
        command = [binary, "serve", "--data", folder, "--port", str(self.port)]
        self.start(command, lambda: Client(self.port).send("GET", "/v3/session"))

    def send(self, method, path, body=None):
        if not hasattr(self.clients, "own"):
            self.clients.own = Client(self.port)
        return self.clients.own.send(method, path, body)

    def add(self, texts):
        if len(texts) == 1:
            self.send("POST", "/v3/documents", {"containerTag": "box", "content": texts[0]})
        else:
            documents = [{"content": text} for text in texts]
            self.send("POST", "/v3/documents/batch", {"containerTag": "box", "documents": documents})

    def wait(self):
        while self.send("GET", "/v3/documents/processing?limit=1")["totalCount"]:
            time.sleep(0.2)

    def search(self, question):
        body = {"q": question, "containerTag": "box", "searchMode": "documents", "limit": 10, "threshold": 0}
        return [result.get("chunk") or "" for result in self.send("POST", "/v4/search", body)["results"]]


class Chroma(Server):
    batches = True
    port = 17896

    def __init__(self, folder, _):
        import chromadb

        self.embedder = Embedder()
        program = str(Path(sys.executable).parent / "chroma")
        command = [program, "run", "--path", folder, "--host", "127.0.0.1", "--port", str(self.port)]

        def ready():
            client = chromadb.HttpClient(host="127.0.0.1", port=self.port)
            self.collection = client.get_or_create_collection("box", embedding_function=None)

        self.start(command, ready)

    def add(self, texts):
        embeddings = [self.embedder.embed(text) for text in texts]
        self.collection.add(ids=[str(uuid.uuid4()) for _ in texts], documents=texts, embeddings=embeddings)

    def wait(self):
        pass

    def search(self, question):
        found = self.collection.query(query_embeddings=[self.embedder.embed(question)], n_results=10)
        return found["documents"][0]


class InProcess:
    """A system that is a library."""

    def wait(self):
        pass

    def processes(self):
        return [os.getpid()]

    def stop(self):
        pass


class Mem0(InProcess):
    batches = False

    def __init__(self, folder, _):
        from mem0 import Memory

        # Its embedded qdrant takes one call at a time.
        self.turn = threading.Lock()
        store = {"path": folder, "embedding_model_dims": DIMENSIONS, "on_disk": True, "collection_name": "box"}
        config = {"vector_store": {"provider": "qdrant", "config": store}, "history_db_path": f"{folder}/history.db"}
        self.memory = Memory.from_config(config)
        embedder = Embedder()

        class Model:
            config = self.memory.embedding_model.config

            def embed(self, text, memory_action=None):
                return embedder.embed(text)

            def embed_batch(self, texts, memory_action=None):
                return [embedder.embed(text) for text in texts]

        self.memory.embedding_model = Model()

    def add(self, texts):
        for text in texts:
            with self.turn:
                self.memory.add(text, user_id="box", infer=False)

    def search(self, question):
        found = self.memory.search(question, filters={"user_id": "box"}, top_k=10, threshold=0.0)
        return [result["memory"] for result in found["results"]]


class LanceDb(InProcess):
    batches = True

    def __init__(self, folder, _):
        import lancedb
        import pyarrow

        self.embedder = Embedder()
        vector = pyarrow.list_(pyarrow.float32(), DIMENSIONS)
        schema = pyarrow.schema([("id", pyarrow.string()), ("text", pyarrow.string()), ("vector", vector)])
        self.table = lancedb.connect(folder).create_table("box", schema=schema, exist_ok=True)

    def add(self, texts):
        rows = [{"id": str(uuid.uuid4()), "text": text, "vector": self.embedder.embed(text)} for text in texts]
        self.table.add(rows)

    def search(self, question):
        found = self.table.search(self.embedder.embed(question)).limit(10).to_list()
        return [row["text"] for row in found]


SYSTEMS = {"recollect": Recollect, "chroma": Chroma, "mem0": Mem0, "lancedb": LanceDb}
