//! Workbooks: a heading and a table for each sheet.

mod ods;

use std::borrow::Cow;
use std::io::Cursor;

use calamine::{
    Data, ExcelDateTime, OdsError, Reader, Sheets, XlsError, XlsxError, open_workbook_auto_from_rs,
};

use crate::extract::ExtractedDocument;
use crate::failure::{ContentFailure, FailureCode};
use crate::format::Format;
use crate::table::MarkdownTables;
use crate::{office, package};

/// The most cells that are read of all sheets together.
pub const MAX_CELLS: usize = 5_000_000;

type Workbook<'a> = Sheets<Cursor<&'a [u8]>>;
/// A cell that is not blank: row, column, text.
type Cell = (u32, u32, String);

pub(crate) fn read_workbook(
    format: Format,
    bytes: &[u8],
) -> Result<ExtractedDocument, ContentFailure> {
    let package = if format == Format::Xls {
        None
    } else {
        Some(package::check_package(bytes)?)
    };

    let readable = match package {
        Some(mut package) if format == Format::Ods => ods::make_readable(bytes, &mut package)?,
        _ => Cow::Borrowed(bytes),
    };

    let mut workbook = open_workbook(format, &readable)?;
    let names = workbook.sheet_names();
    let mut tables = MarkdownTables::default();
    let mut remaining_cells = MAX_CELLS;
    for name in &names {
        let cells = read_cells(&mut workbook, name, remaining_cells)?;
        remaining_cells -= cells.len();
        write_sheet(name, cells, &mut tables)?;
    }

    let mut extracted = ExtractedDocument::new(format, tables.finish());
    if format != Format::Xls {
        office::set_metadata(&office::read_metadata(format, bytes), &mut extracted);
    }

    extracted.set_property("sheetCount", Some(&names.len().to_string()));
    Ok(extracted)
}

fn open_workbook(format: Format, bytes: &[u8]) -> Result<Workbook<'_>, ContentFailure> {
    let cursor = Cursor::new(bytes);
    match format {
        Format::Xls => match calamine::Xls::new(cursor) {
            Ok(workbook) => Ok(Sheets::Xls(workbook)),
            Err(XlsError::Password) => Err(encrypted_failure()),
            Err(_) => Err(package::corrupt_failure()),
        },
        Format::Ods => match calamine::Ods::new(cursor) {
            Ok(workbook) => Ok(Sheets::Ods(workbook)),
            Err(OdsError::Password) => Err(encrypted_failure()),
            Err(_) => Err(package::corrupt_failure()),
        },
        _ => match open_workbook_auto_from_rs(cursor) {
            Ok(workbook) => Ok(workbook),
            Err(_) => Err(package::corrupt_failure()),
        },
    }
}

fn encrypted_failure() -> ContentFailure {
    ContentFailure::new(
        FailureCode::Encrypted,
        "The workbook is encrypted: it opens only with a password.",
    )
}

/// Returns the cells of a sheet. Those of a newer workbook are read one by one, so that two cells
/// in opposite corners do not create the whole sheet between them.
fn read_cells(
    workbook: &mut Workbook,
    name: &str,
    remaining_cells: usize,
) -> Result<Vec<Cell>, ContentFailure> {
    let mut cells = Vec::new();
    if let Sheets::Xlsx(workbook) = workbook {
        let mut reader = match workbook.worksheet_cells_reader(name) {
            Ok(reader) => reader,
            // A sheet of charts has no cells.
            Err(XlsxError::NotAWorksheet(_)) => return Ok(cells),
            Err(_) => return Err(package::corrupt_failure()),
        };
        while let Some(cell) = reader.next_cell().map_err(|_| package::corrupt_failure())? {
            let (row, column) = cell.get_position();
            let text = format_value(&Data::from(cell.get_value().clone()));
            push_cell(&mut cells, row, column, text, remaining_cells)?;
        }
        cells.sort_by_key(|(row, column, _)| (*row, *column));
        return Ok(cells);
    }

    let Ok(range) = workbook.worksheet_range(name) else {
        return Err(package::corrupt_failure());
    };
    for (row, column, value) in range.used_cells() {
        let row = u32::try_from(row).unwrap_or(u32::MAX);
        let column = u32::try_from(column).unwrap_or(u32::MAX);
        let text = format_value(value);
        push_cell(&mut cells, row, column, text, remaining_cells)?;
    }

    Ok(cells)
}

fn push_cell(
    cells: &mut Vec<Cell>,
    row: u32,
    column: u32,
    text: String,
    remaining_cells: usize,
) -> Result<(), ContentFailure> {
    if text.trim().is_empty() {
        return Ok(());
    }

    if cells.len() == remaining_cells {
        let message = format!("The workbook has more than {MAX_CELLS} cells.");
        return Err(ContentFailure::new(FailureCode::ContentLimit, message));
    }

    cells.push((row, column, text));
    Ok(())
}

/// Writes a sheet without its blank rows and columns.
fn write_sheet(
    name: &str,
    cells: Vec<Cell>,
    tables: &mut MarkdownTables,
) -> Result<(), ContentFailure> {
    if cells.is_empty() {
        return Ok(());
    }

    let mut columns: Vec<u32> = cells.iter().map(|(_, column, _)| *column).collect();
    columns.sort_unstable();
    columns.dedup();
    tables.begin(name);
    for row in cells.chunk_by(|left, right| left.0 == right.0) {
        let mut texts: Vec<&str> = Vec::new();
        for (_, column, text) in row {
            // The column of every cell is in `columns`. Two cells may claim the same place.
            let index = columns.partition_point(|other| other < column);
            texts.resize(index.max(texts.len()), "");
            texts.push(text);
        }
        tables.row(&texts, columns.len())?;
    }

    Ok(())
}

/// Returns a value in the form in which people read it.
fn format_value(value: &Data) -> String {
    match value {
        Data::Float(number) => format_number(*number),
        Data::DateTime(moment) => format_moment(moment),
        Data::Bool(true) => "TRUE".to_owned(),
        Data::Bool(false) => "FALSE".to_owned(),
        Data::DateTimeIso(text) => text.trim_end_matches("T00:00:00").to_owned(),
        Data::DurationIso(text) => format_duration(text).unwrap_or_else(|| text.clone()),
        other => other.to_string(),
    }
}

/// Returns the time for a duration such as `PT12H30M00S`.
fn format_duration(duration: &str) -> Option<String> {
    let (hours, rest) = duration.strip_prefix("PT")?.split_once('H')?;
    let (minutes, rest) = rest.split_once('M')?;
    let seconds = rest.strip_suffix('S')?.split(['.', ',']).next()?;
    Some(format!("{hours}:{minutes:0>2}:{seconds:0>2}"))
}

/// Returns a number with fifteen digits, as spreadsheets show it. Further digits are an artefact of
/// binary numbers.
fn format_number(number: f64) -> String {
    let rounded = format!("{number:.14e}").parse().unwrap_or(number);
    let is_usual = rounded == 0.0 || (1e-6..1e15).contains(&f64::abs(rounded));
    if is_usual {
        format!("{rounded}")
    } else {
        format!("{rounded:e}")
    }
}

fn format_moment(moment: &ExcelDateTime) -> String {
    if moment.is_duration() {
        let Some(duration) = moment.as_duration() else {
            return format_number(moment.as_f64());
        };
        let seconds = duration.num_seconds();
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        return format!("{hours}:{minutes:02}:{:02}", seconds % 60);
    }

    let has_day = moment.as_f64() >= 1.0;
    let has_time = moment.as_f64().fract() != 0.0;
    let pattern = match (has_day, has_time) {
        (true, false) => "%Y-%m-%d",
        (true, true) => "%Y-%m-%d %H:%M:%S",
        (false, _) => "%H:%M:%S",
    };

    match moment.as_datetime() {
        Some(time) => time.format(pattern).to_string(),
        None => format_number(moment.as_f64()),
    }
}
