//! Conversion of the tables of a web page to Markdown tables.

use dom_query::NodeRef;

use super::render::{RenderMode, has_name_of, number_attribute, render_line};

/// The most columns of a table. Wider tables are layout or a bomb.
const MAX_COLUMNS: usize = 100;
/// Elements that show that a table is the layout of a page.
const LAYOUT: &[&str] = &[
    "table", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "form", "article", "section",
];

/// Returns a data table as Markdown; `None` for a table that is only layout.
pub(super) fn render_table(table: &NodeRef, mode: RenderMode) -> Option<String> {
    // This comes before any cell is rendered, because nested tables would be rendered twice on
    // every level.
    let is_layout = |node: NodeRef| has_name_of(&node, LAYOUT);
    if table.descendants_it().any(is_layout) {
        return None;
    }

    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut caption = String::new();
    for node in table.descendants_it() {
        match node.node_name().as_deref() {
            Some("tr") => rows.push(row_cells(&node, mode)),
            Some("caption") => caption = render_line(&node, mode),
            _ => {}
        }
    }

    rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
    let width = rows.iter().map(Vec::len).max().unwrap_or_default();
    if !(2..=MAX_COLUMNS).contains(&width) {
        return None;
    }

    let mut out = String::new();
    if !caption.is_empty() {
        out = format!("{caption}\n\n");
    }

    for (index, row) in rows.iter_mut().enumerate() {
        row.resize(width, String::new());
        out.push_str(&format!("| {} |\n", row.join(" | ")));
        if index == 0 {
            out.push_str(&format!("|{}\n", " --- |".repeat(width)));
        }
    }
    Some(out)
}

fn row_cells(row: &NodeRef, mode: RenderMode) -> Vec<String> {
    let mut cells = Vec::new();
    for cell in row.children_it(false) {
        if !matches!(cell.node_name().as_deref(), Some("td" | "th")) {
            continue;
        }
        cells.push(render_line(&cell, mode).replace('|', "\\|"));
        // A cell that spans several columns leaves the following ones in their place.
        let span = number_attribute(&cell, "colspan").min(MAX_COLUMNS);
        for _ in 1..span {
            cells.push(String::new());
        }
        if cells.len() > MAX_COLUMNS {
            break;
        }
    }

    cells
}
