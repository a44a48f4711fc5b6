//! Conversion of a tree of elements to Markdown.

use dom_query::NodeRef;

use super::detect::starts_with_ignoring_case;
use super::table;
use super::visible::{is_boilerplate, is_invisible};
use super::writer::MarkdownWriter;

/// The parts of a page that are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RenderMode {
    /// All that a reader sees, for fragments, where no navigation is expected around the content.
    Everything,
    /// The content without navigation, page header and footer, asides and banners.
    Content,
}

/// Elements on lines of their own.
const BLOCKS: &[&str] = &[
    "html",
    "body",
    "address",
    "article",
    "aside",
    "blockquote",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "hr",
    "legend",
    "li",
    "main",
    "menu",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "ul",
];

/// Returns the content of `node` as Markdown.
pub(super) fn render_markdown(node: &NodeRef, mode: RenderMode) -> String {
    let mut renderer = Renderer {
        mode,
        writer: MarkdownWriter::default(),
    };
    renderer.render_node(node);
    renderer.writer.finish()
}

/// Returns the content of `node` as Markdown on one line.
pub(super) fn render_line(node: &NodeRef, mode: RenderMode) -> String {
    let mut renderer = Renderer {
        mode,
        writer: MarkdownWriter::default(),
    };
    renderer.render_children(node);
    renderer
        .writer
        .finish()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

struct Renderer {
    mode: RenderMode,
    writer: MarkdownWriter,
}

impl Renderer {
    fn render_children(&mut self, node: &NodeRef) {
        for child in node.children_it(false) {
            self.render_node(&child);
        }
    }

    fn render_node(&mut self, node: &NodeRef) {
        if node.is_text() {
            self.writer.text(&node.text());
            return;
        }

        let Some(name) = node.node_name() else {
            // This is the document itself. Comments have no children.
            return self.render_children(node);
        };

        if is_invisible(node, &name)
            || self.mode == RenderMode::Content && is_boilerplate(node, &name)
        {
            return;
        }

        if BLOCKS.contains(&&*name) {
            self.render_block(node, &name);
        } else {
            self.render_inline(node, &name);
        }
    }

    fn render_block(&mut self, node: &NodeRef, name: &str) {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.render_heading(node, name),
            "ul" | "ol" | "menu" => self.render_list(node, name == "ol"),
            "pre" => self.render_code_block(node),
            "blockquote" => self.render_quote(node),
            "table" => match table::render_table(node, self.mode) {
                Some(table) => self.writer.verbatim(&table),
                None => self.render_plain_block(node),
            },
            "hr" => self.writer.verbatim("---"),
            // This item is outside of a list.
            "li" => self.render_item(node, "- "),
            "dt" => {
                self.writer.block();
                self.render_children(node);
                self.writer.line();
            }
            "dd" => {
                self.writer.line();
                self.render_children(node);
                self.writer.line();
            }
            _ => self.render_plain_block(node),
        }
    }

    fn render_plain_block(&mut self, node: &NodeRef) {
        self.writer.block();
        self.render_children(node);
        self.writer.block();
    }

    fn render_heading(&mut self, node: &NodeRef, name: &str) {
        let title = render_line(node, self.mode);
        if !title.is_empty() {
            let level = name[1..].parse().unwrap_or(6);
            self.writer.block();
            self.writer.mark(&"#".repeat(level));
            self.writer.span(&format!(" {title}"));
            self.writer.block();
        }
    }

    fn render_list(&mut self, node: &NodeRef, is_ordered: bool) {
        let outer_name = node.parent().and_then(|outer| outer.node_name());
        let separate: fn(&mut MarkdownWriter) = if outer_name.as_deref() == Some("li") {
            MarkdownWriter::line
        } else {
            MarkdownWriter::block
        };

        separate(&mut self.writer);
        let mut number = number_attribute(node, "start");
        for child in node.children_it(false) {
            if child.node_name().as_deref() != Some("li") {
                self.render_node(&child);
            } else if has_content(&child) {
                let mark = if is_ordered {
                    format!("{number}. ")
                } else {
                    "- ".to_owned()
                };
                self.render_item(&child, &mark);
                number = number.saturating_add(1);
            }
        }

        separate(&mut self.writer);
    }

    fn render_item(&mut self, node: &NodeRef, mark: &str) {
        self.writer.line();
        self.writer.mark(mark);
        let is_indented = self
            .writer
            .push_prefix(if mark.len() > 2 { "   " } else { "  " });
        self.render_children_inline(node);
        if is_indented {
            self.writer.pop_prefix();
        }
        self.writer.line();
    }

    /// Renders the children so that the first paragraph is on the line of the list mark.
    fn render_children_inline(&mut self, node: &NodeRef) {
        let mut rest = node
            .children_it(false)
            .skip_while(|child| child.is_text() && child.text().trim().is_empty());
        if let Some(first) = rest.next() {
            match first.node_name().as_deref() {
                Some("p" | "div" | "span") if !is_invisible(&first, "p") => {
                    self.render_children_inline(&first)
                }
                _ => self.render_node(&first),
            }
        }

        for child in rest {
            self.render_node(&child);
        }
    }

    fn render_quote(&mut self, node: &NodeRef) {
        self.writer.block();
        if has_content(node) {
            let is_marked = self.writer.push_prefix("> ");
            self.render_children(node);
            if is_marked {
                self.writer.pop_prefix();
            }
        }
        self.writer.block();
    }

    fn render_code_block(&mut self, node: &NodeRef) {
        let code = code_text(node);
        if code.trim().is_empty() {
            return;
        }
        let fence = "`".repeat(longest_run(&code, '`').max(2) + 1);
        let language = code_language(node).unwrap_or_default();
        let code = code.strip_prefix('\n').unwrap_or(&code).trim_end();
        self.writer
            .verbatim(&format!("{fence}{language}\n{code}\n{fence}"));
    }

    fn render_inline(&mut self, node: &NodeRef, name: &str) {
        match name {
            "br" => self.writer.line(),
            "img" => self.render_image(node),
            "b" | "strong" => self.render_wrapped(node, "**", "**"),
            "i" | "em" | "cite" | "dfn" | "var" => self.render_wrapped(node, "*", "*"),
            "del" | "s" | "strike" => self.render_wrapped(node, "~~", "~~"),
            "code" | "kbd" | "samp" | "tt" => self.render_code_span(node),
            "a" => self.render_link(node),
            "wbr" => {}
            _ => self.render_children(node),
        }
    }

    fn render_link(&mut self, node: &NodeRef) {
        if let Some(address) = node.attr("href")
            && is_useful_link(&address)
        {
            let address = address.trim().replace([' ', '\n'], "%20");
            return self.render_wrapped(node, "[", &format!("]({address})"));
        }

        // The sign beside a heading links to the heading itself.
        let is_heading_sign = matches!(node.text().trim(), "§" | "¶" | "#" | "🔗");
        if !is_heading_sign {
            self.render_children(node);
        }
    }

    /// Renders the children between two marks, unless they are empty or contain a block.
    fn render_wrapped(&mut self, node: &NodeRef, open: &str, close: &str) {
        let is_block = |inner: NodeRef| has_name_of(&inner, BLOCKS);
        if node.descendants_it().any(is_block) {
            return self.render_children(node);
        }

        let raw_text = node.text();
        let inner = render_line(node, self.mode);
        if inner.is_empty() {
            return self.writer.text(if raw_text.is_empty() { "" } else { " " });
        }

        self.writer
            .text(if raw_text.starts_with(char::is_whitespace) {
                " "
            } else {
                ""
            });

        self.writer.span(&format!("{open}{inner}{close}"));
        self.writer
            .text(if raw_text.ends_with(char::is_whitespace) {
                " "
            } else {
                ""
            });
    }

    fn render_code_span(&mut self, node: &NodeRef) {
        let code = code_text(node)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        if !code.is_empty() {
            let fence = "`".repeat(longest_run(&code, '`') + 1);
            let pad = if code.contains('`') { " " } else { "" };
            self.writer.span(&format!("{fence}{pad}{code}{pad}{fence}"));
        }
    }

    /// Keeps the description of an image, and its address unless that is the image itself.
    fn render_image(&mut self, node: &NodeRef) {
        let text = node.attr("alt").unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.is_empty() {
            return;
        }

        let text = words.join(" ").replace(['[', ']'], "");
        match node.attr("src") {
            Some(source) if source.starts_with("http") => {
                let source = source.trim().replace(' ', "%20");
                self.writer.span(&format!("![{text}]({source})"));
            }
            _ => self.writer.text(&text),
        }
    }
}

/// Checks whether the node is an element with one of these names.
pub(super) fn has_name_of(node: &NodeRef, names: &[&str]) -> bool {
    match node.node_name() {
        Some(name) => names.contains(&&*name),
        None => false,
    }
}

/// Returns the number in an attribute, or else 1.
pub(super) fn number_attribute(node: &NodeRef, name: &str) -> usize {
    let value = node.attr(name).unwrap_or_default();
    value.parse().unwrap_or(1)
}

fn has_content(node: &NodeRef) -> bool {
    node.descendants_it().any(|inner| {
        inner.is_text() && !inner.text().trim().is_empty()
            || inner.node_name().as_deref() == Some("img")
    })
}

/// Returns the text of code. A line break, and the start of a block, begin a new line.
fn code_text(node: &NodeRef) -> String {
    let mut code = String::new();
    for inner in node.descendants_it() {
        if inner.is_text() {
            code.push_str(&inner.text());
            continue;
        }
        let is_at_line_start = code.is_empty() || code.ends_with('\n');
        let is_block = has_name_of(&inner, &["div", "p", "li", "tr"]);
        if has_name_of(&inner, &["br"]) || is_block && !is_at_line_start {
            code.push('\n');
        }
    }

    code
}

fn longest_run(text: &str, character: char) -> usize {
    text.split(|other| other != character)
        .map(str::len)
        .max()
        .unwrap_or_default()
}

/// Returns the language that the common highlighters put into the class of a code block.
fn code_language(node: &NodeRef) -> Option<String> {
    let code = node.first_element_child();
    let class_lists = [node.class(), code.and_then(|code| code.class())];
    for classes in class_lists.into_iter().flatten() {
        for class in classes.split_whitespace() {
            for prefix in ["language-", "lang-", "highlight-source-"] {
                if let Some(name) = class.strip_prefix(prefix) {
                    return is_language_name(name).then(|| name.to_owned());
                }
            }
        }
    }

    None
}

fn is_language_name(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"+-#_".contains(&byte))
}

/// Checks whether a link leads to another page.
fn is_useful_link(href: &str) -> bool {
    let href = href.trim();
    let is_script = starts_with_ignoring_case(href, "javascript:");
    !href.is_empty()
        && !href.starts_with('#')
        && !href.starts_with("data:")
        && !is_script
        && href.len() <= 2000
}
