//! A writer of Markdown with collapsed white space, blank lines between blocks, and indented lists
//! and quotes.

/// The depth from which lists and quotes are no longer indented. Otherwise the indentation would
/// outgrow the text.
const MAX_PREFIXES: usize = 12;

/// A Markdown text under construction.
#[derive(Default)]
pub(super) struct MarkdownWriter {
    out: String,
    /// The text that each open list or quote puts in front of a line.
    prefixes: Vec<&'static str>,
    /// The newlines due before the next word: 1 for a new line, 2 for a new block.
    pending_newlines: usize,
    /// True if a space is due before the next word.
    has_pending_space: bool,
    /// True if the next word starts a block, where some characters would be read as a mark.
    at_block_start: bool,
}

impl MarkdownWriter {
    /// Starts a new block, with a blank line before the next word.
    pub(super) fn block(&mut self) {
        self.pending_newlines = 2;
        self.at_block_start = true;
    }

    /// Starts a new line.
    pub(super) fn line(&mut self) {
        self.pending_newlines = self.pending_newlines.max(1);
    }

    /// Writes running text, in which any white space becomes one space.
    pub(super) fn text(&mut self, text: &str) {
        self.has_pending_space |= text.starts_with(char::is_whitespace);
        for word in text.split_whitespace() {
            let starts_block = self.at_block_start;
            self.flush();
            if starts_block && (word.bytes().all(|byte| byte == b'#') || word.starts_with("```")) {
                self.out.push('\\');
            }
            self.out.push_str(word);
            self.has_pending_space = true;
        }

        if !text.is_empty() && !text.ends_with(char::is_whitespace) {
            self.has_pending_space = false;
        }
    }

    /// Writes `span` as part of running text. It is markup and stays unchanged.
    pub(super) fn span(&mut self, span: &str) {
        self.flush();
        self.out.push_str(span);
    }

    /// Writes lines as they are, as a block of their own.
    pub(super) fn verbatim(&mut self, lines: &str) {
        self.block();
        for line in lines.lines() {
            if line.is_empty() {
                self.pending_newlines += 1;
            } else {
                self.flush();
                self.out.push_str(line);
                self.pending_newlines = 1;
            }
        }
        self.block();
    }

    /// Puts `prefix` before every line from now on. Returns `false` if the nesting is too deep for
    /// that.
    pub(super) fn push_prefix(&mut self, prefix: &'static str) -> bool {
        let has_room = self.prefixes.len() < MAX_PREFIXES;
        if has_room {
            self.prefixes.push(prefix);
        }
        has_room
    }

    pub(super) fn pop_prefix(&mut self) {
        self.prefixes.pop();
    }

    /// Writes a list mark or heading mark. The text after it is on the same line.
    pub(super) fn mark(&mut self, mark: &str) {
        self.flush();
        self.out.push_str(mark);
        self.pending_newlines = 0;
        self.has_pending_space = false;
        self.at_block_start = false;
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// Writes the newlines or the space that are due.
    fn flush(&mut self) {
        if self.out.is_empty() {
            self.out.push_str(&self.prefixes.concat());
        } else if self.pending_newlines > 0 {
            let prefix = self.prefixes.concat();
            for _ in 1..self.pending_newlines {
                self.out.push('\n');
                self.out.push_str(prefix.trim_end());
            }
            self.out.push('\n');
            self.out.push_str(&prefix);
        } else if self.has_pending_space {
            self.out.push(' ');
        }

        self.pending_newlines = 0;
        self.has_pending_space = false;
        self.at_block_start = false;
    }
}
