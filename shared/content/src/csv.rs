//! Tables as text: detection of the delimiter, and conversion to a Markdown table.

use csv::ReaderBuilder;

use crate::extract::ExtractedDocument;
use crate::failure::{ContentFailure, FailureCode};
use crate::format::Format;
use crate::sheets::MAX_CELLS;
use crate::table::MarkdownTables;

/// The number of records that are examined to detect the delimiter.
const SAMPLE_RECORDS: usize = 50;
/// The number of bytes that are examined for it, because records may have any length.
const SAMPLE_BYTES: usize = 256 * 1024;
/// The most columns of a table, as in the widest spreadsheets.
const MAX_COLUMNS: usize = 16_384;
/// The candidates for the delimiter. The earlier one wins a tie: decimal commas in numbers are as
/// regular as delimiters.
const DELIMITERS: [u8; 4] = *b"\t;|,";

/// Reads a table. A text that is not a table stays as it is.
pub(crate) fn read_table(
    text: String,
    name: Option<&str>,
) -> Result<ExtractedDocument, ContentFailure> {
    let Some(delimiter) = detect_delimiter(&text) else {
        return Ok(ExtractedDocument::new(Format::Text, text));
    };

    let mut tables = MarkdownTables::default();
    tables.begin(file_stem(name.unwrap_or_default()));
    check_size(measure_table(&text, delimiter))?;
    let width = column_count(&text, delimiter);
    // No text is malformed to this reader.
    for record in csv_reader(&text, delimiter).records().map_while(Result::ok) {
        let row: Vec<&str> = record.iter().collect();
        if row.iter().any(|cell| !cell.trim().is_empty()) {
            tables.row(&row, width)?;
        }
    }

    Ok(ExtractedDocument::new(Format::Csv, tables.finish()))
}

/// Returns the name of a file without its folders and its extension.
fn file_stem(path: &str) -> &str {
    let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
    match file.rsplit_once('.') {
        Some((stem, _)) => stem,
        None => file,
    }
}

/// The size of a table.
#[derive(Debug, Default, PartialEq, Eq)]
struct TableSize {
    columns: usize,
    cells: usize,
}

/// Rejects a table that is too large to be read record by record, because each cell of a record
/// takes memory, even if it is empty.
fn check_size(size: TableSize) -> Result<(), ContentFailure> {
    let message = if size.columns > MAX_COLUMNS {
        format!("The table has a row of more than {MAX_COLUMNS} cells; send fewer columns.")
    } else if size.cells > MAX_CELLS {
        format!("The table has more than {MAX_CELLS} cells; send it in parts.")
    } else {
        return Ok(());
    };
    Err(ContentFailure::new(FailureCode::ContentLimit, message))
}

/// Measures a table without storing any of it. It separates cells in the same way as the reader: a
/// quote has a meaning only at the start of a cell, and two quotes within a quoted cell are one
/// character.
fn measure_table(text: &str, delimiter: u8) -> TableSize {
    let mut size = TableSize::default();
    let (mut columns, mut at_start, mut in_quotes, mut is_blank) = (1, true, false, true);
    for byte in text.bytes() {
        // The second of two quotes opens the quoted part again, as if the first had closed it.
        let is_quote = byte == b'"' && (at_start || in_quotes);
        match byte {
            b'"' if is_quote => in_quotes = !in_quotes,
            b'\n' | b'\r' if !in_quotes => {
                if !is_blank {
                    size = TableSize {
                        columns: size.columns.max(columns),
                        cells: size.cells + columns,
                    };
                }
                (columns, at_start, is_blank) = (1, true, true);
                continue;
            }
            _ if byte == delimiter && !in_quotes => {
                (columns, at_start, is_blank) = (columns + 1, true, false);
                continue;
            }
            _ => {}
        }
        // The next quote after a quoted part belongs to it.
        at_start = is_quote && !in_quotes;
        is_blank = false;
    }

    if !is_blank {
        size = TableSize {
            columns: size.columns.max(columns),
            cells: size.cells + columns,
        };
    }

    size
}

fn csv_reader(text: &str, delimiter: u8) -> csv::Reader<&[u8]> {
    ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes())
}

/// Returns the number of columns of the first record that is not blank.
fn column_count(text: &str, delimiter: u8) -> usize {
    match csv_reader(text, delimiter).records().next() {
        Some(Ok(record)) => record.len(),
        _ => 1,
    }
}

/// Returns the delimiter that cuts most of the first records into the same number of cells, more
/// than one.
fn detect_delimiter(text: &str) -> Option<u8> {
    let sample = &text[..text.floor_char_boundary(SAMPLE_BYTES)];
    let (mut best, mut highest_count) = (None, 0);
    for delimiter in DELIMITERS {
        let count = count_uniform_records(sample, delimiter);
        if count > highest_count {
            (best, highest_count) = (Some(delimiter), count);
        }
    }

    best
}

/// Returns how many of the first records have the same number of cells, more than one.
fn count_uniform_records(sample: &str, delimiter: u8) -> usize {
    let mut widths = Vec::new();
    for record in csv_reader(sample, delimiter).records().take(SAMPLE_RECORDS) {
        let Ok(record) = record else { break };
        widths.push(record.len());
    }
    widths.sort_unstable();

    let mut highest_count = 0;
    for run in widths.chunk_by(|left, right| left == right) {
        if run[0] > 1 {
            highest_count = highest_count.max(run.len());
        }
    }

    highest_count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_measured_as_the_reader_cuts_them() {
        for text in [
            "a,b\nc,d,e\n\n\nf",
            "\"a,\nb\",c\r\nd",
            "\"a \"\"quoted\"\", comma\",b",
            "a\"b,c\"d,e",
            "\"a\"b,c\n\"\",\"\"\n",
            ",,,\n,,,,,",
            "",
            "\n",
        ] {
            let records = csv_reader(text, b',').into_records().map_while(Result::ok);
            let widths: Vec<usize> = records.map(|record| record.len()).collect();
            let columns = widths.iter().copied().max().unwrap_or_default();
            assert_eq!(
                measure_table(text, b','),
                TableSize {
                    columns,
                    cells: widths.iter().sum()
                },
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_table_of_endless_rows_or_columns_is_refused() {
        let wide = ",".repeat(29 << 20);
        let long = ",a,,,,,,,\n".repeat(MAX_CELLS / 9 + 1);
        for (text, word) in [(wide, "columns"), (long, "parts")] {
            let failure = read_table(text, None).expect_err("it is refused");
            assert_eq!(failure.code, FailureCode::ContentLimit);
            assert!(failure.message.contains(word), "{}", failure.message);
        }
    }
}
