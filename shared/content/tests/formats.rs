//! Tests of the whole extraction in every format: text, tables, notes, title and properties.

mod make;

use content::{
    ContentSource, ExtractedDocument, FailureCode, Format, detect_format, detect_media,
    extract_document,
};

fn extract_file(bytes: &[u8], name: &str) -> ExtractedDocument {
    extract_document(&ContentSource {
        bytes,
        name: Some(name),
        declared_type: None,
    })
    .unwrap_or_else(|failure| panic!("{name}: {failure}"))
}

fn fixture(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    std::fs::read(path).expect("the fixture exists")
}

#[test]
fn word_document_keeps_headings_tables_and_footnotes() {
    let extracted = extract_file(&make::docx(&make::docx_body()), "rules.docx");
    assert_eq!(
        (extracted.format, extracted.format.as_str()),
        (Format::Docx, "text")
    );
    assert_eq!(extracted.title.as_deref(), Some("Harbour rules"));
    assert_eq!(extracted.properties["author"], "Mira Osei");
    assert_eq!(extracted.properties["created"], "2024-03-05T08:00:00Z");

    for part in [
        "# Berths",
        "All ships use_the east quay & pay **now**",
        "| Berth | Length \\| m |",
        "| A1 | 40 |",
    ] {
        assert!(
            extracted.text.contains(part),
            "{part:?} is missing in {}",
            extracted.text
        );
    }

    assert!(
        extracted.text.ends_with("By decree of 1871."),
        "{}",
        extracted.text
    );
}

#[test]
fn presentation_keeps_slides_and_speaker_notes() {
    let extracted = extract_file(&make::pptx(), "tides.pptx");
    assert_eq!(extracted.format, Format::Pptx);
    assert_eq!(extracted.properties["slideCount"], "1");

    for part in [
        "# How tides work",
        "The moon pulls",
        "Notes: Show the gauge.",
        "Then ask.",
    ] {
        assert!(
            extracted.text.contains(part),
            "{part:?} is missing in {}",
            extracted.text
        );
    }
}

#[test]
fn workbook_is_a_heading_and_a_table_for_each_sheet() {
    let rows = format!(
        r#"<row r="2">{}{}{}</row><row r="4"><c r="B4"><v>6.1000000000000005</v></c><c r="D4" s="1"><v>45356</v></c><c r="F4" t="b"><v>1</v></c></row>"#,
        make::cell("B2", "High | m"),
        make::cell("D2", "Day\nof year"),
        make::cell("F2", "Spring")
    );
    let extracted = extract_file(&make::xlsx(&rows), "tides.xlsx");
    assert_eq!(extracted.format, Format::Xlsx);
    let table = "# Tide table\n\n| High \\| m | Day of year | Spring |\n| --- | --- | --- |\n| 6.1 | 2024-03-05 | TRUE |";
    assert_eq!(extracted.text, table);
    assert_eq!(extracted.title.as_deref(), Some("Harbour rules"));
    assert_eq!(extracted.properties["sheetCount"], "2");
}

#[test]
fn each_sheet_of_a_workbook_is_a_table() {
    let row = |text: &str| format!("<row r=\"1\">{}</row>", make::cell("A1", text));
    let extracted = extract_file(&make::workbook(&row("High"), &row("Low")), "tides.xlsx");
    assert_eq!(
        extracted.text,
        "# Tide table\n\n| High |\n| --- |\n\n# Empty\n\n| Low |\n| --- |"
    );
}

#[test]
fn workbook_with_a_sheet_that_cannot_be_read_is_corrupt() {
    let cell = make::cell("A1", "High");
    let sheet = format!(r#"<worksheet><sheetData><row r="1">{cell}</row></sheetData></worksheet>"#);
    let charts = make::workbook_of_parts(&sheet, "<chartsheet><drawing/></chartsheet>");
    assert_eq!(
        extract_file(&charts, "tides.xlsx").text,
        "# Tide table\n\n| High |\n| --- |"
    );

    let broken = make::workbook_of_parts(&sheet, "<worksheet><dimension/><sheetData>");
    let failure = extract_document(&ContentSource {
        bytes: &broken,
        ..ContentSource::default()
    })
    .unwrap_err();
    assert_eq!(failure.code, FailureCode::Corrupt);
}

#[test]
fn workbook_with_far_cells_is_as_small_as_its_cells() {
    let rows = format!(
        r#"<row r="1">{}</row><row r="1048576">{}</row>"#,
        make::cell("A1", "near"),
        make::cell("XFD1048576", "far")
    );
    assert!(
        extract_file(&make::xlsx(&rows), "far.xlsx")
            .text
            .ends_with("| near | |\n| --- | --- |\n|  | far |")
    );
}

#[test]
fn old_workbook_is_read() {
    let extracted = extract_file(&fixture("old.xls"), "old.xls");
    assert_eq!(extracted.format, Format::Xls);
    assert_eq!(
        extracted.text,
        "# Old\n\n| Name | n |\n| --- | --- |\n| Zoë | 3.5 |"
    );
}

#[test]
fn open_documents_are_read() {
    let text = r#"<text:h text:outline-level="1">Berths</text:h><text:p>East quay.</text:p>"#;
    let text_document = extract_file(&make::open_document("text", text, ""), "rules.odt");
    assert_eq!(
        (text_document.format, text_document.title.as_deref()),
        (Format::Odt, Some("Harbour rules"))
    );
    assert!(
        text_document.text.contains("# Berths\n\nEast quay."),
        "{}",
        text_document.text
    );

    let cell = |text: &str| {
        format!(
            r#"<table:table-cell office:value-type="string"><text:p>{text}</text:p></table:table-cell>"#
        )
    };
    let sheet = format!(
        r#"<table:table table:name="Fees"><table:table-row>{}{}</table:table-row><table:table-row>{}{}</table:table-row></table:table>"#,
        cell("Berth"),
        cell("Fee"),
        cell("A1"),
        cell("5")
    );
    let sheet_document = extract_file(&make::open_document("spreadsheet", &sheet, ""), "fees.ods");
    assert_eq!(sheet_document.format, Format::Ods);
    assert_eq!(
        sheet_document.text,
        "# Fees\n\n| Berth | Fee |\n| --- | --- |\n| A1 | 5 |"
    );
    assert_eq!(sheet_document.properties["author"], "Mira Osei");

    let cells = r#"<table:table table:name="Rates"><table:table-row>
        <table:table-cell office:value-type="percentage" office:value="0.0617"><text:p>6.2%</text:p></table:table-cell>
        <table:table-cell office:value-type="percentage" office:value="2"/>
        <table:table-cell office:value-type="time" office:time-value="PT288H00M05.5S"><text:p>00:00:05</text:p></table:table-cell>
        <table:table-cell office:value-type="unknown"><text:p>abcd</text:p></table:table-cell></table:table-row></table:table>"#;
    let rates = extract_file(
        &make::open_document("spreadsheet", &cells.replace("\n        ", ""), ""),
        "rates.ods",
    );
    assert_eq!(
        rates.text,
        "# Rates\n\n| 6.17% | 200% | 288:00:05 | abcd |\n| --- | --- | --- | --- |"
    );

    let slide = r#"<draw:page draw:name="one"><draw:frame presentation:class="title"><draw:text-box><text:p>Tides</text:p></draw:text-box></draw:frame></draw:page>"#;
    let slide_document = extract_file(&make::open_document("presentation", slide, ""), "tides.odp");
    assert_eq!(slide_document.format, Format::Odp);
    assert!(
        slide_document.text.contains("Tides"),
        "{}",
        slide_document.text
    );
}

#[test]
fn e_book_is_read_chapter_by_chapter() {
    let book = make::epub(
        &[
            "<h1>One</h1><p>It was <b>dark</b>.</p>",
            "<p>Before.</p><h1>Two</h1><p>Light.</p>",
        ],
        &[],
    );
    let extracted = extract_file(&book, "tales.epub");

    assert_eq!(
        (extracted.format, extracted.title.as_deref()),
        (Format::Epub, Some("Short tales"))
    );
    assert_eq!(
        (
            &*extracted.properties["author"],
            &*extracted.properties["language"]
        ),
        ("Jo Field", "en")
    );
    let mut rest = extracted.text.as_str();

    for part in ["# One", "It was **dark**.", "Before.", "# Two", "Light."] {
        let at = rest
            .find(part)
            .unwrap_or_else(|| panic!("{part:?} is missing in {}", extracted.text));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn rich_text_is_read() {
    let rtf = br"{\rtf1\ansi\ansicpg1252{\info{\title Rope \'e0 la carte}{\author Kit}}{\b Knots}\par A knot caf\'e9 \u8211? holds.\par}";
    let extracted = extract_file(rtf, "rope.txt");
    assert_eq!(
        (extracted.format, extracted.title.as_deref()),
        (Format::Rtf, Some("Rope à la carte"))
    );
    assert_eq!(extracted.properties["author"], "Kit");
    assert_eq!(extracted.text, "**Knots**\n\nA knot café – holds.");

    let rtf = br"{\rtf1{\info{\title \u26085?\u26412?\u-30050?}}Rope.\par}";
    assert_eq!(
        extract_file(rtf, "rope.rtf").title.as_deref(),
        Some("日本語")
    );
}

#[test]
fn rich_text_ends_paragraphs_with_a_backslash_and_keeps_footnotes() {
    let rtf = b"{\\rtf1\\ansi {\\listtext\t\\uc0\\u8226 \t}one\\\n{\\listtext\t\\uc0\\u8226 \t}two\\\r\n\\pard Back\\\\\nslash.{\\footnote\\pard By decree.}\\par}";
    assert_eq!(
        extract_file(rtf, "list.rtf").text,
        "- one\n- two\n\nBack\\slash. By decree."
    );
    let picture = b"{\\rtf1 {\\*\\x\\bin3 \\\n\\}Seen\\\nagain\\";
    assert_eq!(extract_file(picture, "picture.rtf").text, "Seen\n\nagain");
}

#[test]
fn mail_is_headers_as_lines_and_the_text_body() {
    let mail = "Received: from x\r\nFrom: =?utf-8?q?Zo=C3=AB?= <zoe@harbour.example>\r\nTo: ann@harbour.example, Bob <bob@harbour.example>\r\n\
        Date: Tue, 5 Mar 2024 08:00:00 +0100\r\nSubject: =?utf-8?b?TWHDn2U=?=\r\nMIME-Version: 1.0\r\n\
        Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: multipart/alternative; boundary=a\r\n\r\n\
        --a\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nThe caf=E9 is open.\r\n\
        --a\r\nContent-Type: text/html\r\n\r\n<p>The <b>page</b>.</p>\r\n--a--\r\n\
        --b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=plan.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nJVBERg==\r\n--b--\r\n";

    for name in ["mail.eml", "unnamed"] {
        let extracted = extract_file(mail.as_bytes(), name);
        assert_eq!(
            (extracted.format, extracted.title.as_deref()),
            (Format::Email, Some("Maße"))
        );
        assert_eq!(
            extracted.text,
            "From: Zoë <zoe@harbour.example>\nTo: ann@harbour.example, Bob <bob@harbour.example>\n\
             Date: 2024-03-05T08:00:00+01:00\nSubject: Maße\n\nThe café is open.\n\nAttachments: plan.pdf"
        );
        assert_eq!(extracted.properties["created"], "2024-03-05T08:00:00+01:00");
    }
}

#[test]
fn mail_without_a_text_body_is_read_from_its_page() {
    let mail = "From: a@b.example\nMessage-ID: <1@b>\nSubject: Hi\nContent-Type: text/html\n\n<h1>Tides</h1><p>High at <b>six</b>.</p>";
    let extracted = extract_file(mail.as_bytes(), "mail");
    assert!(
        extracted.text.ends_with("# Tides\n\nHigh at **six**."),
        "{}",
        extracted.text
    );
}

#[test]
fn every_mail_of_a_mailbox_file_is_read() {
    let mail = |subject: &str, body: &str| {
        format!(
            "From 17 Tue Mar  5 08:00:00 2024\nReceived: from x\nFrom: a@b.example\nTo: c@d.example\n\
             Subject: {subject}\n\n{body}\n\n"
        )
    };
    let low = "Low at noon.\n>From ten on.\n\nFrom now on, ask Ann.";
    let mailbox = mail("High tide", "High at six.") + &mail("Low tide", low);

    for name in ["All mail.mbox", "mails"] {
        let extracted = extract_file(mailbox.as_bytes(), name);
        assert_eq!((extracted.format, extracted.title), (Format::Email, None));
        assert_eq!(
            extracted.text,
            "From: a@b.example\nTo: c@d.example\nSubject: High tide\n\nHigh at six.\n\n---\n\n\
             From: a@b.example\nTo: c@d.example\nSubject: Low tide\n\nLow at noon.\nFrom ten on.\n\n\
             From now on, ask Ann."
        );
        assert!(!extracted.properties.contains_key("author"));
    }

    let one = extract_file(mail("High tide", "High at six.").as_bytes(), "one.mbox");
    assert_eq!(one.title.as_deref(), Some("High tide"));
    assert_eq!(one.properties["author"], "a@b.example");
}

#[test]
fn a_letter_with_lines_like_headers_is_no_mail() {
    let letter = "From: Ann\nTo: Bob\nSubject: tides\n\nHigh at six.";
    let extracted = extract_file(letter.as_bytes(), "letter.txt");
    assert_eq!(
        (extracted.format, extracted.text.as_str()),
        (Format::Text, letter)
    );
}

#[test]
fn notebook_is_prose_code_and_printed_output() {
    let notebook = r##"{"cells":[{"cell_type":"markdown","metadata":{},"source":["# Tides_of 2024\n","Some *text*."]},
        {"cell_type":"code","metadata":{},"source":"print('a ``` b')","outputs":[{"output_type":"stream","text":["hello\n"]},
        {"output_type":"execute_result","data":{"text/plain":["42"],"image/png":"iVBO"}}]}],"metadata":{},"nbformat":4,"nbformat_minor":5}"##;
    let extracted = extract_file(notebook.as_bytes(), "tides.json");
    assert_eq!(
        (extracted.format, extracted.title.as_deref()),
        (Format::Notebook, Some("Tides_of 2024"))
    );
    assert_eq!(
        extracted.text,
        "# Tides_of 2024\nSome *text*.\n\n````python\nprint('a ``` b')\n````\n\n```\nhello\n```\n\n```\n42\n```"
    );
}

#[test]
fn notebook_without_a_kernel_is_read() {
    let notebook = r#"{"cells":[{"cell_type":"code","source":"1+1"}],"metadata":{"kernelspec":null},"nbformat":4}"#;
    let extracted = extract_file(notebook.as_bytes(), "tides.ipynb");
    assert_eq!(extracted.text, "```python\n1+1\n```");
}

#[test]
fn data_that_contains_a_notebook_stays_data() {
    let data = r#"{"name":"a.ipynb","type":"notebook","content":{"cells":[{"cell_type":"code","source":"1"}],"nbformat":4}}"#;
    for name in ["answer.json", "answer"] {
        let extracted = extract_file(data.as_bytes(), name);
        assert_eq!(
            (extracted.format, extracted.text.as_str()),
            (Format::Data, data)
        );
    }
}

#[test]
fn old_notebook_is_read_from_its_worksheets() {
    let notebook = r#"{"metadata":{"name":""},"nbformat":3,"worksheets":[{"cells":[
        {"cell_type":"heading","level":2,"source":["Tides"]},
        {"cell_type":"code","input":["1+1"],"outputs":[{"output_type":"pyout","text":["2"],"png":"iVBO"}]}]}]}"#;
    let old = extract_file(notebook.as_bytes(), "old.ipynb");

    assert_eq!(
        (old.format, old.title.as_deref()),
        (Format::Notebook, Some("Tides"))
    );
    assert_eq!(old.text, "## Tides\n\n```python\n1+1\n```\n\n```\n2\n```");
    let broken = notebook.replace("worksheets", "sheets");
    let failure = extract_document(&ContentSource {
        bytes: broken.as_bytes(),
        name: Some("old.ipynb"),
        declared_type: None,
    })
    .unwrap_err();

    assert_eq!(failure.code, FailureCode::Corrupt);
}

#[test]
fn tables_as_text_become_tables() {
    let table = "| Name | Note |\n| --- | --- |\n| Zoë | a; \"b\" \\| c |";
    for (text, name) in [
        ("Name;Note\nZoë;\"a; \"\"b\"\" |\nc\"\n", "ships.csv"),
        ("Name\tNote\nZoë\t\"a; \"\"b\"\" | c\"\n", "x/ships.tsv"),
    ] {
        let extracted = extract_file(text.as_bytes(), name);
        assert_eq!(
            (extracted.format, extracted.text),
            (Format::Csv, format!("# ships\n\n{table}"))
        );
    }

    assert_eq!(
        extract_file(b"1,5;2,5\n3,5;4,5", "n.csv").text,
        "# n\n\n| 1,5 | 2,5 |\n| --- | --- |\n| 3,5 | 4,5 |"
    );
    assert_eq!(extract_file(b"one\ntwo", "list.csv").text, "one\ntwo");
}

#[test]
fn data_and_code_stay_as_they_are() {
    for (text, name, format) in [
        ("{\"a\": [1, 2]}", "x.txt", Format::Data),
        ("a:\n  - 1\n# c", "x.yaml", Format::Data),
        ("[a]\nb = 1", "x.toml", Format::Data),
        ("# not a heading\nx = 1", "x.py", Format::Code),
        ("#!/bin/sh\necho 1", "run", Format::Code),
        ("{not json}", "x", Format::Text),
    ] {
        let extracted = extract_file(text.as_bytes(), name);
        assert_eq!(
            (extracted.format, extracted.text.as_str()),
            (format, text),
            "{name}"
        );
    }
}

#[test]
fn pdf_with_a_predefined_character_map_is_read() {
    let font = "<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H /DescendantFonts [6 0 R] >>";
    let descendant = "<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 4 >> >>";
    let pdf = make::pdf_page(
        "BT /F1 24 Tf 72 700 Td <706F5854> Tj ET",
        font,
        &[descendant],
    );
    assert_eq!(extract_file(&pdf, "lighthouse.pdf").text, "灯塔");
}

#[test]
fn every_page_of_a_long_pdf_is_read_in_order() {
    let count = 120;
    let kids: String = (0..count)
        .map(|page| format!("{} 0 R ", 4 + 2 * page))
        .collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {count} >>"),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    for page in 0..count {
        let content = format!("BT /F1 12 Tf 72 700 Td (Page number {page} ends here.) Tj ET");
        let object_number = objects.len() + 2;
        objects.push(format!("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {object_number} 0 R /Resources << /Font << /F1 3 0 R >> >> >>"));
        objects.push(format!(
            "<< /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        ));
    }

    let extracted = extract_file(&make::pdf(&objects), "long.pdf");
    assert_eq!(extracted.properties["pageCount"], "120");
    let positions: Vec<Option<usize>> = (0..count)
        .map(|page| extracted.text.find(&format!("Page number {page} ends")))
        .collect();
    assert!(
        positions.iter().all(Option::is_some) && positions.is_sorted(),
        "{positions:?}"
    );
}

#[test]
fn wrong_names_and_declared_types_do_not_matter() {
    for (bytes, format) in [
        (make::docx(&make::docx_body()), Format::Docx),
        (make::pptx(), Format::Pptx),
        (
            make::xlsx(&format!("<row>{}</row>", make::cell("A1", "x"))),
            Format::Xlsx,
        ),
        (
            make::open_document("text", "<text:p>x</text:p>", ""),
            Format::Odt,
        ),
        (make::epub(&["<p>x</p>"], &[]), Format::Epub),
        (fixture("old.xls"), Format::Xls),
        (fixture("two-pages.pdf"), Format::Pdf),
    ] {
        for (name, declared) in [
            ("a.txt", "text/html"),
            ("a.pdf", "application/pdf"),
            ("a.docx", "image/png"),
            ("a", "x"),
        ] {
            let source = ContentSource {
                bytes: &bytes,
                name: Some(name),
                declared_type: Some(declared),
            };
            assert_eq!(detect_format(&source).unwrap(), format, "{name}");
            assert_eq!(extract_document(&source).unwrap().format, format, "{name}");
        }
    }
}

#[test]
fn pictures_and_recordings_are_told_apart_and_left_to_others() {
    let webm = &[
        &b"\x1A\x45\xDF\xA3\x01\0\0\0\0\0\0\x1F\x42\x86\x81\x01\x42\xF7\x81\x01\x42\x82\x84webm"[..],
        &[0; 300],
    ]
    .concat();
    let cases: [(&[u8], Option<&str>, Format, &str); 5] = [
        (
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
            None,
            Format::Image,
            "image/png",
        ),
        (
            b"\xFF\xD8\xFF\xE0\0\x10JFIF\0\x01",
            None,
            Format::Image,
            "image/jpeg",
        ),
        (
            b"ID3\x03\0\0\0\0\0\x0A\0\0",
            None,
            Format::Audio,
            "audio/mpeg",
        ),
        (webm, None, Format::Video, "video/webm"),
        (
            webm,
            Some("audio/webm;codecs=opus"),
            Format::Audio,
            "audio/webm",
        ),
    ];
    for (bytes, declared, format, kind) in cases {
        let source = ContentSource {
            bytes,
            name: Some("x.pdf"),
            declared_type: declared,
        };
        assert_eq!(
            (detect_format(&source).unwrap(), detect_media(&source)),
            (format, Some((format, kind)))
        );
        assert_eq!(
            extract_document(&source).unwrap_err().code,
            FailureCode::UnsupportedType
        );
    }

    let text = ContentSource {
        bytes: b"BMW builds cars.",
        ..ContentSource::default()
    };

    assert_eq!(
        (detect_format(&text).unwrap(), detect_media(&text)),
        (Format::Text, None)
    );
}
