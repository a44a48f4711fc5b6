//! Web pages: recognition, selection of the readable part, and conversion to Markdown.
//!
//! A page with a `<main>` (or exactly one `<article>`) marks its readable part itself. Otherwise
//! the readability heuristic of the browsers' reader views selects it, unless that discards most of
//! the page.

mod detect;
mod render;
mod serializing;
mod table;
mod tree;
mod visible;
mod writer;

use dom_query::{Document, NodeRef};
use dom_smoothie::{Config, Metadata, Readability};

pub(crate) use detect::{find_charset, is_html_document, is_html_fragment};
use render::{RenderMode, render_markdown};
use serializing::is_fast_to_serialize;

use crate::extract::{ExtractedDocument, MAX_TEXT_BYTES, MAX_TITLE_CHARS, one_line, too_much_text};
use crate::failure::ContentFailure;
use crate::format::Format;

/// The most elements of a page to which readability is applied, because it visits each element
/// several times. A larger page is taken whole.
const MAX_READABLE_ELEMENTS: usize = 50_000;
/// The share of a page's text that the readable part must have to be accepted.
const READABLE_SHARE: f64 = 0.35;

/// Reads a web page or a fragment of one.
pub(crate) fn read_page(html: &str) -> Result<ExtractedDocument, ContentFailure> {
    let page = tree::parse_html(html);
    let mut extracted = ExtractedDocument::new(Format::Html, String::new());
    if is_html_document(html) || page.select_single("title").exists() {
        let metadata = set_metadata(&page, &mut extracted);
        extracted.text = prepend_title(readable_text(page), &metadata.title);
    } else {
        extracted.text = render_markdown(&page.root(), RenderMode::Everything);
        let title = first_heading(&extracted.text).map(str::to_owned);
        extracted.set_title(title.as_deref());
    }

    if extracted.text.len() > MAX_TEXT_BYTES {
        Err(too_much_text())
    } else {
        Ok(extracted)
    }
}

/// Returns the text of a page that is part of something else, such as a mail.
pub(crate) fn render_fragment(html: &str) -> String {
    render_markdown(&tree::parse_html(html).root(), RenderMode::Everything)
}

/// Sets the title and the properties from the page's own metadata.
fn set_metadata(page: &Document, extracted: &mut ExtractedDocument) -> Metadata {
    let language = page.html_root().attr("lang");
    let mut metadata = Metadata::default();
    if let Ok(readability) =
        Readability::with_document(page.clone(), None, Some(readability_config()))
    {
        metadata = readability.get_article_metadata(readability.parse_json_ld());
        if metadata.title.trim().is_empty() {
            metadata.title = readability.get_article_title().to_string();
        }
        // The title of a window often includes the name of the site.
        let heading = one_line(&page.select_single("h1").text(), MAX_TITLE_CHARS);
        if !heading.is_empty() && metadata.title.contains(&heading) {
            metadata.title = heading;
        }
    }

    extracted.set_title(Some(&metadata.title));
    extracted.set_property("author", metadata.byline.as_deref());
    extracted.set_property("created", metadata.published_time.as_deref());
    extracted.set_property("modified", metadata.modified_time.as_deref());
    extracted.set_property("description", metadata.excerpt.as_deref());
    extracted.set_property("siteName", metadata.site_name.as_deref());
    extracted.set_property("ogImage", metadata.image.as_deref());
    extracted.set_property("url", metadata.url.as_deref());
    extracted.set_property("language", metadata.lang.as_deref().or(language.as_deref()));

    metadata
}

fn readability_config() -> Config {
    Config {
        max_elements_to_parse: MAX_READABLE_ELEMENTS,
        ..Config::default()
    }
}

/// Returns the readable part of a page.
fn readable_text(page: Document) -> String {
    let full_text = render_markdown(&page.root(), RenderMode::Content);
    if let Some(main) = main_element(&page) {
        let text = render_markdown(&main, RenderMode::Content);
        if is_believable(&text, &full_text) {
            return text;
        }
    }

    if !is_fast_to_serialize(&page.root()) {
        return full_text;
    }

    let article = Readability::with_document(page, None, Some(readability_config()))
        .and_then(|mut page| page.parse());
    match article {
        Ok(article) => {
            let text = render_markdown(
                &tree::parse_html(&article.content).root(),
                RenderMode::Content,
            );
            if is_believable(&text, &full_text) {
                text
            } else {
                full_text
            }
        }
        Err(_) => full_text,
    }
}

fn is_believable(part: &str, full_text: &str) -> bool {
    part.len() as f64 >= full_text.len() as f64 * READABLE_SHARE
}

/// Returns the element that the page marks as its main part.
fn main_element(page: &Document) -> Option<NodeRef<'_>> {
    let mut articles = Vec::new();
    let root = page.root();
    for node in root.descendants_it().filter(NodeRef::is_element) {
        let name = node.node_name()?;
        if &*name == "main" || node.attr("role").as_deref() == Some("main") {
            return Some(node);
        }
        if &*name == "article" && articles.len() < 2 {
            articles.push(node);
        }
    }

    if articles.len() == 1 {
        articles.pop()
    } else {
        None
    }
}

/// Puts the page's title above a text without a top-level heading.
fn prepend_title(text: String, title: &str) -> String {
    let has_heading = text.lines().any(|line| line.starts_with("# "));
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if has_heading || title.is_empty() || text.is_empty() {
        text
    } else {
        format!("# {title}\n\n{text}")
    }
}

fn first_heading(text: &str) -> Option<&str> {
    let line = text.lines().find(|line| !line.is_empty())?;
    let (_, title) = crate::markdown::parse_atx_heading(line)?;
    Some(title)
}
