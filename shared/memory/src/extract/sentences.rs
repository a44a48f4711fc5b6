//! Sentences of a passage, with their places: blocks by lines, then sentences by marks.

mod blocks;
mod marks;

use super::Passage;

/// What part of a text a sentence stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Block {
    /// Running text.
    Prose,
    /// An item of a list.
    ListItem,
    /// A heading.
    Heading,
    /// A block of code, whole.
    Code,
    /// A row of a table.
    Table,
    /// A line of a quotation.
    Quote,
}

/// One sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sentence<'a> {
    /// Its text, without the marks of its block; may run over line breaks.
    pub(crate) text: &'a str,
    /// Its first character in the canonical text.
    pub(crate) start: usize,
    /// The character after its last.
    pub(crate) end: usize,
    /// Where it stands.
    pub(crate) block: Block,
}

/// The sentences of a passage, in order.
pub(crate) fn sentences<'a>(passage: &Passage<'a>) -> Vec<Sentence<'a>> {
    let mut out = Collector {
        text: passage.text,
        byte: 0,
        char: passage.start,
        sentences: Vec::new(),
    };

    blocks::blocks(passage.text, &mut |from, to, block| match block {
        Block::Prose | Block::ListItem | Block::Quote => {
            marks::split(&passage.text[from..to], &mut |start, end| {
                out.add(from + start, from + end, block)
            });
        }
        Block::Heading | Block::Code | Block::Table => out.add(from, to, block),
    });

    out.sentences
}

/// Turns byte ranges that come in order into sentences with places in characters.
struct Collector<'a> {
    text: &'a str,
    /// How far characters are counted.
    byte: usize,
    /// Characters up to there.
    char: usize,
    sentences: Vec<Sentence<'a>>,
}

impl Collector<'_> {
    fn add(&mut self, from: usize, to: usize, block: Block) {
        let raw = &self.text[from..to];
        let text = raw.trim();
        if !text.chars().any(char::is_alphanumeric) {
            return;
        }

        let from = from + (raw.len() - raw.trim_start().len());
        self.char += self.text[self.byte..from].chars().count();
        let start = self.char;
        self.char += text.chars().count();
        self.byte = from + text.len();
        self.sentences.push(Sentence {
            text,
            start,
            end: self.char,
            block,
        });
    }
}

#[cfg(test)]
mod tests;
