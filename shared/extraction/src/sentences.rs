//! Sentences of a passage with their positions. Lines divide the text into blocks, and punctuation
//! divides the blocks into sentences.

mod blocks;
mod marks;

use super::Passage;

pub(crate) use marks::{is_mark, is_wide};

/// The kind of block in which a sentence stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// Running text.
    Prose,
    /// An item of a list.
    ListItem,
    /// A heading.
    Heading,
    /// A whole block of code.
    Code,
    /// A row of a table.
    Table,
    /// A line of a quotation.
    Quote,
}

/// A sentence with its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sentence<'a> {
    /// The text without the marks of its block. It may contain line breaks.
    pub text: &'a str,
    /// The position of the first character in the canonical text.
    pub start: usize,
    /// The position after the last character.
    pub end: usize,
    /// The kind of block in which it stands.
    pub block: BlockKind,
}

/// Returns the sentences of a passage, in order.
pub fn split_sentences<'a>(passage: &Passage<'a>) -> Vec<Sentence<'a>> {
    let mut collector = SentenceCollector {
        text: passage.text,
        byte_offset: 0,
        char_offset: passage.start_char,
        sentences: Vec::new(),
    };

    blocks::for_each_block(passage.text, &mut |from, to, block| match block {
        BlockKind::Prose | BlockKind::ListItem | BlockKind::Quote => {
            marks::for_each_sentence(&passage.text[from..to], &mut |start, end| {
                collector.add(from + start, from + end, block)
            });
        }
        BlockKind::Heading | BlockKind::Code | BlockKind::Table => collector.add(from, to, block),
    });

    collector.sentences
}

/// A converter of byte ranges, which must come in order, to sentences with positions in characters.
struct SentenceCollector<'a> {
    text: &'a str,
    /// The byte up to which characters are counted.
    byte_offset: usize,
    /// The position of that byte, in characters.
    char_offset: usize,
    sentences: Vec<Sentence<'a>>,
}

impl SentenceCollector<'_> {
    fn add(&mut self, from: usize, to: usize, block: BlockKind) {
        let raw = &self.text[from..to];
        let text = raw.trim();
        if !text.chars().any(char::is_alphanumeric) {
            return;
        }

        let from = from + (raw.len() - raw.trim_start().len());
        self.char_offset += self.text[self.byte_offset..from].chars().count();
        let start = self.char_offset;
        self.char_offset += text.chars().count();
        self.byte_offset = from + text.len();
        self.sentences.push(Sentence {
            text,
            start,
            end: self.char_offset,
            block,
        });
    }
}

#[cfg(test)]
mod tests;
