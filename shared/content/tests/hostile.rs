//! Tests that broken, encrypted and malicious files end with the right failure.

mod make;

use content::{ContentSource, FailureCode, Format, extract_document, extract_document_as};

fn failure_code(bytes: &[u8], name: &str) -> FailureCode {
    match extract_document(&ContentSource {
        bytes,
        name: Some(name),
        declared_type: None,
    }) {
        Err(failure) => failure.code,
        Ok(read) => panic!("{name} was read: {:.200}", read.text),
    }
}

fn fixture(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    std::fs::read(path).expect("the fixture exists")
}

/// Returns one file of each format that has a structure to break.
fn sample_files() -> Vec<(&'static str, Vec<u8>)> {
    let sheet = r#"<table:table table:name="a"><table:table-row><table:table-cell office:value-type="string"><text:p>x</text:p></table:table-cell></table:table-row></table:table>"#;
    vec![
        ("a.docx", make::docx(&make::docx_body())),
        ("a.pptx", make::pptx()),
        (
            "a.xlsx",
            make::xlsx(&format!("<row>{}</row>", make::cell("A1", "x"))),
        ),
        (
            "a.odt",
            make::open_document("text", "<text:p>x</text:p>", ""),
        ),
        ("a.ods", make::open_document("spreadsheet", sheet, "")),
        (
            "a.odp",
            make::open_document("presentation", "<draw:page/>", ""),
        ),
        ("a.epub", make::epub(&["<p>x</p>"], &[])),
        ("a.xls", fixture("old.xls")),
        ("a.pdf", fixture("two-pages.pdf")),
    ]
}

#[test]
fn truncated_files_are_corrupt() {
    for (name, bytes) in sample_files() {
        for share in [3, 5, 8] {
            let cut = &bytes[..bytes.len() * share / 10];
            assert_eq!(
                failure_code(cut, name),
                FailureCode::Corrupt,
                "{name} at {share}/10"
            );
        }
    }
    assert_eq!(
        failure_code(br#"{"nbformat":4,"cells":[{"cell_type":"mark"#, "a.ipynb"),
        FailureCode::Corrupt
    );
}

#[test]
fn truncated_packages_are_known_without_their_names() {
    let bytes = make::docx(&make::docx_body());
    assert_eq!(
        failure_code(&bytes[..bytes.len() / 2], "unnamed"),
        FailureCode::Corrupt
    );
}

#[test]
fn damaged_bytes_never_panic_or_pass_for_another_type() {
    for (name, bytes) in sample_files() {
        for step in 1..40 {
            let mut damaged = bytes.clone();
            let at = step * damaged.len() / 40;
            damaged[at] ^= 0x55;
            if let Err(failure) = extract_document(&ContentSource {
                bytes: &damaged,
                name: Some(name),
                declared_type: None,
            }) {
                assert_ne!(failure.code, FailureCode::ContentLimit, "{name} at {at}");
                assert!(
                    !failure.message.contains("broke the reader"),
                    "{name} at {at} panicked"
                );
            }
        }
    }
}

#[test]
fn every_reader_survives_the_files_of_every_other() {
    let formats = [
        Format::Docx,
        Format::Pptx,
        Format::Xlsx,
        Format::Doc,
        Format::Ppt,
        Format::Xls,
        Format::Odt,
        Format::Odp,
        Format::Ods,
        Format::Epub,
        Format::Rtf,
        Format::Email,
        Format::Notebook,
        Format::Html,
        Format::Csv,
        Format::Pdf,
    ];

    for (name, bytes) in sample_files() {
        for format in formats {
            if let Err(failure) = extract_document_as(format, &bytes) {
                assert!(
                    !failure.message.contains("broke the reader"),
                    "{name} as {format:?} panicked"
                );
            }
        }
    }
}

#[test]
fn encrypted_files_are_named_so() {
    let office = make::compound(&["Root Entry", "EncryptionInfo", "EncryptedPackage"]);
    assert_eq!(failure_code(&office, "a.docx"), FailureCode::Encrypted);
    assert_eq!(
        failure_code(&fixture("encrypted.pdf"), "a.pdf"),
        FailureCode::Encrypted
    );
    let mut unread = make::pdf(&["<< /Type /Catalog >>".to_owned()]);
    assert_eq!(failure_code(&unread, "a.pdf"), FailureCode::Corrupt);
    let root = unread
        .windows(11)
        .rposition(|window| window == b"/Root 1 0 R")
        .expect("it has a trailer");
    unread.splice(root..root, *b"/Encrypt << /Filter /Standard /V 4 /R 4 >> ");
    assert_eq!(failure_code(&unread, "a.pdf"), FailureCode::Encrypted);
    let manifest = r#"<manifest:file-entry manifest:full-path="content.xml"><manifest:encryption-data/></manifest:file-entry>"#;

    assert_eq!(
        failure_code(&make::open_document("text", "", manifest), "a.odt"),
        FailureCode::Encrypted
    );
    let parts = br#"<encryption><CipherReference URI="c1.xhtml"/></encryption>"#;
    let book = make::epub(&["x"], &[("META-INF/encryption.xml", parts)]);
    assert_eq!(failure_code(&book, "a.epub"), FailureCode::Encrypted);
    // The encryption flag is in the local header and in the directory.
    let mut package = make::docx(&make::docx_body());

    for (header, flag) in [(b"PK\x03\x04", 6), (b"PK\x01\x02", 8)] {
        let starts: Vec<usize> = (0..package.len() - 4)
            .filter(|at| &package[*at..at + 4] == header)
            .collect();
        starts.iter().for_each(|at| package[at + flag] |= 1);
    }

    assert_eq!(failure_code(&package, "a.docx"), FailureCode::Encrypted);
}

#[test]
fn e_book_with_scrambled_fonts_is_read() {
    let parts = br#"<encryption><CipherReference URI="fonts/a.otf"/></encryption>"#;
    let book = make::epub(&["<p>Light.</p>"], &[("META-INF/encryption.xml", parts)]);
    assert!(
        extract_document(&ContentSource {
            bytes: &book,
            ..ContentSource::default()
        })
        .unwrap()
        .text
        .contains("Light.")
    );
}

#[test]
fn packages_that_unfold_too_far_are_refused() {
    let blanks = vec![b' '; 60 << 20];
    let one = make::zip(&[
        ("[Content_Types].xml", b"x"),
        ("word/document.xml", &blanks),
    ]);

    assert_eq!(failure_code(&one, "a.docx"), FailureCode::ContentLimit);
    let dense = make::zip(&[("word/document.xml", &blanks[..20 << 20])]);
    assert_eq!(failure_code(&dense, "a.docx"), FailureCode::ContentLimit);
    let names: Vec<String> = (0..10_001).map(|n| format!("word/{n}")).collect();
    let many = make::zip(
        &names
            .iter()
            .map(|name| (name.as_str(), &b""[..]))
            .collect::<Vec<_>>(),
    );

    assert_eq!(failure_code(&many, "a.docx"), FailureCode::ContentLimit);
}

#[test]
fn a_package_that_lies_about_its_sizes_is_refused() {
    let mut bytes = make::zip(&[("word/document.xml", &vec![b' '; 20 << 20])]);
    // The true size is in the directory, 24 bytes after its start.
    let at = (0..bytes.len() - 4)
        .rfind(|at| &bytes[*at..at + 4] == b"PK\x01\x02")
        .unwrap();
    bytes[at + 24..at + 28].copy_from_slice(&1000u32.to_le_bytes());
    assert_eq!(failure_code(&bytes, "a.docx"), FailureCode::Corrupt);
}

#[test]
fn deep_and_unfolding_markup_is_refused() {
    let deep = "<w:p>".repeat(20_000) + &"</w:p>".repeat(20_000);
    assert_eq!(
        failure_code(&make::docx(&deep), "a.docx"),
        FailureCode::Corrupt
    );
    let deep = "<text:p>".repeat(20_000) + &"</text:p>".repeat(20_000);

    assert_eq!(
        failure_code(&make::open_document("text", &deep, ""), "a.odt"),
        FailureCode::Corrupt
    );
    let laughs: String = (1..20)
        .map(|n| format!(r#"<!ENTITY e{n} "{}">"#, format!("&e{};", n - 1).repeat(10)))
        .collect();
    let content = format!(r#"<!DOCTYPE x [<!ENTITY e0 "ha">{laughs}]><x>&e19;</x>"#);
    let document = make::zip(&[
        ("[Content_Types].xml", b"<Types/>"),
        ("word/document.xml", content.as_bytes()),
    ]);

    assert_eq!(failure_code(&document, "a.docx"), FailureCode::Corrupt);
}

#[test]
fn other_archives_are_unsupported() {
    let archive = make::zip(&[("notes.txt", b"x")]);
    for name in ["a.zip", "a.docx"] {
        assert_eq!(failure_code(&archive, name), FailureCode::UnsupportedType);
    }
    assert_eq!(
        failure_code(&make::compound(&["Root Entry", "Other"]), "a.doc"),
        FailureCode::UnsupportedType
    );
    assert_eq!(
        failure_code(b"\x7FELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0", "a.exe"),
        FailureCode::UnsupportedType
    );
}

#[test]
fn files_without_text_are_empty() {
    assert_eq!(
        failure_code(&make::open_document("text", "<text:p/>", ""), "a.odt"),
        FailureCode::Empty
    );
    assert_eq!(failure_code(&make::xlsx(""), "a.xlsx"), FailureCode::Empty);
    assert_eq!(
        failure_code(&make::epub(&[""], &[]), "a.epub"),
        FailureCode::Empty
    );
    assert_eq!(failure_code(br"{\rtf1 }", "a.rtf"), FailureCode::Empty);
}
