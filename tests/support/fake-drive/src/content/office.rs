//! Office files of the smallest form that readers accept.

use std::io::{Cursor, Write as _};

use bytes::Bytes;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::drive_contents::{SheetTable, Slide};
use crate::wire::escape_html;

const XML_DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
const CONTENT_TYPES_NS: &str = "http://schemas.openxmlformats.org/package/2006/content-types";
const PACKAGE_LINKS_NS: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
const RELATIONSHIPS_NS: &str =
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const SPREADSHEET_NS: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const PRESENTATION_NS: &str = "http://schemas.openxmlformats.org/presentationml/2006/main";
const DRAWING_NS: &str = "http://schemas.openxmlformats.org/drawingml/2006/main";
const MEDIA_TYPE_PREFIX: &str = "application/vnd.openxmlformats-officedocument";

/// The parts of an office file: paths and texts.
type Parts = Vec<(String, String)>;

fn zip_parts(parts: &Parts) -> Option<Bytes> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, text) in parts {
        writer
            .start_file(path.as_str(), SimpleFileOptions::default())
            .ok()?;
        writer.write_all(XML_DECLARATION.as_bytes()).ok()?;
        writer.write_all(text.as_bytes()).ok()?;
    }
    Some(Bytes::from(writer.finish().ok()?.into_inner()))
}

fn content_types_part(parts: &[(String, &str)]) -> (String, String) {
    let part = |(path, kind): &(String, &str)| {
        format!("<Override PartName=\"/{path}\" ContentType=\"{MEDIA_TYPE_PREFIX}.{kind}+xml\"/>")
    };
    let overrides: String = parts.iter().map(part).collect();
    let text = format!(
        "<Types xmlns=\"{CONTENT_TYPES_NS}\"><Default Extension=\"rels\" \
         ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>\
         <Default Extension=\"xml\" ContentType=\"application/xml\"/>{overrides}</Types>"
    );
    ("[Content_Types].xml".to_owned(), text)
}

/// Builds a part with links to other parts. The n-th link has the id `rIdn`.
fn relationships_part(path: &str, targets: &[(&str, String)]) -> (String, String) {
    let link = |(number, (kind, target)): (usize, &(&str, String))| {
        let id = number + 1;
        format!(
            "<Relationship Id=\"rId{id}\" Type=\"{RELATIONSHIPS_NS}/{kind}\" Target=\"{target}\"/>"
        )
    };
    let relationships: String = targets.iter().enumerate().map(link).collect();
    (
        path.to_owned(),
        format!("<Relationships xmlns=\"{PACKAGE_LINKS_NS}\">{relationships}</Relationships>"),
    )
}

/// Builds a workbook of tables.
pub(crate) fn build_workbook(tables: &[SheetTable]) -> Option<Bytes> {
    let numbers = 1..=tables.len();
    let path = |number: usize| format!("xl/worksheets/sheet{number}.xml");
    let mut kinds = vec![("xl/workbook.xml".to_owned(), "spreadsheetml.sheet.main")];
    kinds.extend(
        numbers
            .clone()
            .map(|number| (path(number), "spreadsheetml.worksheet")),
    );
    let targets: Vec<_> = numbers
        .clone()
        .map(|number| ("worksheet", format!("worksheets/sheet{number}.xml")))
        .collect();
    let entry = |(at, table): (usize, &SheetTable)| {
        let (name, number) = (escape_html(&table.name), at + 1);
        format!("<sheet name=\"{name}\" sheetId=\"{number}\" r:id=\"rId{number}\"/>")
    };
    let sheets: String = tables.iter().enumerate().map(entry).collect();

    let mut parts = vec![
        content_types_part(&kinds),
        relationships_part(
            "_rels/.rels",
            &[("officeDocument", "xl/workbook.xml".to_owned())],
        ),
        (
            "xl/workbook.xml".to_owned(),
            format!(
                "<workbook xmlns=\"{SPREADSHEET_NS}\" xmlns:r=\"{RELATIONSHIPS_NS}\"><sheets>{sheets}</sheets></workbook>"
            ),
        ),
        relationships_part("xl/_rels/workbook.xml.rels", &targets),
    ];
    parts.extend(
        numbers
            .zip(tables)
            .map(|(number, table)| (path(number), build_worksheet(table))),
    );

    zip_parts(&parts)
}

fn build_worksheet(table: &SheetTable) -> String {
    let rows = table.rows.iter().enumerate().map(|(at, row)| {
        let cells: String = row
            .iter()
            .enumerate()
            .map(|(column, text)| build_cell(column, at + 1, text))
            .collect();
        format!("<row r=\"{}\">{cells}</row>", at + 1)
    });
    format!(
        "<worksheet xmlns=\"{SPREADSHEET_NS}\"><sheetData>{}</sheetData></worksheet>",
        rows.collect::<String>()
    )
}

fn build_cell(column: usize, row: usize, text: &str) -> String {
    let cell_reference = format!("{}{row}", column_name(column));
    if text.parse::<f64>().is_ok_and(f64::is_finite) {
        return format!("<c r=\"{cell_reference}\"><v>{text}</v></c>");
    }
    format!(
        "<c r=\"{cell_reference}\" t=\"inlineStr\"><is><t>{}</t></is></c>",
        escape_html(text)
    )
}

/// Returns the name of a column: A to Z, then AA.
fn column_name(column: usize) -> String {
    let last = char::from(b'A' + (column % 26) as u8).to_string();
    if column < 26 {
        last
    } else {
        column_name(column / 26 - 1) + &last
    }
}

/// Builds a presentation of slides with notes.
pub(crate) fn build_presentation(slides: &[Slide]) -> Option<Bytes> {
    let numbers = 1..=slides.len();
    let mut kinds = vec![(
        "ppt/presentation.xml".to_owned(),
        "presentationml.presentation.main",
    )];
    for number in numbers.clone() {
        kinds.push((
            format!("ppt/slides/slide{number}.xml"),
            "presentationml.slide",
        ));
        kinds.push((
            format!("ppt/notesSlides/notesSlide{number}.xml"),
            "presentationml.notesSlide",
        ));
    }

    let entry = |number: usize| format!("<p:sldId id=\"{}\" r:id=\"rId{number}\"/>", 255 + number);
    let list: String = numbers.clone().map(entry).collect();
    let presentation = format!(
        "<p:presentation xmlns:a=\"{DRAWING_NS}\" xmlns:r=\"{RELATIONSHIPS_NS}\" xmlns:p=\"{PRESENTATION_NS}\"><p:sldIdLst>{list}\
         </p:sldIdLst><p:sldSz cx=\"9144000\" cy=\"6858000\"/></p:presentation>"
    );
    let targets: Vec<_> = numbers
        .clone()
        .map(|number| ("slide", format!("slides/slide{number}.xml")))
        .collect();
    let mut parts = vec![
        content_types_part(&kinds),
        relationships_part(
            "_rels/.rels",
            &[("officeDocument", "ppt/presentation.xml".to_owned())],
        ),
        ("ppt/presentation.xml".to_owned(), presentation),
        relationships_part("ppt/_rels/presentation.xml.rels", &targets),
    ];
    for (number, slide) in numbers.zip(slides) {
        parts.extend(slide_parts(number, slide));
    }

    zip_parts(&parts)
}

fn slide_parts(number: usize, slide: &Slide) -> Parts {
    let notes = format!("../notesSlides/notesSlide{number}.xml");
    let slide_link = format!("../slides/slide{number}.xml");
    let title = build_shape(2, "title", std::slice::from_ref(&slide.title));
    let shapes = format!("{title}{}", build_shape(3, "body", &slide.lines));
    let note_lines: Vec<_> = slide.notes.lines().map(str::to_owned).collect();

    vec![
        (
            format!("ppt/slides/slide{number}.xml"),
            shape_tree("sld", &shapes),
        ),
        relationships_part(
            &format!("ppt/slides/_rels/slide{number}.xml.rels"),
            &[("notesSlide", notes)],
        ),
        (
            format!("ppt/notesSlides/notesSlide{number}.xml"),
            shape_tree("notes", &build_shape(2, "body", &note_lines)),
        ),
        relationships_part(
            &format!("ppt/notesSlides/_rels/notesSlide{number}.xml.rels"),
            &[("slide", slide_link)],
        ),
    ]
}

fn shape_tree(root: &str, shapes: &str) -> String {
    format!(
        "<p:{root} xmlns:a=\"{DRAWING_NS}\" xmlns:r=\"{RELATIONSHIPS_NS}\" xmlns:p=\"{PRESENTATION_NS}\"><p:cSld><p:spTree><p:nvGrpSpPr>\
         <p:cNvPr id=\"1\" name=\"\"/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>{shapes}</p:spTree></p:cSld>\
         </p:{root}>"
    )
}

fn build_shape(id: usize, kind: &str, lines: &[String]) -> String {
    let line = |line: &String| format!("<a:p><a:r><a:t>{}</a:t></a:r></a:p>", escape_html(line));
    let text: String = if lines.is_empty() {
        "<a:p/>".to_owned()
    } else {
        lines.iter().map(line).collect()
    };
    format!(
        "<p:sp><p:nvSpPr><p:cNvPr id=\"{id}\" name=\"{kind}\"/><p:cNvSpPr/><p:nvPr><p:ph type=\"{kind}\"/></p:nvPr>\
         </p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/>{text}</p:txBody></p:sp>"
    )
}
