//! Tables as Markdown: one line per row, the first one as the header.

use crate::extract::{MAX_TEXT_BYTES, too_much_text};
use crate::failure::ContentFailure;

/// A Markdown text of headings and tables, built row by row.
#[derive(Default)]
pub(crate) struct MarkdownTables {
    text: String,
    /// The number of rows of the table that is being written.
    rows: usize,
}

impl MarkdownTables {
    /// Begins a table under a heading.
    pub(crate) fn begin(&mut self, heading: &str) {
        self.rows = 0;
        let heading = heading.split_whitespace().collect::<Vec<_>>().join(" ");
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        if !heading.is_empty() {
            self.text.push_str(&format!("# {heading}\n\n"));
        }
    }

    /// Writes a row. `width` is the number of columns of the table; a row may have fewer cells.
    ///
    /// # Errors
    /// [`too_much_text`] if the text exceeds [`MAX_TEXT_BYTES`].
    pub(crate) fn row(&mut self, cells: &[&str], width: usize) -> Result<(), ContentFailure> {
        self.text.push('|');
        for cell in cells {
            self.text.push(' ');
            push_cell(&mut self.text, cell);
            self.text.push_str(" |");
        }

        if self.rows == 0 {
            // A header has all columns.
            self.text
                .push_str(&" |".repeat(width.saturating_sub(cells.len())));
            self.text.push_str("\n|");
            self.text.push_str(&" --- |".repeat(width.max(cells.len())));
        }

        self.text.push('\n');
        self.rows += 1;

        if self.text.len() > MAX_TEXT_BYTES {
            Err(too_much_text())
        } else {
            Ok(())
        }
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// Writes a cell on one line, with its bars escaped.
fn push_cell(text: &mut String, cell: &str) {
    for (index, word) in cell.split_whitespace().enumerate() {
        if index > 0 {
            text.push(' ');
        }
        for (index, part) in word.split('|').enumerate() {
            text.push_str(if index > 0 { "\\|" } else { "" });
            text.push_str(part);
        }
    }
}
