//! Office documents, e-books and rich text as Markdown.

use docling::{
    ContentLayer, ConversionError, DocumentConverter, DocumentMetadata, InputFormat,
    MarkdownExportOptions, SourceDocument,
};
use docling_core::{DoclingDocument, Node};

use crate::extract::{ExtractedDocument, MAX_TEXT_BYTES, is_human_title, too_much_text};
use crate::failure::{ContentFailure, FailureCode};
use crate::format::Format;
use crate::markdown::first_heading;
use crate::package::{self, ZipPackage};
use crate::rtf;

/// Reads a document in one of the formats that [`input_format`] supports.
pub(crate) fn read_document(
    format: Format,
    bytes: &[u8],
) -> Result<ExtractedDocument, ContentFailure> {
    let Some(input) = input_format(format) else {
        return Err(package::corrupt_failure());
    };
    let package = if package::is_package(bytes) {
        Some(package::check_package(bytes)?)
    } else {
        None
    };

    if package.is_none() && is_always_package(format) {
        return Err(package::corrupt_failure());
    }

    let readable = if format == Format::Rtf {
        rtf::simplify_controls(bytes)
    } else {
        bytes.to_vec()
    };

    let source = SourceDocument::from_bytes("document", input, readable);
    let converter = DocumentConverter::with_allowed_formats([input])
        .strict(true)
        .compact_tables(true);
    let metadata = converter.document_metadata(&source);
    let converted = converter.convert(source).map_err(failure_from_error)?;
    let text = export_markdown(format, converted.document);
    let mut extracted = ExtractedDocument::new(format, text);
    if extracted.text.len() > MAX_TEXT_BYTES {
        return Err(too_much_text());
    }

    set_metadata(&metadata, &mut extracted);
    set_slide_count(format, package.as_ref(), &mut extracted);
    if format == Format::Rtf {
        rtf::set_metadata(bytes, &mut extracted);
    }

    if extracted.title.is_none() {
        let title = first_heading(&extracted.text).map(str::to_owned);
        extracted.set_title(title.as_deref());
    }

    Ok(extracted)
}

fn input_format(format: Format) -> Option<InputFormat> {
    Some(match format {
        Format::Docx => InputFormat::Docx,
        Format::Pptx => InputFormat::Pptx,
        Format::Doc => InputFormat::Doc,
        Format::Ppt => InputFormat::Ppt,
        Format::Odt => InputFormat::Odt,
        Format::Odp => InputFormat::Odp,
        Format::Epub => InputFormat::Epub,
        Format::Rtf => InputFormat::Rtf,
        _ => return None,
    })
}

fn is_always_package(format: Format) -> bool {
    matches!(
        format,
        Format::Docx | Format::Pptx | Format::Odt | Format::Odp | Format::Epub
    )
}

/// Returns the failure for an error of the reader.
fn failure_from_error(error: ConversionError) -> ContentFailure {
    if error.encryption().is_some() {
        ContentFailure::new(
            FailureCode::Encrypted,
            "The file is encrypted: it opens only with a password.",
        )
    } else if error.limit().is_some() {
        ContentFailure::new(
            FailureCode::ContentLimit,
            "The document holds more cells than are read.",
        )
    } else {
        package::corrupt_failure()
    }
}

/// Returns the text with the parts that the reader leaves out by default: speaker notes and
/// footnotes.
fn export_markdown(format: Format, mut document: DoclingDocument) -> String {
    document.nodes = show_hidden_nodes(format, document.nodes);
    let options = MarkdownExportOptions {
        escape_html: false,
        escape_underscores: false,
        image_placeholder: String::new(),
        ..MarkdownExportOptions::default()
    };
    document
        .export_to_markdown_with_options(&options)
        .0
        .replace("&#124;", "\\|")
}

fn show_hidden_nodes(format: Format, nodes: Vec<Node>) -> Vec<Node> {
    nodes
        .into_iter()
        .map(|node| show_hidden_node(format, node))
        .collect()
}

fn show_hidden_node(format: Format, node: Node) -> Node {
    match node {
        Node::Furniture {
            layer: ContentLayer::Notes,
            inner,
        } if format == Format::Pptx => label_note(*inner),
        Node::Group {
            label,
            name,
            layer,
            children,
        } => Node::Group {
            label,
            name,
            layer,
            children: show_hidden_nodes(format, children),
        },
        // Footnotes come together with the running headers, each once.
        Node::Furniture {
            layer: ContentLayer::Furniture,
            inner,
        } if format == Format::Docx => *inner,
        other => other,
    }
}

/// Labels a speaker note.
fn label_note(note: Node) -> Node {
    match note {
        Node::Located { inner, .. } => label_note(*inner),
        Node::Paragraph { text } => Node::Paragraph {
            text: format!("Notes: {text}"),
        },
        other => other,
    }
}

/// Sets the title and the properties from the file's metadata.
pub(crate) fn set_metadata(metadata: &DocumentMetadata, extracted: &mut ExtractedDocument) {
    if let Some(title) = &metadata.title
        && is_human_title(title)
    {
        extracted.set_title(Some(title));
    }

    extracted.set_property("author", Some(&metadata.authors.join(", ")));
    extracted.set_property(
        "created",
        metadata.created.as_deref().or(metadata.date.as_deref()),
    );
    extracted.set_property("modified", metadata.modified.as_deref());
    extracted.set_property("language", metadata.language.as_deref());
    extracted.set_property(
        "description",
        metadata
            .description
            .as_deref()
            .or(metadata.subject.as_deref()),
    );

    if let Some(pages) = metadata.properties.get("pages")
        && pages != "0"
    {
        extracted.set_property("pageCount", Some(pages));
    }
}

/// Sets the number of slides of a presentation.
fn set_slide_count(
    format: Format,
    package: Option<&ZipPackage>,
    extracted: &mut ExtractedDocument,
) {
    let is_slide = |name: &str| name.starts_with("ppt/slides/slide") && name.ends_with(".xml");
    if let (Format::Pptx, Some(package)) = (format, package) {
        let slides = package::part_names(package)
            .filter(|name| is_slide(name))
            .count();
        extracted.set_property("slideCount", Some(&slides.to_string()));
    }
}

/// Returns the metadata of a file whose text another reader reads.
pub(crate) fn read_metadata(format: Format, bytes: &[u8]) -> DocumentMetadata {
    let input = if format == Format::Ods {
        InputFormat::Ods
    } else {
        InputFormat::Xlsx
    };
    let source = SourceDocument::from_bytes("document", input, bytes.to_vec());
    DocumentConverter::new().document_metadata(&source)
}
