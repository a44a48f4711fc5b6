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
    kernelspec: Option<Kernel>,
}

#[derive(Deserialize)]
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
    let Ok(notebook) = serde_json::from_str::<Notebook>(text) else {
        return Err(package::corrupt_failure());
    };
    let cells: Vec<Cell> = match (notebook.cells, notebook.worksheets) {
        (Some(cells), _) => cells,
        (None, Some(sheets)) => sheets.into_iter().flat_map(|sheet| sheet.cells).collect(),
        (None, None) => return Err(package::corrupt_failure()),
    };

    let Metadata { title, kernelspec } = notebook.metadata;
    let language = kernelspec.and_then(|kernel| kernel.language);
    let language = language.as_deref().unwrap_or("python");
    let mut parts = Vec::new();
    for cell in cells {
        let source = cell.source.text();
        match (cell.kind.as_str(), cell.level) {
            ("code", _) => parts.push(fence_code(&source, language)),
            ("heading", Some(level)) => {
                parts.push(format!("{} {source}", "#".repeat(level.clamp(1, 6))))
            }
            _ => parts.push(source),
        }
        for output in cell.outputs {
            if let Some(markdown) = output.data.markdown {
                parts.push(markdown.text());
            } else if let Some(printed) = output.text.or(output.data.plain) {
                parts.push(fence_code(&printed.text(), ""));
            }
        }
    }

    parts.retain(|part| !part.trim().is_empty());
    let text = parts.join("\n\n");
    let mut extracted = ExtractedDocument::new(Format::Notebook, String::new());
    match &title {
        Some(title) => extracted.set_title(Some(title)),
        None => extracted.set_title(first_heading(&text)),
    }

    extracted.text = text;
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
