//! The formats in which content leaves the drive.

mod office;
mod pdf;

use bytes::Bytes;

pub(crate) use pdf::build_pdf;

use crate::drive_contents::{FakeContent, SheetTable, Slide};

const MARKDOWN: &str = "text/markdown";
const PLAIN: &str = "text/plain";
const CSV: &str = "text/csv";
const PDF: &str = "application/pdf";
const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const PPTX: &str = "application/vnd.openxmlformats-officedocument.presentationml.presentation";

/// Returns the media types to which a body can be exported. The list is empty for items that no
/// editor of the drive created.
pub(crate) fn export_formats(body: &FakeContent) -> &'static [&'static str] {
    match body {
        FakeContent::Doc(_) => &[MARKDOWN, PLAIN, PDF],
        FakeContent::Sheet(_) => &[XLSX, CSV, "text/tab-separated-values"],
        FakeContent::Slides(_) => &[PPTX, PLAIN, PDF],
        _ => &[],
    }
}

/// Exports the body in a format; `None` if it cannot be exported to that format.
pub(crate) fn export_body(body: &FakeContent, format: &str) -> Option<Bytes> {
    Some(match (body, format) {
        (FakeContent::Doc(markdown), MARKDOWN) => Bytes::from(markdown.clone()),
        (FakeContent::Doc(markdown), PLAIN) => {
            Bytes::from(format!("\u{feff}{}", strip_images(markdown)))
        }
        (FakeContent::Doc(markdown), PDF) => build_pdf(&strip_images(markdown)),
        (FakeContent::Sheet(tables), XLSX) => office::build_workbook(tables)?,
        (FakeContent::Sheet(tables), CSV) => render_first_table(tables, ','),
        (FakeContent::Sheet(tables), "text/tab-separated-values") => {
            render_first_table(tables, '\t')
        }
        (FakeContent::Slides(slides), PPTX) => office::build_presentation(slides)?,
        (FakeContent::Slides(slides), PLAIN) => Bytes::from(render_outline(slides)),
        (FakeContent::Slides(slides), PDF) => build_pdf(&render_outline(slides)),
        _ => return None,
    })
}

/// Returns the text of a Markdown document without its images.
fn strip_images(markdown: &str) -> String {
    let mut text = String::new();
    for line in markdown
        .lines()
        .filter(|line| !line.trim_start().starts_with("!["))
    {
        let line = line
            .trim_start_matches('#')
            .trim_start_matches("- ")
            .trim_start();
        text.push_str(&line.replace("**", "").replace('`', ""));
        text.push('\n');
    }

    text
}

fn render_outline(slides: &[Slide]) -> String {
    let text = slides
        .iter()
        .map(|slide| format!("{}\n{}\n", slide.title, slide.lines.join("\n")));
    text.collect::<Vec<_>>().join("\n")
}

/// Renders only the first table, as the drive's text export does.
fn render_first_table(tables: &[SheetTable], separator: char) -> Bytes {
    let rows = tables
        .first()
        .map_or(&[][..], |table| table.rows.as_slice());
    let render_row = |row: &Vec<String>| {
        let cells = row.iter().map(|cell| quote_cell(cell, separator));
        cells.collect::<Vec<_>>().join(&separator.to_string())
    };
    Bytes::from(rows.iter().map(render_row).collect::<Vec<_>>().join("\r\n"))
}

fn quote_cell(cell: &str, separator: char) -> String {
    if cell.contains([separator, '"', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use calamine::{Reader, Xlsx};

    use super::*;

    fn render_tables() -> FakeContent {
        let row = |cells: &[&str]| {
            cells
                .iter()
                .map(|cell| (*cell).to_owned())
                .collect::<Vec<_>>()
        };

        FakeContent::Sheet(vec![
            SheetTable {
                name: "Plants & pots".to_owned(),
                rows: vec![row(&["Plant", "Count"]), row(&["Fern, tall", "7"])],
            },
            SheetTable {
                name: "Notes".to_owned(),
                rows: vec![row(&["<dry>"])],
            },
        ])
    }

    #[test]
    fn a_workbook_is_read_back_by_a_reader_that_knows_nothing_of_us() {
        let bytes = export_body(&render_tables(), XLSX).unwrap();
        let mut book: Xlsx<_> = calamine::open_workbook_from_rs(Cursor::new(bytes)).unwrap();
        assert_eq!(book.sheet_names(), ["Plants & pots", "Notes"]);
        let cells = |range: calamine::Range<calamine::Data>| {
            range
                .rows()
                .map(|row| row.iter().map(ToString::to_string).collect::<Vec<_>>())
                .collect::<Vec<_>>()
        };

        assert_eq!(
            cells(book.worksheet_range("Plants & pots").unwrap()),
            [["Plant", "Count"], ["Fern, tall", "7"]]
        );
        assert_eq!(cells(book.worksheet_range("Notes").unwrap()), [["<dry>"]]);
    }

    #[test]
    fn a_presentation_holds_its_slides_and_notes() {
        let slide = Slide {
            title: "Why & how".to_owned(),
            lines: vec!["One".to_owned()],
            notes: "Say it".to_owned(),
        };

        let bytes = export_body(&FakeContent::Slides(vec![slide]), PPTX).unwrap();
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();

        for (part, text) in [
            ("ppt/slides/slide1.xml", "Why &amp; how"),
            ("ppt/notesSlides/notesSlide1.xml", "Say it"),
        ] {
            let xml = std::io::read_to_string(archive.by_name(part).unwrap()).unwrap();
            assert!(xml.contains(text), "{part}: {xml}");
        }
    }

    #[test]
    fn text_forms() {
        let doc = FakeContent::Doc(
            "# Trip\n\n![map](data:image/png;base64,AAAA)\n- **boots**\n".to_owned(),
        );
        let text = |body: &FakeContent, form: &str| {
            export_body(body, form).map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
        };

        assert_eq!(
            text(&doc, PLAIN).as_deref(),
            Some("\u{feff}Trip\n\nboots\n")
        );
        assert_eq!(
            text(&render_tables(), CSV).as_deref(),
            Some("Plant,Count\r\n\"Fern, tall\",7")
        );
        assert_eq!(text(&doc, CSV), None);
        assert_eq!(text(&FakeContent::Folder, PLAIN), None);

        for body in [doc, render_tables()] {
            for form in export_formats(&body) {
                assert!(export_body(&body, form).is_some(), "{form}");
            }
        }
    }
}
