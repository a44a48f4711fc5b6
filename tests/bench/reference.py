"""Reference text of the files that fixtures.py collected, by extractors that share nothing with ours.

    reference.py FOLDER FILE...     writes FOLDER/FILE.ref.txt, unless it is there or the extractor cannot read the file

PDF: PyMuPDF. DOCX, ODT, EPUB, RTF: pandoc's plain text. PPTX: python-pptx, shapes, tables and notes. XLSX: openpyxl.
XLS: xlrd. ODS: odfpy, the text as displayed. HTML: trafilatura, the readable part. EML: the email package, subject,
addresses (a date may be written in another form) and the plain body, else the HTML body. IPYNB: sources and textual
outputs. CSV, Markdown, text: itself, decoded.
"""

import codecs
import email
import email.policy
import io
import json
import multiprocessing
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import openpyxl
import pptx
import pymupdf
import pypandoc
import trafilatura
import xlrd
from odf import opendocument, table, teletype, text

SECONDS_FOR_A_FILE = 60


def pdf(path):
    with pymupdf.open(path) as document:
        return "\n".join(page.get_text() for page in document)


def by_pandoc(path):
    return pypandoc.convert_file(str(path), "plain", format=path.suffix[1:], extra_args=["--wrap=none"])


def slides(path):
    def texts(shapes):
        for shape in shapes:
            if hasattr(shape, "shapes"):
                yield from texts(shape.shapes)
            if shape.has_text_frame:
                yield shape.text_frame.text
            if getattr(shape, "has_table", False) and shape.has_table:
                yield from (cell.text for row in shape.table.rows for cell in row.cells)

    found = []
    for slide in pptx.Presentation(str(path)).slides:
        found += texts(slide.shapes)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame:
            found.append(slide.notes_slide.notes_text_frame.text)
    return "\n".join(found)


def shown(value, number_format=""):
    """A cell as text: dates in ISO form without a midnight, numbers shortest, percentages with the decimals of their
    format. Other number formats (currency, thousands, the local order of a date) are not applied."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, (int, float)):
        if "%" in number_format:
            decimals = re.search(r"0\.(0+)%", number_format)
            return f"{value * 100:.{len(decimals[1]) if decimals else 0}f}%"
        return f"{value:.15g}"
    return str(value).removesuffix(" 00:00:00")


def xlsx(path):
    book = openpyxl.load_workbook(path, data_only=True)
    sheets = []
    for sheet in book.worksheets:
        rows = ("\t".join(shown(cell.value, cell.number_format or "") for cell in row) for row in sheet.iter_rows())
        sheets.append((sheet.title, [row for row in rows if row.strip()]))
    return joined_sheets(sheets)


def xls(path):
    book = xlrd.open_workbook(path, formatting_info=True, logfile=io.StringIO())

    def formatted(cell):
        if cell.ctype == xlrd.XL_CELL_DATE:
            moment = xlrd.xldate_as_datetime(cell.value, book.datemode)
            return str(moment.time()) if cell.value < 1 else shown(moment)
        if cell.ctype == xlrd.XL_CELL_ERROR:
            return xlrd.error_text_from_code.get(cell.value, "")
        if cell.ctype == xlrd.XL_CELL_BOOLEAN:
            return shown(bool(cell.value))
        return shown(cell.value or (0 if cell.ctype == xlrd.XL_CELL_NUMBER else ""),
                     book.format_map[book.xf_list[cell.xf_index].format_key].format_str)

    sheets = [(sheet.name, ["\t".join(map(formatted, row)) for row in sheet.get_rows()]) for sheet in book.sheets()]
    return joined_sheets(sheets)


def ods(path):
    sheets = []
    for sheet in opendocument.load(str(path)).getElementsByType(table.Table):
        cells = [teletype.extractText(each) for each in sheet.getElementsByType(text.P)]
        sheets.append((sheet.getAttribute("name") or "", cells))
    return joined_sheets(sheets)


def joined_sheets(sheets):
    """Names and rows of the sheets that have any text: the name of an empty sheet says nothing."""
    filled = ([name, *rows] for name, rows in sheets if "".join(rows).strip())
    return "\n".join(line for sheet in filled for line in sheet)


def html_text(path):
    return trafilatura.extract(path.read_bytes(), include_comments=False) or ""


def eml(path):
    message = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
    lines = [str(message[header]) for header in ("subject", "from", "to", "cc") if message[header]]
    if not lines:
        return ""  # Not a message.
    for kind in ("plain", "html"):
        part = message.get_body((kind,))
        content = part.get_content() if part else ""
        if content.strip():
            lines.append(trafilatura.html2txt(content) if kind == "html" else content)
            break
    return "\n".join(lines)


def ipynb(path):
    def joined(lines):
        return lines if isinstance(lines, str) else "".join(lines)

    lines = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        lines.append(joined(cell["source"]))
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            lines.append(joined(output.get("text") or data.get("text/markdown") or data.get("text/plain") or ""))
    return "\n".join(lines)


def decoded(path):
    """Text in UTF-8, or in UTF-16 with a mark; the name of a fixture of chardet begins with its encoding."""
    data = path.read_bytes()
    encoding = encoding_of(path.name) if path.name.startswith("chardet-") else None
    return data.decode(encoding or ("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"))


def encoding_of(name):
    """The longest beginning of the name, without its package, that is an encoding."""
    parts = name.lower().replace("-mac", "-mac-").split("-")[1:]
    for count in range(len(parts), 0, -1):
        try:
            return codecs.lookup("-".join(filter(None, parts[:count]))).name
        except LookupError:
            continue
    return None


REFERENCES = {
    "pdf": pdf, "docx": by_pandoc, "odt": by_pandoc, "epub": by_pandoc, "rtf": by_pandoc, "pptx": slides, "xlsx": xlsx,
    "xls": xls, "ods": ods, "html": html_text, "eml": eml, "ipynb": ipynb, "csv": decoded, "md": decoded,
    "txt": decoded,
}


def refer(path, target):
    """Writes the reference of one file; what the extractor cannot read has none."""
    sys.stderr = sys.stdout = open(os.devnull, "w")
    try:
        text = REFERENCES[path.parent.name](path)
    except BaseException:  # Of any library, whatever it throws at a broken file.
        return
    if text.strip():
        target.write_text(text, encoding="utf-8", errors="replace")


def refer_all(folder, files):
    """Each file in a process of its own: some end or stand still on broken files."""
    fork = multiprocessing.get_context("fork")

    def one(name):
        target = folder / f"{name}.ref.txt"
        if target.exists():
            return
        process = fork.Process(target=refer, args=(folder / name, target))
        process.start()
        process.join(SECONDS_FOR_A_FILE)
        process.kill()

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, files))


if __name__ == "__main__":
    refer_all(Path(sys.argv[1]), sys.argv[2:])
