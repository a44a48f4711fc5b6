//! Tables that fit the terminal.

use console::{Alignment, measure_text_width, pad_str, truncate_str};

use super::output::Output;

/// The columns between two cells.
const GAP: usize = 2;
/// The width below which a column is not shortened.
const MIN_WIDTH: usize = 8;

/// A column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    title: &'static str,
    alignment: Alignment,
    /// Its cells may be shortened.
    is_flexible: bool,
}

impl Column {
    /// A column whose cells are always shown in full.
    pub(super) const fn fixed(title: &'static str) -> Self {
        Self {
            title,
            alignment: Alignment::Left,
            is_flexible: false,
        }
    }

    /// A column of numbers.
    pub(super) const fn number(title: &'static str) -> Self {
        Self {
            alignment: Alignment::Right,
            ..Self::fixed(title)
        }
    }

    /// A column whose cells are shortened if the terminal is too narrow.
    pub(super) const fn flexible(title: &'static str) -> Self {
        Self {
            is_flexible: true,
            ..Self::fixed(title)
        }
    }
}

/// Returns the lines of a table with one row for each of `rows`. Without a terminal nothing is
/// shortened.
pub(super) fn format_table(output: &Output, columns: &[Column], rows: &[Vec<String>]) -> String {
    let widths = column_widths(output, columns, rows);
    let mut text = String::new();

    let titles = columns.iter().map(|column| column.title.to_owned());
    let titles: Vec<String> = titles.collect();
    let head = format_row(columns, &widths, &titles);
    text.push_str(&output.dim(&head));
    text.push('\n');

    for row in rows {
        text.push_str(&format_row(columns, &widths, row));
        text.push('\n');
    }
    text
}

fn column_widths(output: &Output, columns: &[Column], rows: &[Vec<String>]) -> Vec<usize> {
    let mut widths = Vec::with_capacity(columns.len());
    for (index, column) in columns.iter().enumerate() {
        let cells = rows.iter().filter_map(|row| row.get(index));
        let widest = cells.map(|cell| measure_text_width(cell)).max();
        widths.push(widest.unwrap_or(0).max(column.title.len()));
    }

    let Some(terminal_width) = output.terminal_width() else {
        return widths;
    };
    let gaps = GAP * columns.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > terminal_width {
        let flexible = (0..columns.len())
            .filter(|&index| columns[index].is_flexible && widths[index] > MIN_WIDTH);
        // The widest gives way first.
        let Some(widest) = flexible.max_by_key(|&index| widths[index]) else {
            break;
        };
        widths[widest] -= 1;
    }
    widths
}

fn format_row(columns: &[Column], widths: &[usize], row: &[String]) -> String {
    let mut line = String::new();
    for ((column, &width), cell) in columns.iter().zip(widths).zip(row) {
        if !line.is_empty() {
            line.push_str(&" ".repeat(GAP));
        }
        let cell = truncate_str(cell, width, "…");
        line.push_str(&pad_str(&cell, width, column.alignment, None));
    }
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 3] = [
        Column::fixed("ID"),
        Column::flexible("TITLE"),
        Column::number("SIZE"),
    ];

    fn rows() -> Vec<Vec<String>> {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        vec![
            row(["a1", "The rules of the harbour", "7"]),
            row(["b22", "Größe", "1024"]),
        ]
    }

    #[test]
    fn a_table_shows_everything_where_no_terminal_limits_it() {
        let table = format_table(&Output::plain(None), &COLUMNS, &rows());
        let expected = "\
ID   TITLE                     SIZE
a1   The rules of the harbour     7
b22  Größe                     1024
";
        assert_eq!(table, expected);
    }

    #[test]
    fn a_table_fits_the_terminal_by_shortening_flexible_columns() {
        let table = format_table(&Output::plain(Some(22)), &COLUMNS, &rows());
        assert!(table.lines().all(|line| measure_text_width(line) <= 22));
        assert!(table.contains("a1   The rules …     7"), "{table}");

        let narrow = format_table(&Output::plain(Some(3)), &COLUMNS, &rows());
        assert!(
            narrow.contains("b22") && narrow.contains("1024"),
            "{narrow}"
        );
    }
}
