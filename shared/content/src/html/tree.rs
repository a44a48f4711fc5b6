//! Parsing of HTML to a tree of limited depth, in time proportional to the length of the page.
//!
//! The parser of the HTML standard walks its stack of open elements and its list of formatting
//! elements for most tags. The time for n nested ones therefore grows with n², and a deep tree
//! overflows the stack of any code that walks it. Browsers stop nesting at 512. The attributes that
//! the parser compares with each other are limited as well: those of a tag, and those that further
//! tags of `html` and `body` add to the first ones.

use std::cell::{Cell, RefCell};

use dom_query::{Document, NodeId};
use html5ever::LocalName;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::tree_builder::{Tracer, TreeBuilder, TreeBuilderOpts};

/// The depth from which elements are dropped. Their text is kept.
const MAX_DEPTH: usize = 200;
/// The number of open elements among which an end tag looks for its start tag.
const END_TAG_REACH: usize = 64;
/// The most elements that the tree builder holds, open or to be opened again, before further tags
/// are dropped. It is more than [`MAX_DEPTH`], which counts the open elements without asking the
/// builder, so that only a page made to deceive it reaches this limit.
const MAX_HELD_ELEMENTS: usize = 400;
/// The number of held elements from which formatting elements lose their attributes. The builder
/// opens formatting elements again in each block until they are closed. Of those that look alike,
/// it keeps three.
const MAX_HELD_ELEMENTS_WITH_ATTRIBUTES: usize = 64;
/// The number of held elements that may be left over from closed blocks.
const MAX_LEFT_OVER: usize = 16;
/// The number of start tags after which the held elements are counted again.
const COUNT_EVERY: usize = 8;
/// The number of tags of `html` and `body` that may add attributes.
const MAX_ROOT_TAGS: usize = 16;

/// Elements without an end tag.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr", "frame", "keygen", "basefont", "bgsound",
];
/// Elements with raw text. They cannot nest, and dropping their tags would show their content.
const RAW: &[&str] = &[
    "script", "style", "textarea", "title", "iframe", "xmp", "noframes", "noembed",
];
/// Elements whose end tag may be missing before the next one of them starts.
const OPTIONAL_END: &[&str] = &[
    "p", "li", "dd", "dt", "td", "th", "tr", "option", "tbody", "thead", "tfoot",
];
/// Elements that are opened again in the next block. A link is not among them, because it ends when
/// the next one begins.
const FORMATTING: &[&str] = &[
    "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];
/// Elements that nothing inside them can close.
const SCOPE_BOUNDARIES: &[&str] = &[
    "table", "ul", "ol", "dl", "button", "object", "marquee", "applet", "caption", "template",
    "svg", "math",
];

/// Parses a page or a fragment.
pub(super) fn parse_html(html: &str) -> Document {
    let options = TreeBuilderOpts {
        scripting_enabled: false,
        ..TreeBuilderOpts::default()
    };
    let builder = TreeBuilder::new(Document::default(), options);
    let guard = markup::tokenize(html, NestingGuard::new(builder));
    guard.builder.sink
}

/// A filter between tokenizer and tree builder, which drops the tags that would nest too deeply.
struct NestingGuard {
    builder: TreeBuilder<NodeId, Document>,
    /// The elements that are probably open, outermost first.
    open_elements: RefCell<Vec<OpenElement>>,
    /// The number of elements that the builder held when they were last counted.
    held_elements: Cell<usize>,
    start_tags: Cell<usize>,
    root_tags: Cell<usize>,
}

struct OpenElement {
    name: LocalName,
    is_dropped: bool,
}

impl NestingGuard {
    fn new(builder: TreeBuilder<NodeId, Document>) -> Self {
        Self {
            builder,
            open_elements: RefCell::default(),
            held_elements: Cell::default(),
            start_tags: Cell::default(),
            root_tags: Cell::default(),
        }
    }

    /// Checks whether the tag is passed on.
    fn admits(&self, tag: &Tag) -> bool {
        let name = &*tag.name;
        let mut open_elements = self.open_elements.borrow_mut();
        // In SVG and MathML only, elements can close themselves, and the names of raw text elements
        // have no special meaning.
        let is_foreign = self
            .builder
            .adjusted_current_node_present_but_not_in_html_namespace();
        let is_leaf = if is_foreign {
            tag.self_closing
        } else {
            RAW.contains(&name)
        };

        if VOID.contains(&name) || is_leaf {
            return true;
        }

        match tag.kind {
            TagKind::StartTag => {
                close_implied(&mut open_elements, name);
                let is_dropped = open_elements.len() >= MAX_DEPTH
                    || self.held_elements.get() >= MAX_HELD_ELEMENTS;
                open_elements.push(OpenElement {
                    name: tag.name.clone(),
                    is_dropped,
                });
                !is_dropped
            }
            TagKind::EndTag => match find_open(&open_elements, |entry| entry.name == tag.name) {
                Some(at) => {
                    let is_dropped = open_elements[at].is_dropped;
                    open_elements.truncate(at);
                    !is_dropped
                }
                None => open_elements.len() < MAX_DEPTH,
            },
        }
    }

    /// Counts the elements that the builder holds, if that is due.
    fn count(&self) {
        self.start_tags.set(self.start_tags.get() + 1);
        if self.start_tags.get().is_multiple_of(COUNT_EVERY)
            || self.held_elements.get() >= MAX_HELD_ELEMENTS
        {
            let counter = HandleCounter::default();
            self.builder.trace_handles(&counter);
            self.held_elements.set(counter.0.get());
        }
    }

    /// Drops the attributes of a start tag that the builder would have to compare with too many
    /// others.
    fn bound_attributes(&self, tag: &mut Tag) {
        let is_root = matches!(&*tag.name, "html" | "body");
        self.root_tags
            .set(self.root_tags.get() + usize::from(is_root));
        let has_too_many_roots = is_root && self.root_tags.get() > MAX_ROOT_TAGS;
        // Open formatting elements are held twice.
        let max_elements = MAX_HELD_ELEMENTS_WITH_ATTRIBUTES
            .min(2 * self.open_elements.borrow().len() + MAX_LEFT_OVER);
        if has_too_many_roots
            || FORMATTING.contains(&&*tag.name) && self.held_elements.get() >= max_elements
        {
            tag.attrs.clear();
        }
    }
}

/// A counter of the elements that the tree builder holds.
#[derive(Default)]
struct HandleCounter(Cell<usize>);

impl Tracer for HandleCounter {
    type Handle = NodeId;

    fn trace_handle(&self, _: &NodeId) {
        self.0.set(self.0.get() + 1);
    }
}

/// Closes the elements that the start of `name` implicitly closes, such as an unfinished paragraph
/// or list item.
fn close_implied(open_elements: &mut Vec<OpenElement>, name: &str) {
    if !OPTIONAL_END.contains(&name) {
        return;
    }
    let found = find_open(open_elements, |entry| {
        &*entry.name == name || SCOPE_BOUNDARIES.contains(&&*entry.name)
    });
    if let Some(at) = found
        && &*open_elements[at].name == name
    {
        open_elements.truncate(at);
    }
}

/// Returns the innermost matching one of the [`END_TAG_REACH`] innermost open elements.
fn find_open(
    open_elements: &[OpenElement],
    matches: impl Fn(&OpenElement) -> bool,
) -> Option<usize> {
    let first = open_elements.len().saturating_sub(END_TAG_REACH);
    let at = open_elements[first..].iter().rposition(matches)?;
    Some(first + at)
}

impl TokenSink for NestingGuard {
    type Handle = NodeId;

    fn process_token(&self, mut token: Token, line: u64) -> TokenSinkResult<NodeId> {
        let Token::TagToken(tag) = &mut token else {
            return self.builder.process_token(token, line);
        };

        if tag.kind == TagKind::StartTag {
            self.count();
            self.bound_attributes(tag);
        }

        if !self.admits(tag) {
            return TokenSinkResult::Continue;
        }

        self.builder.process_token(token, line)
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder
            .adjusted_current_node_present_but_not_in_html_namespace()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(page: &Document) -> usize {
        let root = page.root();
        root.descendants_it()
            .map(|node| node.ancestors_it(None).count())
            .max()
            .unwrap_or_default()
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
            let page = parse_html(&format!(
                "{}deep{}",
                format!("<{tag}>").repeat(20_000),
                "</div>".repeat(50)
            ));
            assert!(depth(&page) < 3 * MAX_DEPTH, "{tag}: {}", depth(&page));
            assert!(page.root().text().contains("deep"), "{tag}");
        }
    }

    #[test]
    fn tags_that_deceive_about_what_is_open_do_not_nest_deeper() {
        for (before, after) in [
            ("<span><div>", "</span>"),
            ("<div><table><tr><td>", "</div>"),
            ("<b><select>", "</b></select>"),
            ("<ul><li><object>", "</li></ul>"),
            ("<svg><foreignObject><div>", "</svg>"),
        ] {
            let page = parse_html(&format!(
                "{}deep",
                format!("{before}x{after}").repeat(20_000)
            ));
            assert!(
                depth(&page) < 3 * MAX_HELD_ELEMENTS,
                "{before}: {}",
                depth(&page)
            );
            assert!(page.root().text().contains("deep"), "{before}");
        }
    }

    #[test]
    fn attributes_of_a_tag_are_bounded_and_no_text_is_lost() {
        let many = |from: usize| -> String {
            (from..from + 5000)
                .map(|n| format!(" a{n}=\"> < {n}\" b{n} c{n}=x/"))
                .collect()
        };

        for tag in ["p", "x-y", "textarea", "svg"] {
            let page = parse_html(&format!(
                "<{tag} id=it{} />one</{tag}{}>two",
                many(0),
                many(9)
            ));
            let elements: Vec<_> = page
                .root()
                .descendants_it()
                .filter(|node| node.is_element())
                .collect();
            let most = elements.iter().map(|node| node.attrs().len()).max();
            assert_eq!(most, Some(markup::MAX_ATTRIBUTES), "{tag}");
            assert!(
                elements
                    .iter()
                    .any(|node| node.attr("id").as_deref() == Some("it")),
                "{tag}"
            );
            assert_eq!(page.root().text().trim(), "onetwo", "{tag}");
        }
    }

    #[test]
    fn what_only_looks_like_a_long_tag_stays_whole() {
        let words = "word ".repeat(400);
        for (before, after) in [
            ("<script>if (a <b ", "</script>"),
            ("<script><!-- <script> <b ", "</script> --></script>"),
            ("<style>a <b ", "</style>"),
            ("<textarea></textare></textareas <b ", "</TEXTAREA >"),
            ("<title><b ", "</title>"),
            ("<xmp><b ", "</xmp>"),
            ("<svg><![CDATA[ > <b ", "]]></svg>"),
            ("<p>1 < 2 ", "</p>"),
        ] {
            let page = parse_html(&format!("{before}{words}{after}<p id=next>next</p>"));
            let text = page.root().text();
            assert_eq!(text.matches("word ").count(), 400, "{before}");
            assert!(page.select_single("#next").exists(), "{before}");
        }

        for comment in ["<!-- <b ", "<!doctype <b ", "<?x <b ", "</ <b "] {
            let close = if comment.starts_with("<!--") {
                "-->"
            } else {
                ">"
            };
            let page = parse_html(&format!("one{comment}{words}{close}two<!--><p>three"));
            assert_eq!(page.root().text().trim(), "onetwothree", "{comment}");
        }
    }

    #[test]
    fn attributes_that_pile_up_over_many_tags_are_bounded() {
        let roots: String = (0..5000)
            .map(|n| format!("<html a{n}><body b{n}>"))
            .collect();
        let page = parse_html(&format!("{roots}text"));
        let most = page
            .root()
            .descendants_it()
            .map(|node| node.attrs().len())
            .max();
        assert!(most.is_some_and(|most| most <= MAX_ROOT_TAGS), "{most:?}");

        let count = 2000;
        let blocks: String = (0..count).map(|n| format!("<p><b a={n}>x</p>")).collect();
        let page = parse_html(&blocks);
        let nodes = page.root().descendants_it().count();
        assert!(nodes < 2 * MAX_LEFT_OVER * count, "{nodes}");
        assert_eq!(page.root().text().matches('x').count(), count);
    }

    #[test]
    fn unclosed_paragraphs_and_items_do_not_count_as_nesting() {
        let page = parse_html(&format!(
            "{}<h2>End</h2>",
            "<p><b>x<ul><li>y<li>z</ul>".repeat(1000)
        ));
        let root = page.root();
        assert!(
            root.descendants_it()
                .any(|node| node.node_name().as_deref() == Some("h2"))
        );
    }
}
