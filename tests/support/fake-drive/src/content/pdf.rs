//! PDFs of the smallest form that contains text.

use std::fmt::Write as _;

use bytes::Bytes;

const LINES_PER_PAGE: usize = 50;

/// Builds a PDF of the lines of a text, in Helvetica. Characters outside Latin-1 become question
/// marks.
pub(crate) fn build_pdf(text: &str) -> Bytes {
    let lines: Vec<_> = text.lines().flat_map(wrap_line).collect();
    let pages: Vec<_> = if lines.is_empty() {
        vec![&[][..]]
    } else {
        lines.chunks(LINES_PER_PAGE).collect()
    };

    let kids: String = (0..pages.len()).fold(String::new(), |kids, page| {
        kids + &format!("{} 0 R ", 4 + page * 2)
    });

    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", pages.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_owned(),
    ];
    for (number, page) in pages.iter().enumerate() {
        let content = 5 + number * 2;
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {content} 0 R \
             /Resources << /Font << /F1 3 0 R >> >> >>"
        ));
        let stream = content_stream(page);
        objects.push(format!(
            "<< /Length {} >>\nstream\n{stream}endstream",
            stream.len()
        ));
    }

    assemble_file(&objects)
}

/// Wraps a line at about 90 characters.
fn wrap_line(line: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        if lines
            .last()
            .is_some_and(|last| last.len() + word.len() > 90)
        {
            lines.push(String::new());
        }
        if let Some(last) = lines.last_mut() {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }

    lines
}

fn content_stream(lines: &[String]) -> String {
    let mut stream = "BT /F1 11 Tf 56 790 Td 14 TL\n".to_owned();
    for line in lines {
        let _fits = writeln!(stream, "({}) Tj T*", escape_text(line));
    }
    stream.push_str("ET\n");
    stream
}

fn escape_text(line: &str) -> String {
    let character = |letter: char| match letter {
        '(' | ')' | '\\' => format!("\\{letter}"),
        ' '..='~' => letter.to_string(),
        '\u{a0}'..='\u{ff}' => format!("\\{:03o}", u32::from(letter)),
        _ => "?".to_owned(),
    };
    line.chars().map(character).collect()
}

fn assemble_file(objects: &[String]) -> Bytes {
    let mut text = "%PDF-1.4\n".to_owned();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for (number, object) in objects.iter().enumerate() {
        let _fits = writeln!(table, "{:010} 00000 n ", text.len());
        let _fits = write!(text, "{} 0 obj\n{object}\nendobj\n", number + 1);
    }

    let start = text.len();
    let size = objects.len() + 1;
    let _fits = write!(
        text,
        "{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    );

    Bytes::from(text)
}
