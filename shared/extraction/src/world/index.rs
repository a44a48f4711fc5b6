//! An index of the cues that could match a text: those whose words occur in it. Most texts contain
//! the words of only a few cues, so the others need not be tried.

use std::collections::HashMap;

use super::cue::{Cue, CueWord, is_bounded, joins_word};

/// An index of cues by their words.
pub(super) struct CueIndex {
    /// Words that only occur where a word begins, by their first character.
    beginnings: Entries,
    /// Words that may occur within longer words, by their first character.
    endings: Entries,
    /// For each cue, sets of words. One word of each set must occur in the text.
    required_words: Vec<Vec<Vec<usize>>>,
    /// The number of words.
    count: usize,
}

type Entries = HashMap<char, Vec<WordEntry>>;

struct WordEntry {
    word: CueWord,
    number: usize,
}

/// The words that occur in a text, by their numbers.
pub(super) struct PresentWords(Vec<bool>);

impl CueIndex {
    pub(super) fn new<'c>(cues: impl Iterator<Item = &'c Cue>) -> Self {
        let (beginnings, endings) = Default::default();
        let mut index = Self {
            beginnings,
            endings,
            required_words: Vec::new(),
            count: 0,
        };

        for cue in cues {
            let required_words = cue
                .required_words()
                .map(|words| words.iter().map(|word| index.number(word)).collect());
            let required_words = required_words.collect();
            index.required_words.push(required_words);
        }

        index
    }

    /// Returns the number of a word. A new word gets the next number.
    fn number(&mut self, word: &CueWord) -> usize {
        let first = word.text.chars().next().unwrap_or_default();
        let is_inner = word.open_start || !joins_word(first);
        let entries = if is_inner {
            &mut self.endings
        } else {
            &mut self.beginnings
        };

        let entries = entries.entry(first).or_default();
        if let Some(entry) = entries.iter().find(|entry| entry.word == *word) {
            return entry.number;
        }

        entries.push(WordEntry {
            word: word.clone(),
            number: self.count,
        });
        self.count += 1;

        self.count - 1
    }

    /// Returns the words that occur in a text.
    pub(super) fn present(&self, text: &str) -> PresentWords {
        let mut present_words = vec![false; self.count];
        let mut in_word = false;
        for (at, first) in text.char_indices() {
            let is_joining = joins_word(first);
            let beginnings = self
                .beginnings
                .get(&first)
                .filter(|_| !(in_word && is_joining));
            for WordEntry { word, number } in beginnings
                .into_iter()
                .chain(self.endings.get(&first))
                .flatten()
            {
                let matches_here =
                    || text[at..].starts_with(&word.text) && is_bounded(text, word, at);
                present_words[*number] = present_words[*number] || matches_here();
            }
            in_word = is_joining;
        }

        PresentWords(present_words)
    }

    /// Checks whether the cue with this number could match a text with these words.
    pub(super) fn admits(&self, cue: usize, present_words: &PresentWords) -> bool {
        self.required_words[cue]
            .iter()
            .all(|words| words.iter().any(|word| present_words.0[*word]))
    }
}
