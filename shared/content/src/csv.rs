//! Tables as text: the delimiter is guessed, the table written as markdown.

use csv::ReaderBuilder;

use crate::extract::Extracted;
use crate::failure::{Failure, FailureCode};
use crate::format::Format;
use crate::sheets::MAX_CELLS;
use crate::table::Tables;

/// How many records are looked at to find the delimiter.
const LOOK_RECORDS: usize = 50;
/// The earlier wins a tie: where numbers have decimal commas, they are as regular as the delimiters.
const DELIMITERS: [u8; 4] = *b"\t;|,";

/// Reads a table. A text that is none stays as it is.
pub(crate) fn read(text: String, name: Option<&str>) -> Result<Extracted, Failure> {
    let Some(delimiter) = delimiter(&text) else {
        return Ok(Extracted::new(Format::Text, text));
    };
    let mut tables = Tables::default();
    let file = name.and_then(|name| name.rsplit(['/', '\\']).next()).unwrap_or_default();
    tables.begin(file.rsplit_once('.').map_or(file, |(stem, _)| stem));
    let mut cells = 0;
    let width = width(&text, delimiter);
    // Text cannot be malformed to this reader.
    for record in reader(&text, delimiter).records().map_while(Result::ok) {
        cells += record.len();
        if cells > MAX_CELLS {
            let message = format!("The table has more than {MAX_CELLS} cells.");
            return Err(Failure::new(FailureCode::ContentLimit, message));
        }
        let row: Vec<&str> = record.iter().collect();
        if row.iter().any(|cell| !cell.trim().is_empty()) {
            tables.row(&row, width)?;
        }
    }
    Ok(Extracted::new(Format::Csv, tables.finish()))
}

fn reader(text: &str, delimiter: u8) -> csv::Reader<&[u8]> {
    ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(text.as_bytes())
}

/// Returns the number of columns of the first record that is not blank.
fn width(text: &str, delimiter: u8) -> usize {
    reader(text, delimiter).records().map_while(Result::ok).map(|record| record.len()).next().unwrap_or(1)
}

/// Returns the delimiter that cuts most of the first records into the same number of cells, more than one.
fn delimiter(text: &str) -> Option<u8> {
    let alike = |delimiter: u8| {
        let records = reader(text, delimiter).into_records().take(LOOK_RECORDS).map_while(Result::ok);
        let mut widths: Vec<usize> = records.map(|record| record.len()).collect();
        widths.sort_unstable();
        let runs = widths.chunk_by(|left, right| left == right).filter(|run| run[0] > 1);
        runs.map(<[usize]>::len).max().unwrap_or(0)
    };
    let best = DELIMITERS.into_iter().rev().max_by_key(|delimiter| alike(*delimiter))?;
    (alike(best) > 0).then_some(best)
}
