"""Makes the fixtures of this folder: `pip install reportlab pypdf cryptography xlwt && python make.py`.

Every text in them is ours. PDF output is reproducible (`invariant`), except for the random
salt of the encrypted one.
"""

import io
import pathlib

import xlwt
from pypdf import PdfReader, PdfWriter
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen import canvas

HERE = pathlib.Path(__file__).parent

PAGES = [
    (
        "The lighthouse at Tern Point",
        [
            "The lighthouse at Tern Point was built in 1871 by the engineer Ada Morrow.",
            "Its lamp burned whale oil until 1902, when the keeper Jonas Field",
            "replaced it with an electric arc of 40,000 candles.",
        ],
    ),
    (
        "Visitors",
        [
            "Since 1998 the tower is open to visitors from April to October.",
            "The ticket costs 6.50 euro and the order code is TP-4471-X.",
        ],
    ),
]


def text_pdf() -> bytes:
    out = io.BytesIO()
    page = canvas.Canvas(out, pagesize=A4, invariant=1)
    page.setTitle("Tern Point")
    page.setAuthor("Ada Morrow")
    for heading, lines in PAGES:
        page.bookmarkPage(heading)
        page.addOutlineEntry(heading, heading, 0)
        page.setFont("Helvetica-Bold", 16)
        page.drawString(72, 770, heading)
        page.setFont("Helvetica", 11)
        for row, line in enumerate(lines):
            page.drawString(72, 735 - 14 * row, line)
        page.showPage()
    page.save()
    return out.getvalue()


def drawing_pdf() -> bytes:
    """A page without any text, like a scan."""
    out = io.BytesIO()
    page = canvas.Canvas(out, pagesize=A4, invariant=1)
    page.rect(100, 100, 200, 300, fill=1)
    page.showPage()
    page.save()
    return out.getvalue()


def encrypted(pdf: bytes, user_password: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf)))
    writer.encrypt(user_password, owner_password="owner", algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def old_workbook() -> bytes:
    workbook = xlwt.Workbook()
    sheet = workbook.add_sheet("Old")
    for row, cells in enumerate([("Name", "n"), ("Zoë", 3.5)]):
        for column, value in enumerate(cells):
            sheet.write(row, column, value)
    out = io.BytesIO()
    workbook.save(out)
    return out.getvalue()


WEB_PAGE = """<!DOCTYPE html>
<html lang="en"><head>
<meta charset="utf-8">
<title>How tides are predicted | Harbour Notes</title>
<meta name="author" content="Mira Osei">
<meta property="article:published_time" content="2024-03-05T08:00:00Z">
<meta property="og:image" content="https://harbour.example/tide.png">
<style>body { color: navy }</style>
<script>window.tracker = "do not index me";</script>
</head><body>
<nav class="menu"><ul><li><a href="/">Home</a></li><li><a href="/subscribe">Subscribe today</a></li></ul></nav>
<div id="cookie-banner" class="cookie-consent">We use cookies to improve your experience.</div>
<main><article>
<h1>How tides are predicted</h1>
<p>Tides follow the moon, but the shape of a harbour decides how high the water comes. A prediction therefore
starts from <b>measurements</b>: a gauge writes down the level every six minutes, for at least a month.</p>
<h2>Harmonic constituents</h2>
<p>The record is then taken apart into <em>constituents</em>, each with its own period. The largest is called
<code>M2</code>, and it repeats every 12.42 hours. Read <a href="https://harbour.example/m2">the note on M2</a>
for its history, which goes back to the work of Lord Kelvin and his brass machine.</p>
<ul><li>M2, the moon twice a day</li><li>S2, the sun twice a day<ul><li>stronger at the equinox</li></ul></li></ul>
<table><thead><tr><th>Name</th><th>Period (h)</th></tr></thead>
<tbody><tr><td>M2</td><td>12.42</td></tr><tr><td>S2</td><td>12.00</td></tr></tbody></table>
<pre><code class="language-python">level = sum(a * cos(w * t + p)
            for a, w, p in parts)
</code></pre>
<p>Weather is not part of it. A storm can add a metre to the height that was predicted, so the published tables
say in a footnote that wind and pressure were left out, and that the master of a vessel should watch both.</p>
</article></main>
<aside class="related-posts"><h3>Related</h3><a href="/a">Ten knots everyone should know</a></aside>
<footer><p>Copyright 2024 Harbour Notes. All rights reserved.</p></footer>
</body></html>
"""

RUSSIAN = (
    "Маяк на мысе был построен в 1871 году. Смотритель каждую ночь поднимался по винтовой лестнице и "
    "проверял лампу. Зимой море замерзало, и корабли не приходили до самого апреля.\n"
)
JAPANESE = (
    "岬の灯台は一八七一年に建てられました。灯台守は毎晩らせん階段を上り、ランプを確かめました。"
    "冬になると海が凍り、四月まで船は来ませんでした。\n"
)
FRENCH = "Le phare fut bâti en 1871. Le gardien vérifiait la lampe chaque nuit, même l’hiver où la mer gelait.\n"


def main() -> None:
    pdf = text_pdf()
    files = {
        "two-pages.pdf": pdf,
        "encrypted.pdf": encrypted(pdf, "secret"),
        "owner-password.pdf": encrypted(pdf, ""),
        "truncated.pdf": pdf[: len(pdf) * 2 // 5],
        "no-text.pdf": drawing_pdf(),
        "old.xls": old_workbook(),
        "page.html": WEB_PAGE.encode(),
        "russian-windows-1251.txt": RUSSIAN.encode("cp1251"),
        "russian-koi8-r.txt": RUSSIAN.encode("koi8-r"),
        "japanese-shift-jis.txt": JAPANESE.encode("shift_jis"),
        "japanese-euc-jp.txt": JAPANESE.encode("euc_jp"),
        "french-windows-1252.txt": FRENCH.encode("cp1252"),
        "french-utf-16le.txt": FRENCH.encode("utf-16-le"),
        "japanese-utf-16be-bom.txt": b"\xfe\xff" + JAPANESE.encode("utf-16-be"),
    }
    for name, data in files.items():
        (HERE / name).write_bytes(data)


if __name__ == "__main__":
    main()
