//! Jupyter notebooks: prose unchanged, code in fences, and the output of the code.

use serde::Deserialize;

use crate::extract::ExtractedDocument;
use crate::failure::ContentFailure;
use crate::format::Format;
use crate::markdown::first_heading;
use crate::package;

#[derive(Deserialize)]
struct Notebook {
    #[serde(rename = "nbformat")]
    _version: u32,
    cells: Option<Vec<Cell>>,
    /// The worksheets, which contain the cells until version 3.
    worksheets: Option<Vec<Worksheet>>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Worksheet {
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Cell {
    #[serde(rename = "cell_type")]
    kind: String,
    /// The source, called input in code cells until version 3.
    #[serde(alias = "input")]
    source: MultilineText,
    /// The level of a heading, which is a cell of its own until version 3.
    level: Option<usize>,
    #[serde(default)]
    outputs: Vec<Output>,
}

#[derive(Deserialize)]
struct Output {
    /// The printed output of the program.
    text: Option<MultilineText>,
    /// The value of an expression, in several media types. Images are skipped without being read.
    #[serde(default)]
    data: OutputData,
}

#[derive(Deserialize, Default)]
struct OutputData {
    #[serde(rename = "text/markdown")]
    markdown: Option<MultilineText>,
    #[serde(rename = "text/plain")]
    plain: Option<MultilineText>,
}

#[derive(Deserialize, Default)]
struct Metadata {
    title: Option<String>,
    #[serde(default)]
    kernelspec: Kernel,
}

#[derive(Deserialize, Default)]
struct Kernel {
    language: Option<String>,
}

/// A text as a whole, or as lines with their line ends.
#[derive(Deserialize)]
#[serde(untagged)]
enum MultilineText {
    Whole(String),
    Lines(Vec<String>),
}

impl MultilineText {
    fn text(self) -> String {
        match self {
            Self::Whole(text) => text,
            Self::Lines(lines) => lines.concat(),
        }
    }
}

/// Checks whether a text is a notebook: an object with its version and cells.
pub(crate) fn is_notebook(text: &str) -> bool {
    text.trim_start().starts_with('{')
        && ["\"nbformat\"", "\"cells\"", "\"cell_type\""]
            .iter()
            .all(|key| text.contains(key))
}

pub(crate) fn read_notebook(text: &str) -> Result<ExtractedDocument, ContentFailure> {
    let notebook: Notebook = serde_json::from_str(text).map_err(|_| package::corrupt_failure())?;
    let language = notebook
        .metadata
        .kernelspec
        .language
        .unwrap_or_else(|| "python".to_owned());
    let mut parts = Vec::new();
    let worksheet_cells = || {
        Some(
            notebook
                .worksheets?
                .into_iter()
                .flat_map(|sheet| sheet.cells)
                .collect(),
        )
    };

    for cell in notebook
        .cells
        .or_else(worksheet_cells)
        .ok_or_else(package::corrupt_failure)?
    {
        let source = cell.source.text();
        match (cell.kind.as_str(), cell.level) {
            ("code", _) => parts.push(fence_code(&source, &language)),
            ("heading", Some(level)) => {
                parts.push(format!("{} {source}", "#".repeat(level.clamp(1, 6))))
            }
            _ => parts.push(source),
        }
        for output in cell.outputs {
            let printed_text = output
                .text
                .or(output.data.plain)
                .map(|lines| fence_code(&lines.text(), ""));
            parts.extend(
                output
                    .data
                    .markdown
                    .map(MultilineText::text)
                    .or(printed_text),
            );
        }
    }

    parts.retain(|part| !part.trim().is_empty());
    let mut extracted = ExtractedDocument::new(Format::Notebook, parts.join("\n\n"));
    let title = notebook
        .metadata
        .title
        .or_else(|| first_heading(&extracted.text).map(str::to_owned));
    extracted.set_title(title.as_deref());

    Ok(extracted)
}

/// Puts code between fences that are longer than any run of backticks in it.
fn fence_code(code: &str, language: &str) -> String {
    let code = code.trim_end();
    if code.is_empty() {
        return String::new();
    }
    let runs = code.split(|character| character != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    format!("{fence}{language}\n{code}\n{fence}")
}
