//! Builders of small files in many formats.

#![allow(dead_code, reason = "each test binary makes what it needs")]

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

pub(crate) const CORE: &str = r#"<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>Harbour rules</dc:title><dc:creator>Mira Osei</dc:creator><dcterms:created>2024-03-05T08:00:00Z</dcterms:created></cp:coreProperties>"#;
const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
const TYPES: &str = r#"<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/></Types>"#;

/// Makes a zip file. `mimetype` is stored uncompressed, as its formats require.
pub(crate) fn zip(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        let method = if *name == "mimetype" {
            CompressionMethod::Stored
        } else {
            CompressionMethod::Deflated
        };
        writer
            .start_file(
                *name,
                SimpleFileOptions::default().compression_method(method),
            )
            .expect("memory takes it");
        writer.write_all(bytes).expect("memory takes it");
    }

    writer.finish().expect("memory takes it").into_inner()
}

fn package(main: &str, parts: &[(&str, &str)]) -> Vec<u8> {
    let root = relations(&[
        ("officeDocument", main),
        ("metadata/core-properties", "docProps/core.xml"),
    ]);
    let mut package_parts = vec![
        ("[Content_Types].xml", TYPES),
        ("_rels/.rels", root.as_str()),
        ("docProps/core.xml", CORE),
    ];
    package_parts.extend(parts);

    zip(&package_parts
        .into_iter()
        .map(|(name, part)| (name, part.as_bytes()))
        .collect::<Vec<_>>())
}

fn relations(targets: &[(&str, &str)]) -> String {
    let relation = |(index, (kind, target)): (usize, &(&str, &str))| {
        format!(
            r#"<Relationship Id="rId{}" Type="{OFFICE}/{kind}" Target="{target}"/>"#,
            index + 1
        )
    };
    let relation_tags: String = targets.iter().enumerate().map(relation).collect();
    format!(r#"<Relationships xmlns="{PACKAGE}">{relation_tags}</Relationships>"#)
}

/// Makes a Word document with the given paragraphs and tables.
pub(crate) fn docx(body: &str) -> Vec<u8> {
    let namespace = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
    let document =
        format!(r#"<w:document xmlns:w="{namespace}"><w:body>{body}</w:body></w:document>"#);
    let styles = format!(
        r#"<w:styles xmlns:w="{namespace}"><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>"#
    );
    let notes = format!(
        r#"<w:footnotes xmlns:w="{namespace}"><w:footnote w:id="2"><w:p><w:r><w:t>By decree of 1871.</w:t></w:r></w:p></w:footnote></w:footnotes>"#
    );
    package(
        "word/document.xml",
        &[
            ("word/document.xml", &document),
            ("word/styles.xml", &styles),
            ("word/footnotes.xml", &notes),
            (
                "word/_rels/document.xml.rels",
                &relations(&[("styles", "styles.xml"), ("footnotes", "footnotes.xml")]),
            ),
        ],
    )
}

/// Returns the body of a Word document with a heading, a paragraph, a list and a table.
pub(crate) fn docx_body() -> String {
    let cell = |text: &str| format!("<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>");
    let row = |left: &str, right: &str| format!("<w:tr>{}{}</w:tr>", cell(left), cell(right));
    format!(
        r#"<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Berths</w:t></w:r></w:p><w:p><w:r><w:t xml:space="preserve">All ships use_the east quay &amp; pay </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>now</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:p><w:tbl>{}{}</w:tbl>"#,
        row("Berth", "Length | m"),
        row("A1", "40")
    )
}

/// Makes a presentation of one slide, with speaker notes of two paragraphs and the page number of
/// notes pages.
pub(crate) fn pptx() -> Vec<u8> {
    let namespaces = format!(
        r#"xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="{OFFICE}" xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main""#
    );
    let shape = |kind: &str, text: &str| {
        format!(
            r#"<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"/><p:cNvSpPr/><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"#
        )
    };
    let tree = |shapes: String| {
        format!(r#"<p:cSld><p:spTree><p:nvGrpSpPr/><p:grpSpPr/>{shapes}</p:spTree></p:cSld>"#)
    };
    let slide = tree(shape("title", "How tides work") + &shape("body", "The moon pulls"));
    let second = "</a:t></a:r></a:p><a:p><a:r><a:t>";
    let notes =
        tree(shape("body", &format!("Show the gauge.{second}Then ask.")) + &shape("sldNum", "1"));
    package(
        "ppt/presentation.xml",
        &[
            (
                "ppt/presentation.xml",
                &format!(
                    r#"<p:presentation {namespaces}><p:sldIdLst><p:sldId id="256" r:id="rId1"/></p:sldIdLst><p:sldSz cx="9144000" cy="6858000"/></p:presentation>"#
                ),
            ),
            (
                "ppt/_rels/presentation.xml.rels",
                &relations(&[("slide", "slides/slide1.xml")]),
            ),
            (
                "ppt/slides/slide1.xml",
                &format!("<p:sld {namespaces}>{slide}</p:sld>"),
            ),
            (
                "ppt/slides/_rels/slide1.xml.rels",
                &relations(&[("notesSlide", "../notesSlides/notesSlide1.xml")]),
            ),
            (
                "ppt/notesSlides/notesSlide1.xml",
                &format!("<p:notes {namespaces}>{notes}</p:notes>"),
            ),
        ],
    )
}

/// Makes a workbook of a named sheet with the given rows as XML, and an empty sheet.
pub(crate) fn xlsx(rows: &str) -> Vec<u8> {
    workbook(rows, "")
}

/// Makes a workbook of two named sheets with the given rows as XML.
pub(crate) fn workbook(rows: &str, second: &str) -> Vec<u8> {
    let namespace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let sheet = |rows: &str| {
        format!(r#"<worksheet xmlns="{namespace}"><sheetData>{rows}</sheetData></worksheet>"#)
    };
    workbook_of_parts(&sheet(rows), &sheet(second))
}

/// Makes a workbook of two named sheets with the given parts.
pub(crate) fn workbook_of_parts(first: &str, second: &str) -> Vec<u8> {
    let namespace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    package(
        "xl/workbook.xml",
        &[
            (
                "xl/workbook.xml",
                &format!(
                    r#"<workbook xmlns="{namespace}" xmlns:r="{OFFICE}"><sheets><sheet name="Tide table" sheetId="1" r:id="rId1"/><sheet name="Empty" sheetId="2" r:id="rId2"/></sheets></workbook>"#
                ),
            ),
            (
                "xl/_rels/workbook.xml.rels",
                &relations(&[
                    ("worksheet", "worksheets/sheet1.xml"),
                    ("worksheet", "worksheets/sheet2.xml"),
                    ("styles", "styles.xml"),
                ]),
            ),
            ("xl/worksheets/sheet1.xml", first),
            ("xl/worksheets/sheet2.xml", second),
            (
                "xl/styles.xml",
                &format!(
                    r#"<styleSheet xmlns="{namespace}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>"#
                ),
            ),
        ],
    )
}

/// Returns a workbook cell that contains text.
pub(crate) fn cell(reference: &str, text: &str) -> String {
    format!(r#"<c r="{reference}" t="inlineStr"><is><t>{text}</t></is></c>"#)
}

/// Makes an `OpenDocument` file: `kind` is `text`, `spreadsheet` or `presentation`.
pub(crate) fn open_document(kind: &str, body: &str, manifest: &str) -> Vec<u8> {
    let namespace =
        |name: &str| format!(r#"xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0""#);
    let namespaces = [
        "office",
        "text",
        "table",
        "meta",
        "presentation",
        "manifest",
    ]
    .map(namespace)
    .join(" ");

    let namespaces = namespaces
        + r#" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/""#;
    let content = format!(
        "<office:document-content {namespaces}><office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    );
    let meta = format!(
        "<office:document-meta {namespaces}><office:meta><dc:title>Harbour rules</dc:title><meta:initial-creator>Mira Osei</meta:initial-creator></office:meta></office:document-meta>"
    );
    let manifest = format!("<manifest:manifest {namespaces}>{manifest}</manifest:manifest>");
    zip(&[
        (
            "mimetype",
            format!("application/vnd.oasis.opendocument.{kind}").as_bytes(),
        ),
        ("content.xml", content.as_bytes()),
        ("meta.xml", meta.as_bytes()),
        ("META-INF/manifest.xml", manifest.as_bytes()),
    ])
}

/// Makes an e-book with the given chapters.
pub(crate) fn epub(chapters: &[&str], more: &[(&str, &[u8])]) -> Vec<u8> {
    let numbers = 1..=chapters.len();
    let items: String = numbers
        .clone()
        .map(|n| {
            format!(r#"<item id="c{n}" href="c{n}.xhtml" media-type="application/xhtml+xml"/>"#)
        })
        .collect();
    let spine: String = numbers
        .clone()
        .map(|n| format!(r#"<itemref idref="c{n}"/>"#))
        .collect();
    let book = format!(
        r#"<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Short tales</dc:title><dc:creator>Jo Field</dc:creator><dc:language>en</dc:language></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"#
    );
    let pages: Vec<(String, String)> = numbers
        .map(|n| {
            let page = format!(r#"<html xmlns="http://www.w3.org/1999/xhtml"><head><title>t</title></head><body>{}</body></html>"#, chapters[n - 1]);
            (format!("c{n}.xhtml"), page)
        })
        .collect();
    let container = r#"<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"#;
    let mut parts: Vec<(&str, &[u8])> = vec![
        ("mimetype", b"application/epub+zip"),
        ("META-INF/container.xml", container.as_bytes()),
        ("book.opf", book.as_bytes()),
    ];
    parts.extend(
        pages
            .iter()
            .map(|(name, page)| (name.as_str(), page.as_bytes())),
    );
    parts.extend(more);
    zip(&parts)
}

/// Returns the start of a compound file with streams of the given names.
pub(crate) fn compound(streams: &[&str]) -> Vec<u8> {
    let mut bytes = b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1".to_vec();
    bytes.resize(512, 0);
    for name in streams {
        let start = bytes.len();
        bytes.extend(name.encode_utf16().flat_map(u16::to_le_bytes));
        bytes.resize(start + 128, 0);
    }
    bytes
}

/// Makes a PDF of the given objects, numbered from 1; the first is the catalog.
pub(crate) fn pdf(objects: &[String]) -> Vec<u8> {
    let mut bytes = b"%PDF-1.7\n".to_vec();
    let mut offsets = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        offsets.push(bytes.len());
        bytes.extend(format!("{} 0 obj\n{object}\nendobj\n", index + 1).bytes());
    }

    let table = bytes.len();
    let entries: String = offsets
        .iter()
        .map(|offset| format!("{offset:010} 00000 n \n"))
        .collect();
    let count = objects.len() + 1;
    bytes.extend(format!("xref\n0 {count}\n0000000000 65535 f \n{entries}trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n").bytes());

    bytes
}

/// Makes a PDF of one page that draws `content` with the font object `font`. Further objects follow
/// it from number 6 on.
pub(crate) fn pdf_page(content: &str, font: &str, more: &[&str]) -> Vec<u8> {
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        font.to_owned(),
    ];
    objects.extend(more.iter().map(|object| (*object).to_owned()));
    pdf(&objects)
}
