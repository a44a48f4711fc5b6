#!/usr/bin/env python3
"""Writes the small inputs that each fuzz target starts from into fuzz/corpus/. Run it when a target reads them differently."""

import json
import shutil
import struct
import zlib
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" '
    'ContentType="application/xml"/></Types>'
)


def put(target, **inputs):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in inputs.items():
        data = data.encode() if isinstance(data, str) else data
        (folder / name.replace("_", "-")).write_bytes(data)


def parts(*named):
    """A package as the targets read it: a line `@@ name` before each part."""
    return "\n".join(f"@@ {name}\n{content}" for name, content in named)


def relations(*targets):
    rows = "".join(
        f'<Relationship Id="rId{n}" Type="{OFFICE}/{kind}" Target="{target}"/>' for n, (kind, target) in enumerate(targets, 1)
    )
    return f'<Relationships xmlns="{RELATIONS}">{rows}</Relationships>'


def office(main, *more):
    """An Office Open XML package around its main part."""
    return parts(("[Content_Types].xml", TYPES), ("_rels/.rels", relations(("officeDocument", main))), *more)


def docx():
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    cell = "<w:tc><w:p><w:r><w:t>40</w:t></w:r></w:p></w:tc>"
    body = (
        '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Tide</w:t></w:r></w:p><w:p><w:pPr><w:numPr><w:ilvl '
        'w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:rPr><w:b/></w:rPr><w:t>low &amp; high</w:t></w:r>'
        '<w:hyperlink r:id="rId2"><w:r><w:t>more</w:t></w:r></w:hyperlink></w:p>'
        f'<w:tbl><w:tr>{cell}<w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr><w:p/></w:tc></w:tr><w:tr>{cell}</w:tr></w:tbl>'
    )
    styles = '<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>'
    return office(
        "word/document.xml",
        ("word/document.xml", f'<w:document {space} xmlns:r="{OFFICE}"><w:body>{body}</w:body></w:document>'),
        ("word/styles.xml", f"<w:styles {space}>{styles}</w:styles>"),
        ("word/_rels/document.xml.rels", relations(("styles", "styles.xml"), ("hyperlink", "https://a.example"))),
    )


def pptx():
    space = f'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="{OFFICE}"'
    space += ' xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    shape = (
        '<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"/><p:cNvSpPr/><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr><p:spPr/>'
        "<p:txBody><a:bodyPr/><a:p><a:r><a:t>Moon</a:t></a:r></a:p></p:txBody></p:sp>"
    )
    slides = '<p:sldIdLst><p:sldId id="256" r:id="rId1"/></p:sldIdLst><p:sldSz cx="9144000" cy="6858000"/>'
    return office(
        "ppt/presentation.xml",
        ("ppt/presentation.xml", f"<p:presentation {space}>{slides}</p:presentation>"),
        ("ppt/_rels/presentation.xml.rels", relations(("slide", "slides/slide1.xml"))),
        ("ppt/slides/slide1.xml", f"<p:sld {space}><p:cSld><p:spTree>{shape}</p:spTree></p:cSld></p:sld>"),
    )


def xlsx():
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    cells = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1"><f>1+1</f><v>2</v></c><c r="C1" s="1"><v>45000</v></c></row>'
        '<row r="3"><c r="A3" t="inlineStr"><is><t>x</t></is></c><c r="B3" t="b"><v>1</v></c></row>'
    )
    sheet = f'<sheet name="Tides" sheetId="1" r:id="rId1"/>'
    return office(
        "xl/workbook.xml",
        ("xl/workbook.xml", f'<workbook {space} xmlns:r="{OFFICE}"><sheets>{sheet}</sheets></workbook>'),
        (
            "xl/_rels/workbook.xml.rels",
            relations(("worksheet", "worksheets/sheet1.xml"), ("sharedStrings", "sharedStrings.xml"), ("styles", "styles.xml")),
        ),
        ("xl/worksheets/sheet1.xml", f'<worksheet {space}><dimension ref="A1:C3"/><sheetData>{cells}</sheetData></worksheet>'),
        ("xl/sharedStrings.xml", f"<sst {space}><si><t>Berth</t></si></sst>"),
        ("xl/styles.xml", f'<styleSheet {space}><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>'),
    )


def open_document(kind, body):
    names = ("office", "text", "table", "meta", "presentation")
    spaces = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in names)
    spaces += ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
    content = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    return parts(
        ("mimetype", f"application/vnd.oasis.opendocument.{kind}"),
        ("content.xml", f"<office:document-content {spaces}>{content}</office:document-content>"),
    )


def as_zip(package):
    """The same package as a zip file of stored parts, every time with the same bytes."""
    entries, directory = b"", b""
    pieces = package.removeprefix("@@ ").split("\n@@ ")
    for name, content in (piece.encode().split(b"\n", 1) for piece in pieces):
        sizes = struct.pack("<IIIHH", zlib.crc32(content), len(content), len(content), len(name), 0)
        common = struct.pack("<HHHHH", 20, 0, 0, 0, 33) + sizes
        directory += b"PK\1\2" + struct.pack("<H", 20) + common + struct.pack("<HHHII", 0, 0, 0, 0, len(entries)) + name
        entries += b"PK\3\4" + common + name + content
    counts = struct.pack("<HHHHIIH", 0, 0, len(pieces), len(pieces), len(directory), len(entries), 0)
    return entries + directory + b"PK\5\6" + counts


def pdf(*streams, packed=False):
    """A PDF of one page a stream."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(streams)))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(streams)} >>".encode()]
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    for n, stream in enumerate(streams):
        page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {5 + 2 * n} 0 R"
        objects.append(f"{page} /Resources << /Font << /F1 3 0 R >> >> >>".encode())
        data, how = (zlib.compress(stream, 9), " /Filter /FlateDecode") if packed else (stream, "")
        objects.append(f"<< /Length {len(data)}{how} >>\nstream\n".encode() + data + b"\nendstream")
    file, places = b"%PDF-1.7\n", b""
    for number, data in enumerate(objects, 1):
        places += f"{len(file):010} 00000 n \n".encode()
        file += f"{number} 0 obj\n".encode() + data + b"\nendobj\n"
    size = len(objects) + 1
    table = f"xref\n0 {size}\n0000000000 65535 f \n".encode() + places
    return file + table + f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(file)}\n%%EOF\n".encode()


def files():
    words = b"BT /F1 12 Tf 72 720 Td (The harbour opens) Tj 0 -14 Td [(at) -300 (six.)] TJ ET"
    put("pdf", plain=pdf(words), packed=pdf(words, b"BT /F1 9 Tf 1 0 0 1 72 700 Tm <41424320> Tj ET", packed=True))
    sheet = (
        '<table:table table:name="a"><table:table-row table:number-rows-repeated="2"><table:table-cell '
        'table:number-columns-repeated="3" office:value-type="float" office:value="1.5"><text:p>1.5</text:p>'
        "</table:table-cell></table:table-row></table:table>"
    )
    text = '<text:h text:outline-level="1">Tide</text:h><text:list><text:list-item><text:p>low</text:p></text:list-item></text:list>'
    slide = '<draw:page draw:name="one"><draw:frame><draw:text-box><text:p>Moon</text:p></draw:text-box></draw:frame></draw:page>'
    put("office", docx=docx(), pptx=pptx(), xlsx=xlsx(), ods=open_document("spreadsheet", sheet))
    put("office", odt=open_document("text", text), odp=open_document("presentation", slide))
    put("office", docx_zip=as_zip(docx()), odt_zip=as_zip(open_document("text", text)))
    compound = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(10)
    compound += struct.pack("<IIIIIIIII", 1, 1, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0, 0) + b"\xff" * 436
    entries = b"".join(name.encode("utf-16le").ljust(128, b"\0") for name in ("Root Entry", "Workbook"))
    put("office", compound=compound + entries)
    book = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        '<dc:title>Tales</dc:title></metadata><manifest><item id="c" href="c.xhtml" media-type="application/xhtml+xml"/>'
        '</manifest><spine><itemref idref="c"/></spine></package>'
    )
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>One</h1><p>Light<br/>and <b>dark</b>.</p></body></html>'
    put("epub", book=parts(("book.opf", book), ("c.xhtml", page)))


def texts():
    put(
        "html",
        page='<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Tides</title><meta property="og:image" '
        'content="https://a.example/x.png"></head><body><nav><a href="/">Home</a></nav><article><h1>Tides</h1><p>The sea '
        "rises, and falls, and rises again, twice a day.</p><ul><li>one<ol><li>two</ol></ul><pre><code>a = 1</code></pre>"
        "<table><tr><th>Port<th>m<tr><td colspan=2>Brest</table></article></body></html>",
        fragment="<p>a &amp; b<br>c</p><blockquote>d</blockquote><script>x</script>",
    )
    put("rtf", page=r"{\rtf1\ansi\ansicpg1252{\fonttbl\f0 Arial;}\f0\b Tide\b0\par caf\'e9 \u8364?\par{\*\x y}\trowd\cell a\row}")
    put(
        "email",
        plain="From: Ann <ann@a.example>\r\nSubject: =?utf-8?q?Caf=C3=A9?=\r\nDate: Tue, 15 Apr 2025 09:30:00 +0000\r\n\r\nSix "
        "o'clock.\r\n> five?\r\n",
        parts='From: a@a.example\r\nMIME-Version: 1.0\r\nContent-Type: multipart/alternative; boundary="b"\r\n\r\n--b\r\n'
        "Content-Type: text/html; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<p>caf=E9</p>\r\n"
        "--b\r\nContent-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\nVGlkZQ==\r\n--b--\r\n",
    )
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Tide\n", "low"]},
        {"cell_type": "code", "metadata": {}, "source": "x = 1", "outputs": [{"output_type": "stream", "text": "1"}]},
    ]
    put("notebook", page=json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}))
    put("plain", csv=b'\x03Port;m\n"Brest; Roads";7,5\n"a\nb";2\n', tsv=b"\x04a\tb\n1\t2\n", json=b'\x05{"a":[1,{"b":"c"}],"d":null}')
    put("plain", yaml=b"\x06a:\n  - b: 1\n  - c\n", code=b"\x07fn main() {\n    let x = 1;\n}\n", md=b"\x02---\ntitle: T\n---\n# A\n\n- b\n")
    put("plain", utf16=b"\x00" + "\ufeffTide é\n".encode("utf-16le"), koi8=b"\x08" + "море и луна".encode("koi8-r"))
    put("plain", sjis=b"\x00" + "潮の満ち引きは月による。".encode("shift_jis"), latin=b"\x01" + "Café à sept".encode("latin-1"))
    lines = "# Tide\n\nThe sea rises. It falls! 海。潮。\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nx\n```\n- one\n  - two\n"
    code = "class A:\n    def b(self):\n        return [1, 2]\n\nfn c() {\n    d();\n}\n"
    put("chunk", text=b"\x00\x10\x02" + lines.encode(), markdown=b"\x01\x10\x02" + lines.encode(), code=b"\x02\x08\x01" + code.encode())
    put("chunk", json=b'\x03\x08\x01{"a":{"b":[1,2,{"c":"d"}]},"e":"f"}', long=b"\xfb\x20\x02" + lines.encode())
    put("conversation", two=b"\x30\x06\x01Ann|Is it high?\0It is. At six.\0Bo|Good.\0\0Ann|Thanks!", one=b"\x01\x01\x00a|b b. c c! d")


def words():
    put("filter", key=b'{"key":"a","value":"1","filterType":"numeric","numericOperator":">="}\0{"a":2}')
    put("filter", any=b'{"OR":[{"key":"a","value":"B","ignoreCase":true,"negate":true},{"AND":[]}]}\0{"a":"b"}')
    put("filter", array=b'{"key":"a","value":"x","filterType":"array_contains"}\0{"a":["x","y"]}')
    put("filter", string=b'{"key":"a","value":"x","filter_type":"string_contains","negate":"true"}\0{"a":"xy"}')
    put("merge", latest=b"abcd\0cdef", full=b"ab\0abcd", changed=b"abcd\0abxy", again=b"aabaab\0aab")
    ids = '"document":"1111111111111111111111","revision":"2222222222222222222222"'
    put("words", process='{"org":"acme","job":"process-v1",%s}' % ids, tag="user_1:project-2", date="2025-04-15T09:30:00+02:00", day="2025-04-15")
    put("words", commit='{"org":"acme","job":"commit-v1",%s,"container":"3333333333333333333333"}' % ids, id="acxV5LHMEsG2hMSNb4umbn")
    secret = "x" * 32
    put("words", key=f"rk_abc_{secret}{zlib.crc32(f'abc_{secret}'.encode()):08x}")
    chunk = {"start": 0, "end": 2, "headings": ["h"], "vector": "/wB/"}
    pack = json.dumps({"v": 1, "model": "m", "text": "hi é", "chunks": [chunk, {"start": 3, "end": 9, "vector": ""}]}).encode()
    # A frame of zstd with its content as it is, in one block.
    header = b"\x28\xb5\x2f\xfd\x20" + bytes([len(pack)])
    put("pack", json=pack, blob=header + struct.pack("<I", len(pack) << 3 | 1)[:3] + pack)
    four = lambda *octets: bytes(12) + bytes(octets)
    put("page_url", name=four(93, 184, 215, 14) + b"https://a.example/b?c#d", private=four(10, 0, 0, 1) + b"http://a.example/")
    put("page_url", v6=bytes.fromhex("2a00" + "0" * 27 + "1") + b"http://a.example./", number=four(8, 8, 8, 8) + b"http://0x7f.1:80/")
    put("page_url", literal=four(8, 8, 8, 8) + b"https://[2a00::1]/", mapped=bytes.fromhex("0" * 20 + "ffff7f000001") + b"http://[::ffff:7f00:1]/")


def requests():
    part = '--x\r\ncontent-disposition: form-data; name="%s"\r\n\r\n%s\r\n'
    file = '--x\r\ncontent-disposition: form-data; name="file"; filename="a.md"\r\ncontent-type: text/markdown\r\n\r\n# A\r\n--x--\r\n'
    fields = {"containerTag": "a", "metadata": '{"k":"v"}', "customId": "c", "containerTags": '["a"]', "taskType": "memory"}
    form = "".join(part % field for field in fields.items())
    put("requests", file=b"\0" + (form + file).encode(), bare_file=b"\0" + file.encode())
    message = {"role": "user", "content": [{"type": "text", "text": "hi"}], "name": "Ann"}
    called = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}
    condition = {"key": "a", "value": "1", "filterType": "numeric", "numericOperator": ">"}
    bodies = {
        "batch": {"documents": [{"content": "One.", "customId": "a"}, "Two."], "containerTag": "t"},
        "conversation": {"conversationId": "c 1", "messages": [message, called], "containerTags": ["t"]},
        "list": {"containerTags": ["t"], "limit": "5", "page": 1, "sort": "createdAt", "order": "asc", "status": ["done"]},
        "add": {"content": "https://a.example/b", "metadata": {"k": ["v"]}, "documentDate": "2025-04-15"},
        "upload": {"name": "a.pdf", "size": 10, "containerTag": "t"},
        "documents": {"page": 1, "limit": 5, "containerTags": ["t"]},
        "search3": {"q": "tide", "containerTags": ["t"], "filters": {"AND": [condition]}, "limit": 5},
        "search4": {"q": "tide", "containerTag": "t", "threshold": 0.5, "filters": json.dumps(condition), "searchMode": "hybrid"},
    }
    for number, (name, body) in enumerate(bodies.items(), 1):
        put("requests", **{name: bytes([number]) + json.dumps(body).encode()})
    record = {"eventName": "ObjectCreated:Put", "s3": {"bucket": {"name": "content"}, "object": {"key": "acme/d%2Fone+two/upload"}}}
    put("arrivals", record=json.dumps({"Records": [record]}), test='{"Service":"Amazon S3","Event":"s3:TestEvent"}')


shutil.rmtree(CORPUS, ignore_errors=True)
for write in (files, texts, words, requests):
    write()
