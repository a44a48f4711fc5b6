//! Blocks of a Markdown text, found line by line.

use super::BlockKind;

/// Calls `emit` with the byte range and kind of every block, in order, without the leading marks.
pub(super) fn for_each_block(text: &str, emit: &mut dyn FnMut(usize, usize, BlockKind)) {
    let mut scanner = BlockScanner {
        open_block: None,
        fence: None,
        has_label: false,
        emit,
    };

    let mut at = 0;
    for line in text.split_inclusive('\n') {
        scanner.line(at, line);
        at += line.len();
    }

    if let Some((from, _)) = scanner.fence.take() {
        (scanner.emit)(from, at, BlockKind::Code);
    }

    scanner.close(None);
}

/// The state of the scan between two lines.
struct BlockScanner<'e> {
    /// The range and kind of the open paragraph or list item.
    open_block: Option<(usize, usize, BlockKind)>,
    /// The start of the open fenced code, and the character of its fence.
    fence: Option<(usize, char)>,
    /// True if the previous line was a label with its value.
    has_label: bool,
    emit: &'e mut dyn FnMut(usize, usize, BlockKind),
}

impl BlockScanner<'_> {
    fn close(&mut self, replacement: Option<BlockKind>) {
        if let Some((from, to, block)) = self.open_block.take() {
            (self.emit)(from, to, replacement.unwrap_or(block));
        }
    }

    fn line(&mut self, at: usize, line: &str) {
        let body = line.trim();
        let indent = line.len() - line.trim_start().len();
        if self.fenced(at, line, body) {
            return;
        }

        if body.is_empty() {
            self.close(None);
        } else if body.chars().all(|c| c == '=') || is_rule(body) {
            self.close(Some(BlockKind::Heading));
        } else if let Some(rest) = parse_heading(body) {
            self.single(
                at + indent + body.len() - rest.len(),
                rest.trim_end_matches('#'),
                BlockKind::Heading,
            );
        } else if body.starts_with('|') {
            self.single(at + indent, body, BlockKind::Table);
        } else if body.starts_with('>') {
            let rest = body.trim_start_matches(['>', ' ']);
            self.single(
                at + indent + body.len() - rest.len(),
                rest,
                BlockKind::Quote,
            );
        } else if let Some(rest) = parse_list_item(body) {
            self.close(None);
            let end = at + indent + body.len();
            self.open_block = Some((end - rest.len(), end, BlockKind::ListItem));
        } else {
            self.prose(at + indent, line, body);
        }
    }

    /// Consumes a line of fenced code. Returns false for any other line.
    fn fenced(&mut self, at: usize, line: &str, body: &str) -> bool {
        let mark = ['`', '~']
            .into_iter()
            .find(|mark| body.chars().take(3).filter(|c| c == mark).count() == 3);
        match (self.fence, mark) {
            (None, None) => false,
            (None, Some(mark)) => {
                self.close(None);
                self.fence = Some((at, mark));
                true
            }
            (Some((from, open)), Some(mark)) if mark == open => {
                self.fence = None;
                (self.emit)(from, at + line.len(), BlockKind::Code);
                true
            }
            (Some(_), _) => true,
        }
    }

    fn single(&mut self, at: usize, body: &str, block: BlockKind) {
        self.close(None);
        (self.emit)(at, at + body.len(), block);
    }

    /// Appends a line of running text to the open block, unless a hard break or a list of labels
    /// separates them.
    fn prose(&mut self, at: usize, line: &str, body: &str) {
        let has_label = is_labelled(body);
        if has_label || self.has_label {
            self.close(None);
        }

        self.has_label = has_label;
        let (from, block) = self
            .open_block
            .map_or((at, BlockKind::Prose), |(from, _, block)| (from, block));
        self.open_block = Some((from, at + body.len(), block));

        let bare = line.trim_end_matches(['\n', '\r']);
        if bare.ends_with("  ") || bare.ends_with('\\') {
            self.close(None);
        }
    }
}

/// Returns the text of a heading line.
fn parse_heading(body: &str) -> Option<&str> {
    let rest = body.trim_start_matches('#');
    let level = body.len() - rest.len();
    ((1..=6).contains(&level) && rest.starts_with([' ', '\t'])).then(|| rest.trim_start())
}

/// Checks whether a line consists of at least three dashes, stars or underscores.
fn is_rule(body: &str) -> bool {
    let mut marks = body.chars().filter(|c| !c.is_whitespace());
    let Some(first @ ('-' | '*' | '_')) = marks.next() else {
        return false;
    };
    let mut count = 1;
    marks.all(|c| {
        count += 1;
        c == first
    }) && count >= 3
}

/// Returns the text of a list item, without its bullet or number and its checkbox.
fn parse_list_item(body: &str) -> Option<&str> {
    let digits = body.len() - body.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = match digits {
        0 => body.strip_prefix(['-', '*', '+', '•', '–', '·'])?,
        1..=3 => body[digits..].strip_prefix(['.', ')'])?,
        _ => return None,
    };

    let text = rest.trim_start();
    if text.len() == rest.len() || text.is_empty() {
        return None;
    }

    let without_checkbox = ["[ ] ", "[x] ", "[X] "]
        .into_iter()
        .find_map(|mark| text.strip_prefix(mark));
    Some(without_checkbox.unwrap_or(text))
}

/// Checks whether a line is a short label, a colon and a value, as in `City: Bonn`. Each such line
/// stands for itself.
fn is_labelled(body: &str) -> bool {
    let Some(colon) = body.find([':', '：']) else {
        return false;
    };
    let (label, rest) = (&body[..colon], &body[colon..]);
    let value = rest.trim_start_matches([':', '：']);
    !value.trim().is_empty()
        && (rest.starts_with('：') || value.starts_with(' '))
        && label.len() <= 40
        && label.split_whitespace().count() <= 3
        && label
            .chars()
            .all(|c| c.is_alphanumeric() || c == ' ' || c == '-' || c == '*')
}
