//! Tests of the whole extraction on real files, which `data/make.py` makes.

use content::{
    ContentFailure, ContentSource, ExtractedDocument, FailureCode, Format, detect_format,
    extract_document,
};

fn fixture(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    std::fs::read(path).expect("the fixture exists")
}

fn extract_fixture(name: &str) -> Result<ExtractedDocument, ContentFailure> {
    extract_document(&ContentSource {
        bytes: &fixture(name),
        name: Some(name),
        declared_type: None,
    })
}

fn failure_code(name: &str) -> FailureCode {
    extract_fixture(name).expect_err("it cannot be read").code
}

#[test]
fn pdf_text_comes_in_reading_order_with_headings_and_properties() {
    let pdf = extract_fixture("two-pages.pdf").unwrap();
    assert_eq!(pdf.format, Format::Pdf);
    assert_eq!(pdf.title.as_deref(), Some("Tern Point"));
    assert_eq!(pdf.properties["author"], "Ada Morrow");
    assert_eq!(pdf.properties["pageCount"], "2");
    assert!(pdf.properties["created"].starts_with("2000-01-01"));
    let parts = [
        "# The lighthouse at Tern Point\n",
        "built in 1871 by the engineer Ada Morrow.",
        "when the keeper Jonas Field replaced it with an electric arc of 40,000 candles.",
        "# Visitors\n",
        "the order code is TP-4471-X.",
    ];
    let mut rest = pdf.text.as_str();

    for part in parts {
        let at = rest
            .find(part)
            .unwrap_or_else(|| panic!("{part:?} is missing in {}", pdf.text));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn pdf_with_only_an_owner_password_is_read() {
    assert!(
        extract_fixture("owner-password.pdf")
            .unwrap()
            .text
            .contains("TP-4471-X")
    );
}

#[test]
fn pdf_that_cannot_be_read_says_why() {
    assert_eq!(failure_code("encrypted.pdf"), FailureCode::Encrypted);
    assert_eq!(failure_code("truncated.pdf"), FailureCode::Corrupt);
    let scan = extract_fixture("no-text.pdf").unwrap_err();
    assert_eq!(scan.code, FailureCode::Empty);
    assert!(scan.message.contains("no text layer"), "{}", scan.message);
}

#[test]
fn web_page_keeps_its_readable_part_as_markdown() {
    let page = extract_fixture("page.html").unwrap();
    assert_eq!(page.format, Format::Html);
    assert_eq!(page.title.as_deref(), Some("How tides are predicted"));
    assert_eq!(page.properties["author"], "Mira Osei");
    assert_eq!(
        page.properties["ogImage"],
        "https://harbour.example/tide.png"
    );
    assert_eq!(page.properties["created"], "2024-03-05T08:00:00Z");
    let expected = include_str!("data/page.md");
    assert_eq!(page.text, expected.trim_end());
}

#[test]
fn text_in_any_encoding_is_read() {
    for (name, part) in [
        (
            "russian-windows-1251.txt",
            "Маяк на мысе был построен в 1871 году.",
        ),
        ("russian-koi8-r.txt", "Смотритель каждую ночь поднимался"),
        (
            "japanese-shift-jis.txt",
            "岬の灯台は一八七一年に建てられました。",
        ),
        ("japanese-euc-jp.txt", "灯台守は毎晩らせん階段を上り"),
        ("japanese-utf-16be-bom.txt", "冬になると海が凍り"),
        (
            "french-windows-1252.txt",
            "Le phare fut bâti en 1871. Le gardien vérifiait la lampe chaque nuit, même l’hiver",
        ),
        ("french-utf-16le.txt", "même l’hiver où la mer gelait."),
    ] {
        let text = extract_fixture(name).unwrap();
        assert_eq!(text.format, Format::Text);
        assert!(text.text.contains(part), "{name}: {}", text.text);
    }
}

#[test]
fn bytes_are_trusted_more_than_name_and_declared_type() {
    let pdf = fixture("two-pages.pdf");
    let source = ContentSource {
        bytes: &pdf,
        name: Some("notes.txt"),
        declared_type: Some("text/html"),
    };

    assert_eq!(detect_format(&source).unwrap(), Format::Pdf);
    let page = fixture("page.html");
    let source = ContentSource {
        bytes: &page,
        name: Some("paper.pdf"),
        declared_type: Some("application/pdf"),
    };

    assert_eq!(detect_format(&source).unwrap(), Format::Html);
}

#[test]
fn name_is_trusted_more_than_declared_type() {
    let formats = |bytes: &[u8], name, declared| {
        detect_format(&ContentSource {
            bytes,
            name,
            declared_type: declared,
        })
        .unwrap()
    };

    assert_eq!(
        formats(b"# Title", Some("a/b.md"), Some("text/html")),
        Format::Markdown
    );
    assert_eq!(
        formats(b"# comment\n\nx = 1", Some("a.py"), Some("text/markdown")),
        Format::Code
    );
    assert_eq!(
        formats(b"x <b>y</b>", None, Some("text/html; charset=utf-8")),
        Format::Html
    );
    assert_eq!(formats(b"x <b>y</b>", None, Some("webpage")), Format::Html);
    assert_eq!(formats(b"x <b>y</b>", None, None), Format::Text);
}

#[test]
fn unsupported_binaries_are_named() {
    let elf = [&b"\x7FELF\x02\x01\x01\0"[..], &[0; 64]].concat();
    let zip = [&b"PK\x03\x04\x14\0\0\0\x08\0"[..], &[7; 64]].concat();

    for (bytes, word) in [
        (&elf[..], "program"),
        (&zip[..], "zip"),
        (&[0, 1, 2, 3], "unknown"),
    ] {
        let failure = detect_format(&ContentSource {
            bytes,
            name: Some("x.txt"),
            declared_type: None,
        })
        .unwrap_err();
        assert_eq!(failure.code, FailureCode::UnsupportedType);
        assert!(failure.message.contains(word), "{}", failure.message);
    }
}

#[test]
fn garbage_that_claims_to_be_pdf_is_corrupt() {
    for bytes in [
        &b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\nnothing here"[..],
        &[1, 2, 3, 0xFF, 0, 9, 200],
    ] {
        let source = ContentSource {
            bytes,
            name: Some("x.pdf"),
            declared_type: None,
        };
        assert_eq!(
            extract_document(&source).unwrap_err().code,
            FailureCode::Corrupt
        );
    }
}

#[test]
fn blank_documents_are_empty() {
    for bytes in [
        &b""[..],
        b" \n\t ",
        b"\xEF\xBB\xBF",
        b"<html><body><script>x</script></body></html>",
    ] {
        let source = ContentSource {
            bytes,
            name: None,
            declared_type: None,
        };
        assert_eq!(
            extract_document(&source).unwrap_err().code,
            FailureCode::Empty,
            "{bytes:?}"
        );
    }
}

#[test]
fn text_that_only_begins_like_a_binary_is_text() {
    for text in [
        "BMW builds cars.",
        "BMÄ",
        "MZ is a name",
        "ID3 tags are metadata",
        "We saw %PDF-1.4 in it",
    ] {
        for bytes in [
            text.as_bytes(),
            &text.chars().map(|c| c as u8).collect::<Vec<_>>(),
        ] {
            assert_eq!(
                detect_format(&ContentSource {
                    bytes,
                    name: None,
                    declared_type: None
                })
                .unwrap(),
                Format::Text,
                "{text}"
            );
        }
    }
}

fn markdown_of(html: &str) -> String {
    extract_document(&ContentSource {
        bytes: html.as_bytes(),
        name: None,
        declared_type: Some("text/html"),
    })
    .expect("it is read")
    .text
}

#[test]
fn html_nested_100_000_deep_is_read() {
    for tag in ["div", "b", "blockquote", "ul><li", "table><tr><td"] {
        let page = format!("<!doctype html>{}deep", format!("<{tag}>").repeat(100_000));
        assert!(markdown_of(&page).contains("deep"), "{tag}");
    }
}

#[test]
fn html_structure_becomes_markdown() {
    for (html, markdown) in [
        ("<h2>A <a href='#a'>§</a></h2><p>x<br>y</p>", "## A\n\nx\ny"),
        (
            "<ol start=3><li><p>x</p><p>y</p></li><li>z</li></ol>",
            "3. x\n\n   y\n\n4. z",
        ),
        ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b"),
        (
            "<p>1 <b> bold </b>2 <i></i>3 <code>a`b</code></p>",
            "1 **bold** 2 3 `` a`b ``",
        ),
        (
            "<p><a href='javascript:x()'>run</a> <a href=' /a b '>go</a></p>",
            "run [go](/a%20b)",
        ),
        (
            "<p># no heading</p><pre>a\n  ``` b</pre>",
            "\\# no heading\n\n````\na\n  ``` b\n````",
        ),
        (
            "<pre><code><span>npm install foo<br></span><span>cd bar<br></span></code></pre>",
            "```\nnpm install foo\ncd bar\n```",
        ),
        (
            "<pre><div>one</div><div>two\n</div><div>three</div></pre>",
            "```\none\ntwo\nthree\n```",
        ),
        ("<p>Type <code>cd<br>bar</code></p>", "Type `cd bar`"),
        (
            "<table><tr><td>a|b<td>c</table>",
            "| a\\|b | c |\n| --- | --- |",
        ),
        (
            "<table><tr><td><h3>layout</h3><p>x</table>",
            "### layout\n\nx",
        ),
        (
            "<p>a<script>x</script><span hidden>y</span> &lt;b&gt;</p>",
            "a <b>",
        ),
        ("<dl><dt>Term</dt><dd>Meaning</dd></dl>", "Term\nMeaning"),
        (
            "<img src='data:x' alt='A map'><img src='https://h.example/i.png' alt='B'>",
            "A map![B](https://h.example/i.png)",
        ),
    ] {
        assert_eq!(markdown_of(html), markdown, "{html}");
    }
}

#[test]
fn page_without_main_loses_its_navigation_but_no_paragraph() {
    let words =
        "The harbour master keeps a book of all the ships, and it is open to everybody who asks, ";
    let paragraphs: String = (0..8)
        .map(|n| format!("<p>{words}on day {n}.</p>"))
        .collect();
    let page = format!(
        "<html><head><title>Ships</title></head><body><div class='sidebar'><a href='/'>Start</a></div>\
         <div class='menu' role='navigation'><a href='/b'>Buy now</a></div><div id='text'>{paragraphs}</div>\
         <footer>Imprint</footer></body></html>"
    );
    let text = markdown_of(&page);
    assert!(text.starts_with("# Ships\n"), "{text}");
    assert!(
        (0..8).all(|n| text.contains(&format!("on day {n}."))),
        "{text}"
    );
    assert!(
        !text.contains("Buy now") && !text.contains("Imprint") && !text.contains("Start"),
        "{text}"
    );
}

#[test]
fn extraction_is_canonical() {
    let text = markdown_of("<p>cafe\u{301}\u{0} &#x85;x&#0;</p>");
    assert_eq!(text, "café \u{2026}x\u{FFFD}");
}
