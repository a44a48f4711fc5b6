//! HTML to a tree that is never deep.
//!
//! The parser of the HTML standard walks its stack of open elements for most tags, so the time for n nested
//! ones grows with n², and a deep tree overflows the stack of whoever walks it. Browsers stop nesting at 512.

use std::cell::RefCell;

use dom_query::{Document, NodeId};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{LocalName, TokenizerResult};

/// The deepest element that still becomes one. Deeper tags are dropped, their text is kept.
const MAX_DEPTH: usize = 200;
/// How far up an end tag looks for its start tag.
const LOOK_UP: usize = 64;

/// Elements without an end tag.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr", "frame", "keygen", "basefont", "bgsound",
];
/// Elements that hold raw text: they cannot nest, and dropping their tags would show their content.
const RAW: &[&str] = &["script", "style", "textarea", "title", "iframe", "xmp", "noframes", "noembed"];
/// Elements whose end tag may be missing when the next one of them starts.
const OPTIONAL_END: &[&str] = &["p", "li", "dd", "dt", "td", "th", "tr", "option", "tbody", "thead", "tfoot"];
/// Elements that nothing inside can close.
const WALLS: &[&str] = &[
    "table", "ul", "ol", "dl", "button", "object", "marquee", "applet", "caption", "template", "svg", "math",
];

/// Parses a page or a fragment.
pub(super) fn parse(html: &str) -> Document {
    let options = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let guard =
        DepthGuard { builder: TreeBuilder::new(Document::default(), options), open: RefCell::default() };
    let tokenizer = Tokenizer::new(guard, TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(html));
    // A script or an encoding declaration only pauses the tokenizer.
    while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
    tokenizer.end();
    tokenizer.sink.builder.sink
}

/// Stands between tokenizer and tree builder, and drops the tags that would nest too deeply.
struct DepthGuard {
    builder: TreeBuilder<NodeId, Document>,
    /// The elements that are probably open, outermost first.
    open: RefCell<Vec<Open>>,
}

struct Open {
    name: LocalName,
    is_dropped: bool,
}

impl DepthGuard {
    /// Whether the tag is passed on.
    fn admits(&self, tag: &Tag) -> bool {
        let name = &*tag.name;
        let mut open = self.open.borrow_mut();
        // Only drawings and formulas know raw text as a usual element, and elements that close themselves.
        let is_foreign = position(&open, |entry| matches!(&*entry.name, "svg" | "math")).is_some();
        let is_leaf = if is_foreign { tag.self_closing } else { RAW.contains(&name) };
        if VOID.contains(&name) || is_leaf {
            return true;
        }
        match tag.kind {
            TagKind::StartTag => {
                close_implied(&mut open, name);
                let is_dropped = open.len() >= MAX_DEPTH;
                open.push(Open { name: tag.name.clone(), is_dropped });
                !is_dropped
            }
            TagKind::EndTag => match position(&open, |entry| entry.name == tag.name) {
                Some(at) => {
                    let is_dropped = open[at].is_dropped;
                    open.truncate(at);
                    !is_dropped
                }
                None => open.len() < MAX_DEPTH,
            },
        }
    }
}

/// Closes what the start of `name` closes by itself, an unfinished paragraph or list item.
fn close_implied(open: &mut Vec<Open>, name: &str) {
    if !OPTIONAL_END.contains(&name) {
        return;
    }
    let found = position(open, |entry| &*entry.name == name || WALLS.contains(&&*entry.name));
    if let Some(at) = found.filter(|at| &*open[*at].name == name) {
        open.truncate(at);
    }
}

/// Returns the innermost of the near open elements that matches.
fn position(open: &[Open], matches: impl Fn(&Open) -> bool) -> Option<usize> {
    let first = open.len().saturating_sub(LOOK_UP);
    open[first..].iter().rposition(matches).map(|at| first + at)
}

impl TokenSink for DepthGuard {
    type Handle = NodeId;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<NodeId> {
        match &token {
            Token::TagToken(tag) if !self.admits(tag) => TokenSinkResult::Continue,
            _ => self.builder.process_token(token, line),
        }
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(page: &Document) -> usize {
        let root = page.root();
        root.descendants_it().map(|node| node.ancestors_it(None).count()).max().unwrap_or_default()
    }

    #[test]
    fn nesting_has_a_floor_and_loses_no_text() {
        for tag in [
            "div",
            "b",
            "ul><li",
            "table><tr><td",
            "blockquote",
            "span><p",
            "p><object",
            "x-y",
            "font",
            "div/",
            "svg><style",
        ] {
            let page = parse(&format!("{}deep{}", format!("<{tag}>").repeat(20_000), "</div>".repeat(50)));
            assert!(depth(&page) < 3 * MAX_DEPTH, "{tag}: {}", depth(&page));
            assert!(page.root().text().contains("deep"), "{tag}");
        }
    }

    #[test]
    fn unclosed_paragraphs_and_items_do_not_count_as_nesting() {
        let page = parse(&format!("{}<h2>End</h2>", "<p><b>x<ul><li>y<li>z</ul>".repeat(1000)));
        let root = page.root();
        assert!(root.descendants_it().any(|node| node.node_name().as_deref() == Some("h2")));
    }
}
